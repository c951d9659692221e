// SPDX-License-Identifier: BSD-3-Clause
#include "csp/net/frame.h"

#include <string.h>

#include "base/log.h"
#include "csp/names/text.h"

enum { FRAME_LENGTH_BYTES = 2 };

size_t mlt_socket_greeting_encode(const mlt_socket_greeting *greeting,
                                  unsigned char out[MLT_SOCKET_GREETING_MOST])
{
    mlt_names_cursor c = {.out = out, .at = FRAME_LENGTH_BYTES, .end = MLT_SOCKET_GREETING_MOST};
    mlt_names_put_number(&c, greeting->verb, 1);
    mlt_names_put_number(&c, MLT_WIRE_VERSION, 1);
    if (greeting->verb == MLT_SOCKET_GREETING_HELLO) {
        mlt_names_put_bytes(&c, greeting->key, sizeof greeting->key);
        mlt_names_put_endpoint(&c, &greeting->from);
        mlt_names_put_number(&c, greeting->pid, 4);
    }
    mlt_names_put_text(&c, greeting->text);
    size_t bytes = c.at;
    mlt_assert(!c.failed);
    c.at = 0;
    mlt_names_put_number(&c, bytes - FRAME_LENGTH_BYTES, FRAME_LENGTH_BYTES);
    return bytes;
}

int mlt_socket_greeting_decode(const unsigned char *in, size_t bytes, mlt_socket_greeting *out)
{
    mlt_names_cursor c = {.in = in, .end = bytes};
    if (bytes < FRAME_LENGTH_BYTES)
        return 0;
    size_t length = (size_t)mlt_names_get_number(&c, FRAME_LENGTH_BYTES);
    if (length < 2 || length > MLT_SOCKET_GREETING_MOST - FRAME_LENGTH_BYTES)
        return -1;
    if (bytes - FRAME_LENGTH_BYTES < length)
        return 0;
    c.end = FRAME_LENGTH_BYTES + length;
    memset(out, 0, sizeof *out);
    out->verb = (uint8_t)mlt_names_get_number(&c, 1);
    out->version = (uint8_t)mlt_names_get_number(&c, 1);
    if (out->verb == 0 || out->verb >= MLT_SOCKET_GREETING_VERBS)
        return -1;
    if (out->verb == MLT_SOCKET_GREETING_HELLO) {
        mlt_names_get_bytes(&c, out->key, sizeof out->key);
        mlt_names_get_endpoint(&c, &out->from);
        out->pid = (uint32_t)mlt_names_get_number(&c, 4);
    }
    mlt_names_get_text(&c, out->text, sizeof out->text);
    return c.failed || c.at != c.end ? -1 : (int)c.end;
}

mlt_socket_frame mlt_socket_frame_of(const mlt_packet *packet, uint64_t bytes)
{
    mlt_assert(bytes <= MLT_SOCKET_FRAME_MOST);
    return (mlt_socket_frame){.bytes = (uint32_t)bytes,
                              .kind = packet->kind,
                              .magic = MLT_SOCKET_FRAME_MAGIC,
                              .object = packet->object,
                              .word = packet->word,
                              .src = packet->src,
                              .dst = packet->dst};
}

int64_t mlt_socket_frame_decode(const unsigned char *in, size_t bytes, mlt_packet *packet,
                                const unsigned char **data, uint64_t *data_bytes)
{
    mlt_socket_frame head;
    if (bytes < sizeof head)
        return 0;
    memcpy(&head, in, sizeof head);
    if (head.magic != MLT_SOCKET_FRAME_MAGIC || head.bytes > MLT_SOCKET_FRAME_MOST)
        return -1;
    size_t whole = mlt_socket_frame_room(head.bytes);
    if (bytes < whole)
        return 0;
    *packet = (mlt_packet){.kind = head.kind,
                           .object = head.object,
                           .word = head.word,
                           .src = head.src,
                           .dst = head.dst};
    *data = in + sizeof head;
    *data_bytes = head.bytes;
    return (int64_t)whole;
}
