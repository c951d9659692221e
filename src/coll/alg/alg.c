// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/alg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/alg/alg_int.h"
#include "coll/choice.h"

enum {
    NAME = 64,         // the longest "collective.name" and its end
    SEGMENTS = 1 << 20 // of a block at most: more would be a mistake, and fill the memory
};

// ---- finding

static void full_name(const mlt_coll_alg *alg, char text[NAME])
{
    snprintf(text, NAME, "%s.%s", mlt_collective_names[alg->collective], alg->name);
}

static void not_found(const char *name, char *why, size_t why_size)
{
    uint32_t count = 0;
    while (mlt_coll_algs[count])
        count++;
    char(*text)[NAME] = mlt_xcalloc(count, sizeof *text), nearest[200];
    const char **names = mlt_xcalloc(count, sizeof *names);
    for (uint32_t i = 0; i < count; i++) {
        full_name(mlt_coll_algs[i], text[i]);
        names[i] = text[i];
    }
    mlt_coll_nearest(name, strlen(name), names, count, nearest, sizeof nearest);
    snprintf(why, why_size, "there is no algorithm '%.100s'%s", name, nearest);
    free(names);
    free(text);
}

const mlt_coll_alg *mlt_coll_find(const char *name, char *why, size_t why_size)
{
    for (int i = 0; mlt_coll_algs[i]; i++) {
        char text[NAME];
        full_name(mlt_coll_algs[i], text);
        if (strcmp(text, name) == 0)
            return mlt_coll_algs[i];
    }
    not_found(name, why, why_size);
    return NULL;
}

// ---- making

// What is wrong with blocks that differ, or NULL.
static const char *starts_fault(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    const uint64_t *starts = shape->starts;
    uint64_t most = 1, bytes;
    if (starts[0])
        return "the first of its blocks must begin at 0";
    for (uint32_t r = 0; r < shape->ranks; r++) {
        if (starts[r + 1] < starts[r])
            return "one of its blocks ends before it begins";
        if (alg->collective == MLT_COLL_ALLTOALL && starts[r + 1] - starts[r] > most)
            most = starts[r + 1] - starts[r];
    }
    if (alg->collective == MLT_COLL_ALLTOALL && __builtin_mul_overflow(most, shape->count, &most))
        return "its blocks have more bytes than 64 bits can count";
    return __builtin_mul_overflow(starts[shape->ranks], mlt_coll_element(shape), &bytes) ||
                   __builtin_mul_overflow(bytes, 2 * most, &bytes) || most > UINT64_MAX / 2
               ? "its blocks have more bytes than 64 bits can count"
               : NULL;
}

static const char *part_fault(const mlt_goal_message *part, uint32_t count, uint64_t room,
                              uint32_t ranks)
{
    for (uint32_t i = 0; i < count; i++) {
        if (part[i].peer >= ranks)
            return "a message of its lists has a rank that is not there";
        if (part[i].tag < 0)
            return "a message of its lists has a tag below 0";
        if (part[i].at > room || part[i].bytes > room - part[i].at)
            return "a message of its lists is beyond its buffer";
    }
    return NULL;
}

static const char *parts_fault(const mlt_coll_shape *shape)
{
    const char *fault = shape->parts ? NULL : "the lists of its messages are not given";
    for (uint32_t r = 0; r < shape->ranks && !fault; r++) {
        const mlt_goal_messages *p = &shape->parts[r];
        fault = part_fault(p->send, p->sends, p->in, shape->ranks);
        if (!fault)
            fault = part_fault(p->recv, p->recvs, p->out, shape->ranks);
    }
    return fault;
}

// True if elements are no whole number of what the operation combines.
static bool splits_type(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    return mlt_collective_reduces(alg->collective) && shape->op != MLT_OPS && shape->element &&
           shape->element % mlt_op_type_bytes[shape->type];
}

// Why the algorithm cannot serve a shape, or NULL. Texts with numbers in them are written to text.
static const char *shape_fault(const mlt_coll_alg *alg, const mlt_coll_shape *shape, char *text,
                               size_t size)
{
    uint64_t bytes;
    const char *fault = NULL;
    if (!shape->ranks || shape->ranks > MLT_GOAL_MAX_RANKS)
        snprintf(text, size, "the number of ranks must be 1 to %d, not %u", MLT_GOAL_MAX_RANKS,
                 shape->ranks);
    else if (shape->root >= shape->ranks)
        snprintf(text, size, "the root must be a rank below %u, not %u", shape->ranks, shape->root);
    else if (shape->type >= MLT_OP_TYPES)
        return "there is no such type of elements";
    else if (mlt_collective_reduces(alg->collective) && shape->op == MLT_OP_COPY)
        return "the operation of a reduction must combine two values: max, min, sum and so on";
    else if (shape->in_place && !alg->in_place)
        return "it cannot be done in place";
    else if (shape->starts && !alg->uneven)
        return "all its blocks must have the same size";
    else if (splits_type(alg, shape))
        return "an element must be a whole number of what the operation combines";
    else if (shape->starts && (fault = starts_fault(alg, shape)))
        return fault;
    else if (alg->collective == MLT_COLL_EXCHANGE && (fault = parts_fault(shape)))
        return fault;
    else if (__builtin_mul_overflow(shape->count, mlt_coll_element(shape), &bytes) ||
             __builtin_mul_overflow(bytes, 2ull * shape->ranks, &bytes))
        snprintf(text, size,
                 "blocks of %" PRIu64
                 " elements for %u ranks have more bytes than 64 bits can count",
                 shape->count, shape->ranks);
    else if (alg->uses_segment && shape->count / mlt_coll_segment(shape) > SEGMENTS)
        snprintf(text, size,
                 "a segment of %" PRIu64 " elements cuts %" PRIu64
                 " into more than %d pieces; take a longer one",
                 mlt_coll_segment(shape), shape->count, SEGMENTS);
    else
        return alg->refuses ? alg->refuses(shape) : NULL;
    return text;
}

mlt_status mlt_coll_program(const mlt_coll_alg *alg, const mlt_coll_shape *shape,
                            void (*progress)(void *user, double done), void *user,
                            mlt_goal_program **out, char *why, size_t why_size)
{
    char text[160];
    const char *fault = shape_fault(alg, shape, text, sizeof text);
    if (fault)
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s.%s: %s",
                        mlt_collective_names[alg->collective], alg->name, fault);
    mlt_goal_program *program = mlt_goal_program_new(shape->ranks);
    uint32_t told = shape->ranks / 256 + 1;
    for (uint32_t r = 0; r < shape->ranks; r++) {
        mlt_coll_shape of_rank = *shape;
        if (alg->collective == MLT_COLL_EXCHANGE)
            of_rank.parts = &shape->parts[r];
        mlt_coll_emit(alg, &of_rank, program, r);
        if (progress && r % told == 0)
            progress(user, (double)r / shape->ranks);
    }
    if (progress)
        progress(user, 1);
    *out = program;
    return MLT_OK;
}

mlt_goal_spec mlt_coll_spec(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    return (mlt_goal_spec){.collective = alg->collective,
                           .root = shape->root,
                           .bytes = shape->count * mlt_coll_element(shape),
                           .op = shape->op,
                           .type = shape->type,
                           .commutes = !mlt_coll_keeps_order(alg, shape),
                           .element = (uint32_t)mlt_coll_element(shape),
                           .in_place = shape->in_place,
                           .starts = shape->starts,
                           .contributes = shape->contributes,
                           .receives = shape->receives,
                           .parts = shape->parts};
}
