// SPDX-License-Identifier: BSD-3-Clause
// Which message is which: the n-th from a rank to another with a context and a tag is the n-th that
// was matched there, for messages do not overtake.
#pragma once

#include <stdint.h>

typedef struct mlt_stream {
    uint64_t key[2]; // both zero: free
    uint64_t sent, matched;
} mlt_stream;

typedef struct mlt_streams {
    mlt_stream *all; // a table; at most half of it is used
    uint64_t size, used;
} mlt_streams;

// The one of these messages; counts of a new one are 0. Valid until the next call.
mlt_stream *mlt_stream_of(mlt_streams *streams, uint32_t from, uint32_t to, uint32_t context,
                          int32_t tag);
// The entry of any two numbers, the first of which is not 0.
mlt_stream *mlt_stream_at(mlt_streams *streams, uint64_t a, uint64_t b);
