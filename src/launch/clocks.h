// SPDX-License-Identifier: BSD-3-Clause
// How far clocks of other hosts are ahead of mpirun's, for a trace: when the job begins, and when it
// ends, so that drift is known too.
//
//     mpirun, at a   -- CLOCK -->   host, whose clock says h
//     mpirun, at b   <-- CLOCKED --
//
// The host's clock is ahead by h - (a + b) / 2, with an error of (b - a) / 2 at most. Of several
// exchanges the one with the least error counts. All hosts are asked at once; the next exchange begins
// when all have answered.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { MLT_CLOCKS_ROUNDS = 16 }; // exchanges of a series

typedef struct mlt_clocks_best {
    uint64_t at_ns; // by the host's clock
    int64_t ahead_ns;
    uint64_t error_ns;
    bool known, answered; // answered: in this round
} mlt_clocks_best;

typedef struct mlt_clocks {
    mlt_clocks_best *best; // [hosts]
    uint32_t hosts, open;  // open: hosts that have not answered
    uint32_t round;        // 1 to MLT_CLOCKS_ROUNDS; 0: none is under way
    int64_t number;        // of the exchange, over all series
    uint64_t asked_ns;
} mlt_clocks;

void mlt_clocks_init(mlt_clocks *clocks, uint32_t hosts);
void mlt_clocks_fini(mlt_clocks *clocks);

// Begins a series with so many other hosts. The caller sends CLOCK with clocks->number.
void mlt_clocks_begin(mlt_clocks *clocks, uint32_t others, uint64_t now_ns);

// CLOCKED came. True: the next exchange has begun, and the caller sends CLOCK. `others`: hosts that can
// answer.
bool mlt_clocks_take(mlt_clocks *clocks, uint32_t host, int64_t number, uint64_t theirs_ns,
                     uint64_t now_ns, uint32_t others);

// The series is over: its lines of facts (trace/facts.h).
void mlt_clocks_tell(mlt_clocks *clocks, mlt_text *facts);
