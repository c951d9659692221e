// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/alg/alg.h"
#include "coll/alg/hosts/map.h"
#include "judge/check/check.h"
#include "type/op.h"

// ---- what is it?

typedef struct clues {          // of a program
    bool in[2], out[2], buf[2]; // [0] some rank has the buffer, [1] all have
    uint32_t silent, deaf;      // the first rank that sends nothing; that receives nothing
    uint32_t only_in, only_out; // the last rank with that buffer
    bool reduces, mixed;        // it has operations; of more than one kind
    mlt_op op;
    mlt_op_type type;
} clues;

static void see_buffer(const mlt_goal_program *program, uint32_t rank, const char *name,
                       bool seen[2], uint32_t *only)
{
    bool has = mlt_goal_buffer_find(program, rank, name) != MLT_GOAL_NOWHERE;
    seen[0] |= has;
    seen[1] &= has;
    if (has && only)
        *only = rank;
}

static void see_action(clues *c, const mlt_goal_action *action)
{
    bool exec = action->kind == MLT_GOAL_EXEC || action->kind == MLT_GOAL_RECV_EXEC;
    if (mlt_goal_is_user(action))
        c->mixed = true;
    if (!exec || action->op == MLT_OP_COPY)
        return;
    c->mixed |= c->reduces && (c->op != action->op || c->type != action->type);
    c->reduces = true;
    c->op = (mlt_op)action->op;
    c->type = (mlt_op_type)action->type;
}

static clues look(const mlt_goal_program *program)
{
    clues c = {.in = {false, true},
               .out = {false, true},
               .buf = {false, true},
               .silent = UINT32_MAX,
               .deaf = UINT32_MAX,
               .type = MLT_OP_INT8};
    for (uint32_t r = 0; r < program->ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        bool sends = false, receives = false;
        see_buffer(program, r, "in", c.in, &c.only_in);
        see_buffer(program, r, "out", c.out, &c.only_out);
        see_buffer(program, r, "buf", c.buf, NULL);
        for (uint32_t a = 0; a < rank->count; a++) {
            see_action(&c, &rank->actions[a]);
            sends |= rank->actions[a].kind == MLT_GOAL_SEND;
            receives |= mlt_goal_is_recv(&rank->actions[a]);
        }
        if (!sends && c.silent == UINT32_MAX)
            c.silent = r;
        if (!receives && c.deaf == UINT32_MAX)
            c.deaf = r;
    }
    return c;
}

static bool is_proven(const mlt_goal_program *program, const mlt_goal_spec *is)
{
    mlt_goal_check_options options = {.is = is, .limit = 1};
    mlt_goal_verdict *verdict = mlt_goal_check(program, &options);
    bool proven = mlt_goal_verdict_ok(verdict);
    mlt_goal_verdict_free(verdict);
    return proven;
}

// Which rank may be the root of that; UINT32_MAX: none.
static uint32_t shapes_root(const clues *c, mlt_collective collective)
{
    if (!mlt_collective_has_root(collective))
        return 0;
    if (collective == MLT_COLL_BCAST)
        return c->deaf;
    if (collective == MLT_COLL_SCATTER)
        return c->in[1] ? c->deaf : c->only_in;
    return c->out[1] ? c->silent : c->only_out;
}

static bool can_be(const clues *c, mlt_collective collective)
{
    switch (collective) {
    case MLT_COLL_BCAST:
        return c->buf[1] && !c->in[0] && !c->out[0] && !c->reduces;
    case MLT_COLL_SCATTER:
        return c->in[0] && c->out[1] && !c->reduces;
    case MLT_COLL_GATHER:
        return c->in[1] && c->out[0] && !c->reduces;
    case MLT_COLL_REDUCE:
        return c->in[1] && c->out[0] && c->reduces;
    case MLT_COLL_ALLREDUCE:
    case MLT_COLL_REDUCE_SCATTER:
    case MLT_COLL_SCAN:
        return c->in[1] && c->out[1] && c->reduces;
    case MLT_COLL_ALLGATHER:
    case MLT_COLL_ALLTOALL:
        return c->in[1] && c->out[1] && !c->reduces;
    default:
        return false;
    }
}

bool mlt_shapes_recognise(const mlt_source *source, const mlt_goal_spec *is, mlt_goal_spec *out,
                          char *text, size_t size)
{
    const mlt_goal_program *program = source->program;
    if (is && (is->in || is->out)) {
        snprintf(text, size, "left alone: algorithms know the buffers in, out and buf alone");
        return false;
    }
    if (is) {
        *out = *is;
        if (source->form == MLT_SOURCE_ALG || is_proven(program, is))
            return true;
        snprintf(text, size, "left alone: it is no right %s; `millet goal check` says why",
                 mlt_collective_names[is->collective]);
        return false;
    }
    clues c = look(program);
    for (mlt_collective k = 0; k < MLT_COLLECTIVES && !c.mixed; k++) {
        *out = (mlt_goal_spec){.collective = k,
                               .root = shapes_root(&c, k),
                               .op = c.op,
                               .type = c.type,
                               .commutes = true};
        if (can_be(&c, k) && out->root < program->ranks && is_proven(program, out))
            return true;
    }
    snprintf(text, size,
             "left alone: it is no collective operation that is recognised; --is names it");
    return false;
}

// ---- the shapes

typedef struct shapes_search {
    mlt_search *search;
    const mlt_goal_spec *is;
    mlt_coll_shape shape;   // what all have
    mlt_coll_hosts *hosts;  // where the machine has the ranks
    mlt_goal_program *best; // NULL: the source's own
    char *text;
    size_t size;
} shapes_search;

