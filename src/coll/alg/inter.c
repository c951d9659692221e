// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/inter.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/alg/emit.h"
#include "coll/alg/part.h"

// One group is so many times larger than the other that its ranks are not told one by one.
enum { MUCH = 4 };

// Allgather: up to so many ranks, or for longer blocks, everybody sends to everybody.
enum { FEW_RANKS = 8, LONG_BLOCK = 4096 };

typedef struct work {
    const mlt_inter *x;
    mlt_emit e;    // for messages of its own
    uint32_t side; // own group
    uint32_t own;  // rank in it
    uint32_t own_first, own_size, far_first, far_size;
} work;

bool mlt_inter_gathers(const uint32_t size[2], const uint64_t bytes[2])
{
    uint32_t most = size[0] > size[1] ? size[0] : size[1];
    return most > FEW_RANKS && bytes[0] <= LONG_BLOCK && bytes[1] <= LONG_BLOCK;
}

static uint64_t inter_bytes_of(const work *w, uint64_t elements)
{
    return elements * w->x->shape.element;
}

static mlt_goal_span buffer(const work *w, const char *name, uint64_t elements)
{
    return mlt_emit_buffer(&w->e, name, inter_bytes_of(w, elements));
}

// ---- parts

// What a part of the operation is: `count` elements of a block, or blocks that differ.
typedef struct task {
    mlt_collective collective;
    uint32_t ranks;
    uint64_t count;
    const uint64_t *starts;
    mlt_coll_part part;
} task;

static uint32_t emit_part(const work *w, mlt_goal_program *program, const task *t)
{
    const mlt_coll_op *op = w->x->op;
    bool reduces = mlt_collective_reduces(t->collective);
    uint64_t mean = t->starts ? t->starts[t->ranks] / t->ranks : t->count;
    mlt_coll_question q = w->x->question;
    q.collective = t->collective;
    q.ranks = q.all_ranks = t->ranks;
    q.bytes = inter_bytes_of(w, mean);
    q.element = w->x->shape.element;
    q.uneven = t->starts != NULL;
    q.in_place = false;
    q.op = reduces ? op->op : MLT_OP_COPY;
    q.type = reduces && op->op != MLT_OPS ? op->type : MLT_OP_UINT8;
    q.commutes = !reduces || op->commutes;
    mlt_coll_choice choice;
    char why[256];
    mlt_coll_choose(NULL, &q, &choice, why, sizeof why);
    mlt_coll_shape shape = mlt_coll_choice_shape(&q, &choice);
    shape.count = t->count;
    shape.starts = t->starts;
    return mlt_coll_part_emit(program, 0, &t->part, choice.alg, &shape);
}

// Among the ranks of the rank's group.
static task in_group(const work *w, mlt_collective collective, uint64_t count, mlt_goal_span in,
                     mlt_goal_span out, uint32_t after)
{
    return (task){.collective = collective,
                  .ranks = w->own_size,
                  .count = count,
                  .part = {.head = NONE,
                           .first = w->own_first,
                           .self = w->own,
                           .in = in,
                           .out = out,
                           .after = after}};
}

// Among `head` and a group, in which the rank is, unless it is the head.
static task with_head(const work *w, mlt_collective collective, uint64_t count, uint32_t head,
                      uint32_t first, uint32_t size)
{
    return (task){.collective = collective,
                  .ranks = size + 1,
                  .count = count,
                  .part = {.head = head,
                           .first = first,
                           .self = w->e.rank == head ? 0 : w->e.rank - first + 1,
                           .after = NONE}};
}

// Blocks of a gather or scatter with a head, which has none.
static uint64_t *headed_starts(uint32_t size, uint64_t count)
{
    uint64_t *starts = mlt_xcalloc(size + 2ull, sizeof *starts);
    for (uint32_t r = 0; r <= size; r++)
        starts[r + 1] = r * count;
    return starts;
}

// ---- rooted operations

static bool inter_is_root(const work *w)
{
    return w->e.rank == w->x->shape.root;
}

// The group that the root talks with.
static task with_root(const work *w, mlt_collective collective, uint64_t count)
{
    return with_head(w, collective, count, w->x->shape.root,
                     inter_is_root(w) ? w->far_first : w->own_first,
                     inter_is_root(w) ? w->far_size : w->own_size);
}

static void inter_emit_bcast(const work *w, mlt_goal_program *program)
{
    uint64_t count = w->x->shape.count[0];
    task t = with_root(w, MLT_COLL_BCAST, count);
    t.part.out = buffer(w, "buf", count);
    emit_part(w, program, &t);
}

// Gather and scatter: one block at each rank of the group, all of them at the root.
static void inter_emit_blocks(const work *w, mlt_goal_program *program)
{
    bool gathers = w->x->shape.collective == MLT_COLL_GATHER;
    uint64_t count = w->x->shape.count[0];
    task t = with_root(w, (mlt_collective)w->x->shape.collective, count);
    uint64_t *starts = headed_starts(t.ranks - 1, count);
    t.starts = starts;
    bool has_in = inter_is_root(w) != gathers;
    mlt_goal_span data =
        buffer(w, has_in ? "in" : "out", inter_is_root(w) ? w->far_size * count : count);
    mlt_goal_span nothing = {data.buf, 0, 0};
    t.part.in = has_in ? data : nothing;
    t.part.out = has_in ? nothing : data;
    emit_part(w, program, &t);
    free(starts);
}

// The reduction of the rank's group at its first rank, or `in` if there is no other. NONE in *done:
// at once.
static mlt_goal_span reduced(const work *w, mlt_goal_program *program, uint64_t count,
                             uint32_t *done)
{
    mlt_goal_span in = buffer(w, "in", count);
    *done = NONE;
    if (w->own_size == 1)
        return in;
    mlt_goal_span result = w->own ? in : buffer(w, "tmp_result", count);
    task t = in_group(w, MLT_COLL_REDUCE, count, in, result, NONE);
    *done = emit_part(w, program, &t);
    return result;
}

