// SPDX-License-Identifier: BSD-3-Clause
#include "coll/coll.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/word.h"
#include "coll/coll_int.h"

#define ENTRY(name) &mlt_##name,
const mlt_coll_alg *const mlt_coll_algs[] = {MLT_COLL_LIST(ENTRY) NULL};

enum {
    NAME = 64,         // the longest "collective.name" and its end
    NEAREST = 3,       // names that are told if one is wrong
    SEGMENTS = 1 << 20 // of a block at most: more would be a mistake, and fill the memory
};

// ---- finding

static void full_name(const mlt_coll_alg *alg, char text[NAME])
{
    snprintf(text, NAME, "%s.%s", mlt_collective_names[alg->collective], alg->name);
}

static void not_found(const char *name, char *why, size_t why_size)
{
    const mlt_coll_alg *best[NEAREST] = {0};
    size_t far[NEAREST];
    for (int i = 0; mlt_coll_algs[i]; i++) {
        char text[NAME];
        full_name(mlt_coll_algs[i], text);
        size_t d = mlt_word_distance(name, strlen(name), text, strlen(text));
        int at = NEAREST;
        while (at > 0 && (!best[at - 1] || d < far[at - 1]))
            at--;
        for (int j = NEAREST - 1; j > at; j--) {
            best[j] = best[j - 1];
            far[j] = far[j - 1];
        }
        if (at < NEAREST) {
            best[at] = mlt_coll_algs[i];
            far[at] = d;
        }
    }
    char text[NEAREST][NAME];
    for (int i = 0; i < NEAREST; i++)
        full_name(best[i], text[i]);
    snprintf(why, why_size, "there is no algorithm '%.100s'; the nearest are %s, %s and %s", name,
             text[0], text[1], text[2]);
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

// One sentence about a shape that no algorithm of its kind can serve, or NULL. Numbers in it are
// written to text.
static const char *shape_fault(const mlt_coll_alg *alg, const mlt_coll_shape *shape, char *text,
                               size_t size)
{
    uint64_t bytes;
    if (!shape->ranks || shape->ranks > MLT_GOAL_MAX_RANKS)
        snprintf(text, size, "the number of ranks must be 1 to %d, not %" PRIu32,
                 MLT_GOAL_MAX_RANKS, shape->ranks);
    else if (shape->root >= shape->ranks)
        snprintf(text, size, "the root must be a rank below %" PRIu32 ", not %" PRIu32,
                 shape->ranks, shape->root);
    else if (shape->type >= MLT_OP_TYPES)
        return "there is no such type of elements";
    else if (mlt_collective_reduces(alg->collective) && shape->op == MLT_OP_COPY)
        return "the operation of a reduction must combine two values: max, min, sum and so on";
    else if (shape->in_place && !alg->in_place)
        return "it cannot be done in place";
    else if (shape->starts && !alg->uneven)
        return "all its blocks must have the same size";
    else if (__builtin_mul_overflow(shape->count, mlt_coll_element(shape), &bytes) ||
             __builtin_mul_overflow(bytes, 2ull * shape->ranks, &bytes))
        snprintf(text, size,
                 "blocks of %" PRIu64 " elements for %" PRIu32
                 " ranks have more bytes than 64 bits can count",
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
    if (fault) {
        snprintf(why, why_size, "%s.%s: %s", mlt_collective_names[alg->collective], alg->name,
                 fault);
        return MLT_ERR_INVALID;
    }
    mlt_goal_program *program = mlt_goal_program_new(shape->ranks);
    uint32_t told = shape->ranks / 256 + 1;
    for (uint32_t r = 0; r < shape->ranks; r++) {
        alg->emit(shape, program, r);
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
                           .commutes = !alg->in_order,
                           .in_place = shape->in_place,
                           .contributes = shape->contributes,
                           .receives = shape->receives,
                           .parts = shape->parts};
}
