// SPDX-License-Identifier: BSD-3-Clause
#include "type/type.h"

#include <string.h>

#include "base/log.h"

// The part of the packed form that lies in one block of one element: where in memory, and how many
// bytes to its end.
typedef struct piece {
    int64_t at;
    uint64_t bytes;
} piece;

static piece piece_at(const mlt_type *type, uint64_t from)
{
    uint64_t element = from / type->size, inside = from % type->size;
    uint32_t b = 0;
    while (inside >= type->block[b].length)
        inside -= type->block[b++].length;
    mlt_assert(b < type->blocks);
    return (piece){(int64_t)element * type->extent + type->block[b].offset + (int64_t)inside,
                   type->block[b].length - inside};
}

void mlt_type_pack(const mlt_type *type, const void *buf, uint64_t from, void *to, uint64_t bytes)
{
    if (bytes == 0)
        return; // the addresses may be NULL
    if (type->contiguous) {
        memcpy(to, (const char *)buf + from, bytes);
        return;
    }
    for (uint64_t done = 0; done < bytes;) {
        piece p = piece_at(type, from + done);
        uint64_t n = p.bytes < bytes - done ? p.bytes : bytes - done;
        memcpy((char *)to + done, (const char *)buf + p.at, n);
        done += n;
    }
}

void mlt_type_unpack(const mlt_type *type, void *buf, uint64_t from, const void *packed,
                     uint64_t bytes)
{
    if (bytes == 0)
        return;
    if (type->contiguous) {
        memcpy((char *)buf + from, packed, bytes);
        return;
    }
    for (uint64_t done = 0; done < bytes;) {
        piece p = piece_at(type, from + done);
        uint64_t n = p.bytes < bytes - done ? p.bytes : bytes - done;
        memcpy((char *)buf + p.at, (const char *)packed + done, n);
        done += n;
    }
}
