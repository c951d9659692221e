// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/streams.h"

#include <stdlib.h>

#include "base/memory.h"

static mlt_stream *streams_find(mlt_stream *streams, uint64_t size, uint64_t a, uint64_t b)
{
    uint64_t at = ((a * 0x9E3779B97F4A7C15u) ^ b) * 0xD1B54A32D192ED03u >> 20;
    for (;; at++) {
        mlt_stream *s = &streams[at & (size - 1)];
        if ((s->key[0] == a && s->key[1] == b) || !(s->key[0] | s->key[1]))
            return s;
    }
}

static void grow(mlt_streams *streams)
{
    uint64_t size = streams->size ? 2 * streams->size : 1024;
    mlt_stream *all = mlt_xcalloc(size, sizeof *all);
    for (uint64_t i = 0; i < streams->size; i++) {
        const mlt_stream *s = &streams->all[i];
        if (s->key[0] | s->key[1])
            *streams_find(all, size, s->key[0], s->key[1]) = *s;
    }
    free(streams->all);
    streams->all = all;
    streams->size = size;
}

mlt_stream *mlt_stream_at(mlt_streams *streams, uint64_t a, uint64_t b)
{
    if (2 * streams->used >= streams->size)
        grow(streams);
    mlt_stream *s = streams_find(streams->all, streams->size, a, b);
    if (!(s->key[0] | s->key[1])) {
        s->key[0] = a;
        s->key[1] = b;
        streams->used++;
    }
    return s;
}

mlt_stream *mlt_stream_of(mlt_streams *streams, uint32_t from, uint32_t to, uint32_t context,
                          int32_t tag)
{
    return mlt_stream_at(streams, ((uint64_t)from + 1) << 32 | (to + 1),
                         (uint64_t)context << 32 | (uint32_t)tag);
}
