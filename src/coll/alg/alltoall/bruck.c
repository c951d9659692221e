// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, Bruck: ceil(log2 P) rounds, or with a radix k ceil(logk P) rounds of k - 1 messages.
// The block for the rank i further on travels by the digits of i: in round j all blocks whose digit
// j is d go d k^j further in one message.
//
// A block is packed from where it lies: in `in`, or where the round that brought it put it. So
// nothing is unpacked but into `out`.
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

// A copy that grows while what follows lies side by side on both ends.
typedef struct run {
    mlt_goal_span to, from;
    uint32_t after;
} run;

static void run_end(const mlt_emit *e, run *r, uint32_t before)
{
    mlt_emit_after(e, before, mlt_emit_copy(e, r->to, r->from, r->after));
    r->to.size = r->from.size = 0;
}

static void run_add(const mlt_emit *e, run *r, mlt_goal_span to, mlt_goal_span from, uint32_t after,
                    uint32_t before)
{
    if (!to.size)
        return;
    if (r->to.size && r->to.buf == to.buf && r->from.buf == from.buf && r->after == after &&
        r->to.at + r->to.size == to.at && r->from.at + r->from.size == from.at) {
        r->to.size += to.size;
        r->from.size += from.size;
        return;
    }
    run_end(e, r, before);
    *r = (run){to, from, after};
}

// Where the block with number i lies, and what brought it there.
typedef struct held {
    mlt_goal_span at;
    uint32_t after;
} held;

// Bytes of the block with number i of rank `from`.
static uint64_t alltoall_bruck_bytes_of(const mlt_emit *e, uint32_t from, uint32_t i)
{
    const uint64_t *starts = e->shape->starts;
    if (!starts)
        return e->n;
    uint32_t to = mlt_emit_up(e, from, i);
    return (starts[from + 1] - starts[from]) * (starts[to + 1] - starts[to]) * e->n;
}

// One message: numbers i whose digit at `step` (a power of the radix) is `digit`. Those have come
// from the rank i % step back so far.
static void pass(const mlt_emit *e, held *block, uint32_t step, uint32_t radix, uint32_t digit,
                 uint32_t message)
{
    uint32_t by = step * digit;
    uint64_t send_bytes = 0, recv_bytes = 0, cycle = (uint64_t)step * radix;
    for (uint64_t first = by; first < e->ranks; first += cycle)
        for (uint64_t i = first; i < first + step && i < e->ranks; i++) {
            uint32_t low = (uint32_t)i % step, came = low + by;
            send_bytes += alltoall_bruck_bytes_of(e, mlt_emit_down(e, e->rank, low), (uint32_t)i);
            recv_bytes += alltoall_bruck_bytes_of(e, mlt_emit_down(e, e->rank, came), (uint32_t)i);
        }
    char name[2][24];
    snprintf(name[0], sizeof name[0], "tmp_send%u", message);
    snprintf(name[1], sizeof name[1], "tmp_recv%u", message);
    mlt_goal_span pack = mlt_emit_buffer(e, name[0], send_bytes);
    mlt_goal_span came = mlt_emit_buffer(e, name[1], recv_bytes);
    uint32_t send = mlt_emit_send(e, pack, mlt_emit_up(e, e->rank, by), NONE);
    uint32_t recv = mlt_emit_recv(e, came, mlt_emit_down(e, e->rank, by), NONE);
    run r = {0};
    send_bytes = recv_bytes = 0;
    for (uint64_t first = by; first < e->ranks; first += cycle)
        for (uint64_t i = first; i < first + step && i < e->ranks; i++) {
            uint32_t from = mlt_emit_down(e, e->rank, (uint32_t)i % step + by);
            uint64_t size = alltoall_bruck_bytes_of(e, from, (uint32_t)i);
            run_add(e, &r, mlt_emit_part(pack, send_bytes, block[i].at.size), block[i].at,
                    block[i].after, send);
            send_bytes += block[i].at.size;
            block[i] = (held){mlt_emit_part(came, recv_bytes, size), recv};
            recv_bytes += size;
        }
    run_end(e, &r, send);
}

void mlt_alg_alltoall_bruck(const mlt_emit *e)
{
    mlt_goal_span in = mlt_emit_buffer(e, "in", mlt_emit_all(e));
    mlt_goal_span out = mlt_emit_buffer(e, "out", mlt_emit_all(e));
    uint32_t radix = e->shape->radix ? e->shape->radix : 2, message = 0;
    held *block = mlt_xcalloc(e->ranks, sizeof *block);
    for (uint32_t i = 0; i < e->ranks; i++)
        block[i] = (held){mlt_emit_blocks(e, in, mlt_emit_up(e, e->rank, i), 1), NONE};
    for (uint64_t step = 1; step < e->ranks; step *= radix)
        for (uint32_t digit = 1; digit < radix && digit * step < e->ranks; digit++)
            pass(e, block, (uint32_t)step, radix, digit, message++);
    // Blocks for me come from the e->rank i further back: `out` is filled from its end.
    run r = {0};
    for (uint32_t i = e->ranks; i-- > 0;)
        run_add(e, &r, mlt_emit_blocks(e, out, mlt_emit_down(e, e->rank, i), 1), block[i].at,
                block[i].after, NONE);
    run_end(e, &r, NONE);
    free(block);
}
