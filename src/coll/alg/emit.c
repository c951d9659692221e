// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/emit.h"

#include "base/memory.h"
#include "coll/alg/alg_int.h"

mlt_emit mlt_emit_begin(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    uint64_t element = mlt_coll_element(shape), n = shape->count * element;
    return (mlt_emit){.shape = shape,
                      .program = program,
                      .rank = rank,
                      .ranks = shape->ranks,
                      .slot = mlt_coll_slot(program, rank),
                      .n = n,
                      .element = element,
                      .scale = element};
}

void mlt_coll_emit(const mlt_coll_alg *alg, const mlt_coll_shape *shape, mlt_goal_program *program,
                   uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    e.alg = alg;
    // Its starts are weights: a unit of them is as many bytes as the rank's own says.
    if (alg->collective == MLT_COLL_ALLTOALL && shape->starts)
        e.scale = (shape->starts[rank + 1] - shape->starts[rank]) * e.n;
    alg->emit(&e);
}

mlt_goal_span mlt_emit_buffer(const mlt_emit *e, const char *name, uint64_t bytes)
{
    return (mlt_goal_span){mlt_goal_buffer_add(e->program, e->slot, name, bytes), 0, bytes};
}

mlt_goal_span mlt_emit_memory(const mlt_emit *e, uint64_t bytes)
{
    return mlt_emit_buffer_if(e, bytes > 0, "tmp", bytes);
}

mlt_goal_span mlt_emit_buffer_if(const mlt_emit *e, bool needed, const char *name, uint64_t bytes)
{
    return needed ? mlt_emit_buffer(e, name, bytes) : (mlt_goal_span){0};
}

uint32_t mlt_emit_after(const mlt_emit *e, uint32_t action, uint32_t on)
{
    if (action != NONE && on != NONE)
        mlt_goal_require(e->program, e->slot, action, on);
    return action;
}

uint32_t mlt_emit_send(const mlt_emit *e, mlt_goal_span span, uint32_t to, uint32_t after)
{
    if (!span.size)
        return NONE;
    return mlt_emit_after(e, mlt_goal_send(e->program, e->slot, span, (int32_t)to, 0), after);
}

uint32_t mlt_emit_recv(const mlt_emit *e, mlt_goal_span span, uint32_t from, uint32_t after)
{
    if (!span.size)
        return NONE;
    return mlt_emit_after(e, mlt_goal_recv(e->program, e->slot, span, (int32_t)from, 0), after);
}

static uint32_t local(const mlt_emit *e, mlt_op op, uint8_t flags, mlt_goal_span result,
                      mlt_goal_span second, uint32_t after)
{
    if (!result.size)
        return NONE;
    // What is no whole number of the type's elements is copied by bytes.
    bool user = op == MLT_OPS, plain = user || e->shape->op == MLT_OPS;
    plain |= op == MLT_OP_COPY && result.size % mlt_op_type_bytes[e->shape->type];
    mlt_goal_action action = {.kind = user ? MLT_GOAL_USER : MLT_GOAL_EXEC,
                              .op = user ? 0 : (uint8_t)op,
                              .type = plain ? MLT_OP_UINT8 : (uint8_t)e->shape->type,
                              .flags = flags,
                              .buf = {result.buf, second.buf},
                              .at = {result.at, second.at},
                              .size = {result.size, second.size}};
    return mlt_emit_after(e, mlt_goal_add(e->program, e->slot, &action), after);
}

uint32_t mlt_emit_copy(const mlt_emit *e, mlt_goal_span to, mlt_goal_span from, uint32_t after)
{
    return local(e, MLT_OP_COPY, 0, to, from, after);
}

uint32_t mlt_emit_exec(const mlt_emit *e, mlt_goal_span result, mlt_goal_span second,
                       uint32_t after)
{
    return local(e, e->shape->op, 0, result, second, after);
}

uint32_t mlt_emit_exec_reversed(const mlt_emit *e, mlt_goal_span result, mlt_goal_span second,
                                uint32_t after)
{
    return local(e, e->shape->op, MLT_GOAL_REVERSED, result, second, after);
}