// Bytes of a block. 0: nothing tells.
static uint64_t block_bytes(const mlt_goal_program *program, const mlt_goal_spec *is)
{
    mlt_collective c = is->collective;
    if (is->bytes)
        return is->bytes;
    bool many = c == MLT_COLL_SCATTER || c == MLT_COLL_ALLTOALL || c == MLT_COLL_REDUCE_SCATTER;
    const char *name = c == MLT_COLL_BCAST ? "buf" : is->in_place ? "out" : "in";
    uint32_t rank = c == MLT_COLL_SCATTER ? is->root : 0;
    uint32_t buf = mlt_goal_buffer_find(program, rank, name);
    if (buf == MLT_GOAL_NOWHERE)
        return 0;
    return mlt_goal_buffer_size(program, rank, buf) / (many ? program->ranks : 1);
}

static bool shape_of(const mlt_source *source, const mlt_goal_spec *is, mlt_coll_shape *shape)
{
    if (source->form == MLT_SOURCE_ALG) {
        *shape = source->shape;
        return true;
    }
    uint64_t bytes = block_bytes(source->program, is), each = mlt_op_type_bytes[is->type];
    *shape = (mlt_coll_shape){.ranks = source->program->ranks,
                              .root = is->root,
                              .count = bytes / each,
                              .op = is->op,
                              .type = is->type,
                              .in_place = is->in_place};
    return bytes && bytes % each == 0 && !is->starts && is->op != MLT_OPS;
}

// True for an algorithm that can do it.
static bool shapes_take(const shapes_search *s, const mlt_coll_alg *alg)
{
    const mlt_coll_shape *shape = &s->shape;
    return alg->collective == s->is->collective && (!shape->in_place || alg->in_place) &&
           (!shape->starts || alg->uneven) && (!alg->uses_hosts || s->hosts) &&
           (s->is->commutes || alg->in_order) && (!alg->refuses || !alg->refuses(shape));
}

static void name_shape(const mlt_coll_alg *alg, const mlt_coll_shape *shape, char *text,
                       size_t size)
{
    int n = snprintf(text, size, "%s.%s", mlt_collective_names[alg->collective], alg->name);
    if (shape->radix && n > 0 && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, " --radix %" PRIu32, shape->radix);
    if (shape->segment && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, " --alg-segment %" PRIu64, shape->segment);
}

static void try_shape(shapes_search *s, const mlt_coll_alg *alg, uint32_t radix, uint64_t segment)
{
    mlt_coll_shape shape = s->shape;
    mlt_goal_program *program;
    char why[400];
    shape.radix = radix;
    shape.segment = segment;
    shape.hosts = alg->uses_hosts ? s->hosts : NULL;
    shape.user = alg->user;
    shape.keep = s->is->commutes ? MLT_KEEP_NOTHING : MLT_KEEP_ORDER;
    if ((alg->refuses && alg->refuses(&shape)) ||
        mlt_coll_program(alg, &shape, NULL, NULL, &program, why, sizeof why) != MLT_OK)
        return;
    mlt_search_cost cost;
    if (mlt_search_judge(s->search, program, &cost, why, sizeof why) == MLT_OK &&
        mlt_search_better(cost, s->search->best) && is_proven(program, s->is)) {
        s->search->best = cost;
        mlt_goal_program_free(s->best);
        s->best = program;
        name_shape(alg, &shape, s->text, s->size);
        return;
    }
    mlt_goal_program_free(program);
}

static void try_alg(shapes_search *s, const mlt_coll_alg *alg)
{
    static const uint32_t radices[] = {0, 2, 3, 4, 8, 16};
    static const uint64_t segments[] = {0, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10};
    uint64_t each = s->shape.element ? s->shape.element : mlt_op_type_bytes[s->shape.type];
    int most_radix = alg->uses_radix ? (int)(sizeof radices / sizeof *radices) : 1;
    int most_segment = alg->uses_segment ? (int)(sizeof segments / sizeof *segments) : 1;
    for (int r = 0; r < most_radix; r++)
        for (int k = 0; k < most_segment; k++) {
            bool idle = k && segments[k] / each >= s->shape.count; // one piece: as without
            if (!idle && mlt_search_goes_on(s->search, s->search->tried, UINT64_MAX))
                try_shape(s, alg, radices[r], segments[k] / each);
        }
}

static mlt_coll_hosts *hosts_of(const mlt_cluster *cluster, uint32_t ranks)
{
    uint32_t *nic = mlt_xcalloc(ranks, sizeof *nic);
    char why[400];
    mlt_coll_hosts *hosts = NULL;
    if (mlt_cluster_ranks(cluster, ranks, nic, why, sizeof why) == MLT_OK) {
        for (uint32_t r = 0; r < ranks; r++)
            nic[r] /= cluster->nics;
        hosts = mlt_coll_hosts_new(ranks, nic, cluster->hosts);
    }
    free(nic);
    return hosts;
}

mlt_goal_program *mlt_shapes_search(mlt_search *search, const mlt_source *source,
                                    const mlt_goal_spec *is, char *text, size_t size)
{
    shapes_search s = {.search = search, .is = is, .text = text, .size = size};
    search->tried = 0;
    if (!shape_of(source, is, &s.shape)) {
        snprintf(text, size, "left alone: no algorithm takes its blocks");
        return NULL;
    }
    snprintf(text, size, "left alone: no other %s is faster", mlt_collective_names[is->collective]);
    s.hosts = hosts_of(search->cluster, s.shape.ranks);
    for (int i = 0; mlt_coll_algs[i]; i++)
        if (shapes_take(&s, mlt_coll_algs[i]))
            try_alg(&s, mlt_coll_algs[i]);
    mlt_coll_hosts_free(s.hosts);
    return s.best;
}
