// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/sequences.h"

#include <stdlib.h>

#include "base/memory.h"

static mlt_sequence *sequences_find(mlt_sequence *sequences, uint64_t size, uint64_t a, uint64_t b)
{
    uint64_t at = ((a * 0x9E3779B97F4A7C15u) ^ b) * 0xD1B54A32D192ED03u >> 20;
    for (;; at++) {
        mlt_sequence *s = &sequences[at & (size - 1)];
        if ((s->key[0] == a && s->key[1] == b) || !(s->key[0] | s->key[1]))
            return s;
    }
}

static void grow(mlt_sequences *sequences)
{
    uint64_t size = sequences->size ? 2 * sequences->size : 1024;
    mlt_sequence *all = mlt_xcalloc(size, sizeof *all);
    for (uint64_t i = 0; i < sequences->size; i++) {
        const mlt_sequence *s = &sequences->all[i];
        if (s->key[0] | s->key[1])
            *sequences_find(all, size, s->key[0], s->key[1]) = *s;
    }
    free(sequences->all);
    sequences->all = all;
    sequences->size = size;
}

mlt_sequence *mlt_sequence_at(mlt_sequences *sequences, uint64_t a, uint64_t b)
{
    if (2 * sequences->used >= sequences->size)
        grow(sequences);
    mlt_sequence *s = sequences_find(sequences->all, sequences->size, a, b);
    if (!(s->key[0] | s->key[1])) {
        s->key[0] = a;
        s->key[1] = b;
        sequences->used++;
    }
    return s;
}

mlt_sequence *mlt_sequence_of(mlt_sequences *sequences, uint32_t from, uint32_t to,
                              uint32_t context, int32_t tag)
{
    return mlt_sequence_at(sequences, ((uint64_t)from + 1) << 32 | (to + 1),
                           (uint64_t)context << 32 | (uint32_t)tag);
}
