// SPDX-License-Identifier: BSD-3-Clause
// What algorithms write with: one rank's part of a program, in blocks and elements.
//
// A new action may come after one other (`after`; NONE: after none); mlt_emit_after adds more. An
// action without bytes is left out, on both sides of a message alike, and is NONE; a dependency
// with NONE on either side is left out, too. So small counts need no special cases.
#pragma once

#include <stdint.h>

#include "coll/alg/alg.h"
#include "goal/program.h"

#define NONE MLT_GOAL_NONE

typedef struct mlt_emit {
    const mlt_coll_alg *alg; // NULL: none of the table
    const mlt_coll_shape *shape;
    mlt_goal_program *program;
    uint32_t rank, ranks;
    uint32_t slot;    // of the rank in the program: mlt_coll_slot
    uint64_t n;       // bytes of a block, if all are alike
    uint64_t element; // bytes
    uint64_t scale;   // bytes of a unit of the shape's starts, in the rank's buffers
} mlt_emit;

// For messages beside those of an algorithm; mlt_coll_emit begins for algorithms.
mlt_emit mlt_emit_begin(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank);

// A new buffer of the rank, whole. Of temporary memory there is none if it has no bytes.
mlt_goal_span mlt_emit_buffer(const mlt_emit *e, const char *name, uint64_t bytes);
mlt_goal_span mlt_emit_memory(const mlt_emit *e, uint64_t bytes);
mlt_goal_span mlt_emit_buffer_if(const mlt_emit *e, bool needed, const char *name, uint64_t bytes);

uint32_t mlt_emit_send(const mlt_emit *e, mlt_goal_span span, uint32_t to, uint32_t after);
uint32_t mlt_emit_recv(const mlt_emit *e, mlt_goal_span span, uint32_t from, uint32_t after);
uint32_t mlt_emit_copy(const mlt_emit *e, mlt_goal_span to, mlt_goal_span from, uint32_t after);
// result = result op second
uint32_t mlt_emit_exec(const mlt_emit *e, mlt_goal_span result, mlt_goal_span second,
                       uint32_t after);
// result = second op result
uint32_t mlt_emit_exec_reversed(const mlt_emit *e, mlt_goal_span result, mlt_goal_span second,
                                uint32_t after);
static inline uint32_t mlt_emit_combine(const mlt_emit *e, bool reversed, mlt_goal_span result,
                                        mlt_goal_span second, uint32_t after)
{
    return (reversed ? mlt_emit_exec_reversed : mlt_emit_exec)(e, result, second, after);
}
uint32_t mlt_emit_nop(const mlt_emit *e, uint32_t after);
uint32_t mlt_emit_after(const mlt_emit *e, uint32_t action, uint32_t on); // the action

// Messages without bytes that are there all the same, for barriers.
uint32_t mlt_emit_signal(const mlt_emit *e, uint32_t to, uint32_t after);
uint32_t mlt_emit_await(const mlt_emit *e, uint32_t from, uint32_t after);

// Room for that many actions, all NONE at first; free() it.
uint32_t *mlt_emit_actions(uint32_t count);

// Allgather, and the root of a gather: `in` unless it is in place, `out`, and the copy of the
// rank's block to there (NONE in place). Returns where the block can be read at once.
mlt_goal_span mlt_emit_gathered(const mlt_emit *e, mlt_goal_span *out, uint32_t *copy);

// Messages under way at once, of algorithms that limit them: the shape's, or 32, which other
// libraries have found good.
static inline uint32_t mlt_emit_window(const mlt_coll_shape *shape)
{
    return shape->window ? shape->window : 32;
}

// ---- spans

// Bytes [at, at + size) of a span.
static inline mlt_goal_span mlt_emit_part(mlt_goal_span whole, uint64_t at, uint64_t size)
{
    return (mlt_goal_span){whole.buf, whole.at + at, size};
}

// The next bytes of memory that is used from its beginning on.
static inline mlt_goal_span mlt_emit_next(mlt_goal_span *memory, uint64_t size)
{
    mlt_goal_span next = mlt_emit_part(*memory, 0, size);
    memory->at += size;
    return next;
}

// Blocks [first, first + count): n bytes each, or as the shape's starts say. Not for temporary
// memory that holds blocks in another order than ranks', if blocks differ.
static inline mlt_goal_span mlt_emit_blocks(const mlt_emit *e, mlt_goal_span whole, uint64_t first,
                                            uint64_t count)
{
    const uint64_t *starts = e->shape->starts;
    if (!starts)
        return mlt_emit_part(whole, first * e->n, count * e->n);
    return mlt_emit_part(whole, starts[first] * e->scale,
                         (starts[first + count] - starts[first]) * e->scale);
}

// Bytes of block r, and of all blocks together.
static inline uint64_t mlt_emit_bytes(const mlt_emit *e, uint32_t r)
{
    const uint64_t *starts = e->shape->starts;
    return starts ? (starts[r + 1] - starts[r]) * e->scale : e->n;
}

static inline uint64_t mlt_emit_all(const mlt_emit *e)
{
    return e->shape->starts ? e->shape->starts[e->ranks] * e->scale : e->ranks * e->n;
}

// Bytes of the blocks of `count` ranks from `first` on, going round after the last.
uint64_t mlt_emit_round(const mlt_emit *e, uint32_t first, uint32_t count);

// Blocks [at, at + count) of a row: memory that has the blocks of rank `first` and those behind it
// side by side, going round.
static inline mlt_goal_span mlt_emit_row(const mlt_emit *e, mlt_goal_span row, uint32_t first,
                                         uint32_t at, uint32_t count)
{
    uint32_t from = (uint32_t)(((uint64_t)first + at) % e->ranks);
    return mlt_emit_part(row, mlt_emit_round(e, first, at), mlt_emit_round(e, from, count));
}

// Bytes of the largest block. O(P) if they differ.
uint64_t mlt_emit_largest(const mlt_emit *e);

// Pieces [first, last) of a block cut into `pieces` that differ by an element at most.
mlt_goal_span mlt_emit_pieces(const mlt_emit *e, mlt_goal_span block, uint32_t pieces,
                              uint32_t first, uint32_t last);

// Pipelines: how many segments a block has, and one of them.
uint64_t mlt_emit_segments(const mlt_emit *e);
mlt_goal_span mlt_emit_segment(const mlt_emit *e, mlt_goal_span block, uint64_t index);

// ---- ranks

// (rank + by) mod P, for by < P; and backwards.
static inline uint32_t mlt_emit_up(const mlt_emit *e, uint32_t rank, uint32_t by)
{
    return by < e->ranks - rank ? rank + by : rank - (e->ranks - by);
}

static inline uint32_t mlt_emit_down(const mlt_emit *e, uint32_t rank, uint32_t by)
{
    return by <= rank ? rank - by : rank + (e->ranks - by);
}

// Ranks counted from the root: the root is 0.
static inline uint32_t mlt_emit_virtual(const mlt_emit *e)
{
    return mlt_emit_down(e, e->rank, e->shape->root);
}

static inline uint32_t mlt_emit_real(const mlt_emit *e, uint32_t v)
{
    return mlt_emit_up(e, v, e->shape->root);
}