static void inter_emit_reduce(const work *w, mlt_goal_program *program)
{
    uint64_t count = w->x->shape.count[0];
    uint32_t done;
    if (inter_is_root(w)) {
        mlt_emit_recv(&w->e, buffer(w, "out", count), w->far_first, NONE);
        return;
    }
    mlt_goal_span result = reduced(w, program, count, &done);
    if (!w->own)
        mlt_emit_send(&w->e, result, w->x->shape.root, done);
}

// ---- operations without a root

static void inter_emit_allgather(const work *w, mlt_goal_program *program)
{
    const mlt_inter_shape *s = &w->x->shape;
    uint64_t far = s->count[!w->side];
    mlt_goal_span in = buffer(w, "in", s->count[w->side]);
    mlt_goal_span out = buffer(w, "out", w->far_size * far), nothing = {in.buf, 0, 0};
    uint32_t came = NONE;
    for (uint32_t from = 0; from < 2; from++) { // the group that is gathered
        bool own = from == w->side;
        if (!own && w->own)
            continue;
        uint32_t first = own ? w->own_first : w->far_first, size = s->size[from];
        task t = with_head(w, MLT_COLL_GATHER, s->count[from], own ? w->far_first : w->e.rank,
                           first, size);
        uint64_t *starts = headed_starts(size, s->count[from]);
        t.starts = starts;
        t.part.in = own ? in : nothing;
        t.part.out = own ? nothing : out;
        uint32_t end = emit_part(w, program, &t);
        came = own ? came : end;
        free(starts);
    }
    task t = in_group(w, MLT_COLL_BCAST, w->far_size * far, nothing, out, came);
    emit_part(w, program, &t);
}

static void inter_emit_allreduce(const work *w, mlt_goal_program *program)
{
    uint64_t count = w->x->shape.count[0];
    bool uneven = w->own_size > MUCH * w->far_size || w->far_size > MUCH * w->own_size;
    mlt_goal_span out = buffer(w, "out", count);
    if (uneven) {
        uint32_t done, came = NONE;
        mlt_goal_span result = reduced(w, program, count, &done);
        if (!w->own) {
            mlt_emit_send(&w->e, result, w->far_first, done);
            came = mlt_emit_recv(&w->e, out, w->far_first, NONE);
        }
        task t = in_group(w, MLT_COLL_BCAST, count, (mlt_goal_span){0}, out, came);
        emit_part(w, program, &t);
        return;
    }
    mlt_goal_span in = buffer(w, "in", count), result = in;
    uint32_t done = NONE;
    if (w->own_size > 1) {
        result = buffer(w, "tmp_result", count);
        task t = in_group(w, MLT_COLL_ALLREDUCE, count, in, result, NONE);
        done = emit_part(w, program, &t);
    }
    for (uint32_t r = w->own; r < w->far_size; r += w->own_size)
        mlt_emit_send(&w->e, result, w->far_first + r, done);
    mlt_emit_recv(&w->e, out, w->far_first + w->own % w->far_size, NONE);
}

static void inter_emit_reduce_scatter(const work *w, mlt_goal_program *program)
{
    const uint64_t *starts = w->x->shape.has_starts ? w->x->starts : NULL;
    uint64_t total = w->x->shape.count[0], each = total / w->own_size;
    uint64_t mine = starts ? starts[w->own + 1] - starts[w->own] : each;
    mlt_goal_span out = buffer(w, "out", mine), far = {out.buf, 0, 0};
    uint32_t done, came = NONE;
    mlt_goal_span result = reduced(w, program, total, &done);
    if (!w->own) {
        far = w->own_size == 1 ? out : buffer(w, "tmp_far", total);
        mlt_emit_send(&w->e, result, w->far_first, done);
        came = mlt_emit_recv(&w->e, far, w->far_first, NONE);
    }
    if (w->own_size == 1)
        return;
    task t = in_group(w, MLT_COLL_SCATTER, each, far, out, came);
    t.starts = starts;
    emit_part(w, program, &t);
}

void mlt_inter_emit(const mlt_inter *x, mlt_goal_program *program, uint32_t rank)
{
    const mlt_inter_shape *s = &x->shape;
    mlt_coll_shape bytes = {.ranks = s->size[0] + s->size[1], .type = MLT_OP_UINT8, .element = 1};
    work w = {.x = x, .e = mlt_emit_begin(&bytes, program, rank), .side = rank >= s->size[0]};
    w.own_first = w.side ? s->size[0] : 0;
    w.far_first = w.side ? 0 : s->size[0];
    w.own_size = s->size[w.side];
    w.far_size = s->size[!w.side];
    w.own = rank - w.own_first;
    static void (*const emit[MLT_COLLECTIVES])(const work *w, mlt_goal_program *program) = {
        [MLT_COLL_BCAST] = inter_emit_bcast,
        [MLT_COLL_GATHER] = inter_emit_blocks,
        [MLT_COLL_SCATTER] = inter_emit_blocks,
        [MLT_COLL_REDUCE] = inter_emit_reduce,
        [MLT_COLL_ALLGATHER] = inter_emit_allgather,
        [MLT_COLL_ALLREDUCE] = inter_emit_allreduce,
        [MLT_COLL_REDUCE_SCATTER] = inter_emit_reduce_scatter,
    };
    if (!emit[s->collective])
        mlt_fatal("%s between two groups is no schedule of this kind",
                  mlt_collective_names[s->collective]);
    if (!s->idle)
        emit[s->collective](&w, program);
}