uint32_t mlt_emit_nop(const mlt_emit *e, uint32_t after)
{
    mlt_goal_action action = {.kind = MLT_GOAL_NOP};
    return mlt_emit_after(e, mlt_goal_add(e->program, e->slot, &action), after);
}

uint32_t mlt_emit_signal(const mlt_emit *e, uint32_t to, uint32_t after)
{
    mlt_goal_span nothing = {MLT_GOAL_NOWHERE, 0, 0};
    return mlt_emit_after(e, mlt_goal_send(e->program, e->slot, nothing, (int32_t)to, 0), after);
}

uint32_t mlt_emit_await(const mlt_emit *e, uint32_t from, uint32_t after)
{
    mlt_goal_span nothing = {MLT_GOAL_NOWHERE, 0, 0};
    return mlt_emit_after(e, mlt_goal_recv(e->program, e->slot, nothing, (int32_t)from, 0), after);
}

uint32_t *mlt_emit_actions(uint32_t count)
{
    uint32_t *actions = mlt_xcalloc(count, sizeof *actions);
    for (uint32_t i = 0; i < count; i++)
        actions[i] = NONE;
    return actions;
}

mlt_goal_span mlt_emit_gathered(const mlt_emit *e, mlt_goal_span *out, uint32_t *copy)
{
    bool here = e->shape->in_place;
    mlt_goal_span in = mlt_emit_buffer_if(e, !here, "in", mlt_emit_bytes(e, e->rank));
    *out = mlt_emit_buffer(e, "out", mlt_emit_all(e));
    mlt_goal_span block = mlt_emit_blocks(e, *out, e->rank, 1);
    *copy = here ? (uint32_t)NONE : mlt_emit_copy(e, block, in, NONE);
    return here ? block : in;
}

// ---- spans

uint64_t mlt_emit_round(const mlt_emit *e, uint32_t first, uint32_t count)
{
    const uint64_t *starts = e->shape->starts;
    if (!starts)
        return count * e->n;
    uint64_t last = (uint64_t)first + count, ranks = e->ranks;
    uint64_t units = last <= ranks ? starts[last] - starts[first]
                                   : starts[ranks] - starts[first] + starts[last - ranks];
    return units * e->scale;
}

uint64_t mlt_emit_largest(const mlt_emit *e)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < e->ranks && e->shape->starts; r++)
        most = mlt_emit_bytes(e, r) > most ? mlt_emit_bytes(e, r) : most;
    return e->shape->starts ? most : e->n;
}

// Where piece `index` of so many begins, in elements: the first `rest` pieces have one more.
static uint64_t piece_at(uint64_t count, uint32_t pieces, uint32_t index)
{
    uint64_t each = count / pieces, rest = count % pieces;
    return each * index + (index < rest ? index : rest);
}

mlt_goal_span mlt_emit_pieces(const mlt_emit *e, mlt_goal_span block, uint32_t pieces,
                              uint32_t first, uint32_t last)
{
    uint64_t element = e->element;
    uint64_t from = piece_at(e->shape->count, pieces, first);
    uint64_t to = piece_at(e->shape->count, pieces, last);
    return mlt_emit_part(block, from * element, (to - from) * element);
}

// Bytes of a segment if the caller has no wish: long enough that the cost of a message matters
// little, short enough that a few of them fill a pipeline.
enum { SEGMENT = 16384 };

uint64_t mlt_coll_segment(const mlt_coll_shape *shape)
{
    uint64_t wish = shape->segment ? shape->segment : SEGMENT / mlt_coll_element(shape);
    wish += !wish; // of large elements one
    // Longer than the block is no longer; its bytes might not be a number of 64 bits.
    return wish < shape->count || !shape->count ? wish : shape->count;
}

uint64_t mlt_emit_segments(const mlt_emit *e)
{
    uint64_t segment = mlt_coll_segment(e->shape);
    return e->shape->count / segment + (e->shape->count % segment != 0);
}

mlt_goal_span mlt_emit_segment(const mlt_emit *e, mlt_goal_span block, uint64_t index)
{
    uint64_t bytes = mlt_coll_segment(e->shape) * e->element;
    uint64_t at = index * bytes;
    return mlt_emit_part(block, at, bytes < e->n - at ? bytes : e->n - at);
}
