// SPDX-License-Identifier: BSD-3-Clause
// What two programs say to each other over a connection (socket.h): a greeting each, then
// frames. A greeting is a length (2 bytes) and so many bytes, in the encoding of csp/names/text.h:
//
//     the connector       HELLO: version, key (0 over TCP, where it has been proven: far.h), own
//                         endpoint, process, program
//     the one that it is  HELLO: likewise; the connection is a route now
//       connected to      BUSY: there is, or will be, another connection of the two
//                         REFUSED: the reason
//
// A frame is a head and its data, padded to 8 bytes so that the data of the next one are aligned,
// in the byte order of the host: the two are on one, or the greeting over TCP has found that both
// have the same.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "csp/names/file.h"
#include "csp/net/route.h"
#include "p2p/p2p.h"

typedef enum mlt_socket_greeting_verb {
    MLT_SOCKET_GREETING_HELLO = 1,
    MLT_SOCKET_GREETING_BUSY,
    MLT_SOCKET_GREETING_REFUSED,
    MLT_SOCKET_GREETING_VERBS,
} mlt_socket_greeting_verb;

enum { MLT_SOCKET_GREETING_MOST = 512, MLT_SOCKET_GREETING_TEXT = 200, MLT_WIRE_VERSION = 3 };

typedef struct mlt_socket_greeting {
    uint8_t verb, version;
    unsigned char key[MLT_NAMES_KEY];
    mlt_endpoint from;
    uint32_t pid;
    char text[MLT_SOCKET_GREETING_TEXT]; // the program, or the reason of a refusal
} mlt_socket_greeting;

size_t mlt_socket_greeting_encode(const mlt_socket_greeting *greeting,
                                  unsigned char out[MLT_SOCKET_GREETING_MOST]);

// How many bytes it has; 0: it is not all there yet; -1: it is none.
int mlt_socket_greeting_decode(const unsigned char *in, size_t bytes, mlt_socket_greeting *out);

typedef struct mlt_socket_frame {
    uint32_t bytes; // of data
    uint16_t kind, magic;
    uint32_t object;
    int32_t word, src, dst;
} mlt_socket_frame;
_Static_assert(sizeof(mlt_socket_frame) == 24, "it is sent as it is");

enum {
    MLT_SOCKET_FRAME_MAGIC = 0x4d57,
    MLT_SOCKET_FRAME_MOST = 64 << 10,
    MLT_SOCKET_FRAME_ALIGN = 8
};

mlt_socket_frame mlt_socket_frame_of(const mlt_packet *packet, uint64_t bytes);

static inline size_t mlt_socket_frame_room(uint64_t bytes) // with the head, padded
{
    return sizeof(mlt_socket_frame) + (((size_t)bytes + MLT_SOCKET_FRAME_ALIGN - 1) & ~(size_t)7);
}

// The frame that the (aligned) bytes begin with: how many bytes it takes; 0: it is not all there
// yet; -1: it is none.
int64_t mlt_socket_frame_decode(const unsigned char *in, size_t bytes, mlt_packet *packet,
                                const unsigned char **data, uint64_t *data_bytes);
