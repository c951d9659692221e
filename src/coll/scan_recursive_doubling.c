// SPDX-License-Identifier: BSD-3-Clause
// Scan, recursive doubling: in round k each tells the rank 2^k further on what it has, the
// reduction over the 2^k ranks up to itself, which that one puts before its own.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/tree.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), out = mlt_emit_buffer(&e, "out", e.n), tmp;
    uint32_t rounds = mlt_rounds(rank + 1), last = NONE; // in which something comes
    if (rounds > 1)
        tmp = mlt_emit_buffer(&e, "tmp", (rounds - 1) * e.n);
    if (!rank)
        mlt_emit_copy(&e, out, in, NONE);
    for (uint32_t k = 0; 1u << k < e.ranks; k++) {
        uint32_t step = 1u << k, send = NONE;
        bool first = !k || !rank; // then `in` is what it has
        if (step < e.ranks - rank)
            send = mlt_emit_send(&e, first ? in : out, rank + step, last);
        if (step > rank)
            continue;
        if (!k) {
            last = mlt_emit_exec(&e, out, in, mlt_emit_recv(&e, out, rank - step, NONE));
            continue;
        }
        mlt_goal_span at = mlt_emit_blocks(&e, tmp, k - 1, 1);
        uint32_t recv = mlt_emit_recv(&e, at, rank - step, NONE);
        uint32_t exec = mlt_emit_exec_reversed(&e, out, at, recv);
        mlt_emit_after(&e, exec, send != NONE ? send : last);
        last = exec;
    }
}

const mlt_coll_alg mlt_scan_recursive_doubling = {
    .collective = MLT_COLL_SCAN,
    .name = "recursive_doubling",
    .help = "ceil(log2 P) rounds: short messages",
    .in_order = true,
    .emit = emit,
};
