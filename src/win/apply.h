// SPDX-License-Identifier: BSD-3-Clause
// What is done to a target's memory: by the origin, where it reaches that memory, and by the
// target's worker for all others. One way for all distances, so that accumulates are atomic against
// each other: each takes the guard of the target's seat for the piece that it works on.
#ifndef MLT_WIN_APPLY_H
#define MLT_WIN_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "type/reduce.h"
#include "type/type.h"
#include "type/wide.h"
#include "win/seat.h"

typedef enum mlt_win_verb {
    MLT_WIN_PUT,
    MLT_WIN_GET,
    MLT_WIN_ACCUMULATE,
    MLT_WIN_FETCH, // and accumulate
    MLT_WIN_SWAP,  // if it is equal to what is compared with: one element
    MLT_WIN_VERBS
} mlt_win_verb;

typedef struct mlt_win_deed {
    uint8_t verb;          // mlt_win_verb
    uint8_t op;            // mlt_reduce_op, of an accumulate
    uint16_t pair[2];      // codes of value and index of an unnamed pair; else 0
    const mlt_type *basic; // of an accumulate's or a swap's elements; named, or such a pair
    mlt_op_kernel *kernel; // of an accumulate
} mlt_win_deed;

// The kernel of an accumulate: the fastest there is.
static inline mlt_op_kernel *mlt_win_kernel_of(const mlt_reduction *reduction)
{
    mlt_op_kernel *wide =
        reduction->op < MLT_OPS ? mlt_op_wide(reduction->op, reduction->type) : NULL;
    return wide ? wide : reduction->kernel;
}

// Does it to runs of memory that begins at `memory`. in: packed data of PUT and of accumulates; SWAP:
// the new value, then the one to compare with. out: where GET, FETCH and SWAP leave packed data.
void mlt_win_apply(mlt_win_seat *seat, const mlt_win_deed *deed, char *memory,
                   const mlt_type_run *runs, uint32_t count, const char *in, char *out);

// What an accumulate or a swap does to elements without gaps; the caller has the guard.
void mlt_win_change(const mlt_win_deed *deed, char *to, uint64_t bytes, const char *in, char *out);

// The same for `bytes` bytes without gaps on any side; of accumulates whose elements have none.
void mlt_win_apply_plain(mlt_win_seat *seat, const mlt_win_deed *deed, char *memory, uint64_t bytes,
                         const char *in, char *out);

#endif
