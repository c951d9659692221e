// SPDX-License-Identifier: BSD-3-Clause
#include "csp/net/frame.h"

#include <string.h>

#include "base/log.h"
#include "csp/names/text.h"

enum { FRAME_LENGTH_BYTES = 2 };

static void whole_greeting(mlt_names_cursor *c, mlt_socket_greeting *greeting)
{
    greeting->verb = (uint8_t)mlt_names_number(c, greeting->verb, 1);
    greeting->version = (uint8_t)mlt_names_number(c, greeting->version, 1);
    if (greeting->verb == MLT_SOCKET_GREETING_HELLO) {
        mlt_names_bytes(c, greeting->key, sizeof greeting->key);
        mlt_names_endpoint(c, &greeting->from);
        greeting->pid = (uint32_t)mlt_names_number(c, greeting->pid, 4);
    }
    mlt_names_text(c, greeting->text, sizeof greeting->text);
}

size_t mlt_socket_greeting_encode(const mlt_socket_greeting *greeting,
                                  unsigned char out[MLT_SOCKET_GREETING_MOST])
{
    mlt_names_cursor c = {.out = out, .at = FRAME_LENGTH_BYTES, .end = MLT_SOCKET_GREETING_MOST};
    mlt_socket_greeting own = *greeting;
    own.version = MLT_WIRE_VERSION;
    whole_greeting(&c, &own);
    return mlt_names_seal(&c, FRAME_LENGTH_BYTES);
}

int mlt_socket_greeting_decode(const unsigned char *in, size_t bytes, mlt_socket_greeting *out)
{
    mlt_names_cursor c = {.in = in, .end = bytes};
    int whole = mlt_names_open(&c, FRAME_LENGTH_BYTES, MLT_SOCKET_GREETING_MOST);
    if (whole <= 0)
        return whole;
    memset(out, 0, sizeof *out);
    whole_greeting(&c, out);
    bool good = out->verb > 0 && out->verb < MLT_SOCKET_GREETING_VERBS;
    return c.failed || c.at != c.end || !good ? -1 : whole;
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
