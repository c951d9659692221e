// SPDX-License-Identifier: BSD-3-Clause
// Wrappers that say they are neutral are tried before a rank starts: calls of small groups, in
// memory, with all neutral wrappers of the path, against the definition of the collective. Groups
// have 1 to 4 ranks, each in a worker or two in one; values are such that no result of a sum or a
// product depends on brackets, so that whatever differs is the wrappers' doing.
#include <stdio.h>
#include <string.h>

#include "coll/alter.h"
#include "lua/rulebook_int.h"

enum { NEUTRAL_RANKS = 4, NEUTRAL_COUNT = 3, NEUTRAL_BYTES = NEUTRAL_RANKS * NEUTRAL_COUNT * 8 };

typedef unsigned char buffer[NEUTRAL_BYTES];

typedef struct trial {
    mlt_lua_rulebook *rulebook;
    const mlt_coll_path *path;
    mlt_coll_what what;
    mlt_coll_op op;
    uint32_t ranks, each; // each: of a worker
    mlt_op_type type;
    bool wrapped; // with the wrappers; else the definition
    bool right;   // brackets of the schedule: from the right
    buffer in[NEUTRAL_RANKS], out[NEUTRAL_RANKS];
    char *why;
    size_t why_size;
} trial;

// ---- values

static void put_value(mlt_op_type type, uint32_t salt, unsigned char *to)
{
    static const double floats[] = {0, 1, -1, 2, 4, 0.5, 3, -2};
    static const int64_t whole[] = {0, 1, -1, 2, 100, 5, INT64_MAX, INT64_MIN};
    static const uint32_t ends = 6; // the last two are of the type's own bits
    uint32_t n = salt * 2654435761u >> 29;
    float single = (float)floats[n];
    int64_t value = whole[n];
    if (n >= ends && mlt_op_type_bytes[type] < sizeof value) // at the top of the type
        value = (int64_t)((uint64_t)value >> 1 >> (63 - 8 * mlt_op_type_bytes[type]));
    if (type == MLT_OP_FLOAT32)
        memcpy(to, &single, sizeof single);
    else if (type == MLT_OP_FLOAT64)
        memcpy(to, &floats[n], sizeof floats[n]);
    else
        memcpy(to, &value, mlt_op_type_bytes[type]);
}

// ---- a call in memory

static mlt_coll_passing trial_passing(const trial *t, uint32_t rank, bool worker, uint64_t bytes)
{
    return (mlt_coll_passing){.name = t->path->comm ? t->path->comm : "MPI_COMM_WORLD",
                              .collective = t->what.collective,
                              .worker = worker,
                              .rank = rank,
                              .ranks = t->ranks,
                              .root = t->what.root,
                              .bytes = bytes};
}

static uint32_t combine_at(const mlt_coll_path *path)
{
    uint32_t i = 0;
    while (i < path->count && path->stages[i].wrapper != MLT_WRAP_COMBINE)
        i++;
    return i;
}

// Stages before or after `combine`, in the order of the side.
static bool pass(trial *t, uint32_t rank, bool worker, mlt_alter_side side, void *data,
                 uint64_t bytes)
{
    uint32_t combine = combine_at(t->path), count = t->path->count;
    uint32_t first = worker ? combine : 0, last = worker ? count : combine;
    mlt_coll_passing passing = trial_passing(t, rank, worker, bytes);
    for (uint32_t n = first; t->wrapped && n < last; n++) {
        const mlt_coll_stage *s =
            &t->path->stages[side == MLT_ALTER_OPERAND ? n : first + last - 1 - n];
        if (s->wrapper == MLT_WRAP_MAP && s->neutral &&
            !mlt_alter_data(&t->rulebook->base, s, side, &passing, t->type, &t->op, data, bytes,
                            t->why, t->why_size))
            return false;
    }
    return true;
}

// high = low op high
static bool fold(trial *t, bool worker, const void *low, void *high, uint64_t count)
{
    uint32_t combine = combine_at(t->path);
    buffer result;
    uint64_t bytes = count * mlt_op_type_bytes[t->type];
    for (uint32_t i = 0; t->wrapped && i < t->path->count; i++) {
        const mlt_coll_stage *s = &t->path->stages[i];
        bool here = i < combine || worker; // after `combine` only between workers
        if (s->wrapper == MLT_WRAP_OP && s->neutral && here && mlt_alter_op_fits(s, &t->op))
            return t->rulebook->base.fold(&t->rulebook->base, s->function[0], t->type, high, low,
                                          high, count, t->why, t->why_size);
    }
    memcpy(result, low, bytes);
    mlt_op_kernels[t->op.op][t->type](result, high, count);
    memcpy(high, result, bytes);
    return true;
}

// out = data[first] op ... op data[last - 1], of `count` elements, by workers.
static bool fold_all(trial *t, buffer *data, uint32_t last, uint64_t count, unsigned char *out)
{
    uint32_t each = t->each, workers = (last + each - 1) / each;
    uint64_t bytes = count * mlt_op_type_bytes[t->type];
    bool levels = t->what.collective == MLT_COLL_REDUCE || t->what.collective == MLT_COLL_ALLREDUCE;
    buffer part[NEUTRAL_RANKS];
    for (uint32_t w = 0; w < workers; w++) {
        uint32_t end = (w + 1) * each < last ? (w + 1) * each : last;
        memcpy(part[w], data[end - 1], bytes);
        for (uint32_t r = end - 1; r-- > w * each;)
            if (!fold(t, false, data[r], part[w], count))
                return false;
        if (levels && !pass(t, w * each, true, MLT_ALTER_OPERAND, part[w], bytes))
            return false;
    }
    for (uint32_t n = 1; n < workers; n++) {
        uint32_t w = t->right ? workers - n : n;
        if (t->right ? !fold(t, true, part[w - 1], memcpy(out, part[w], bytes), count)
                     : !fold(t, true, part[w - 1], part[w], count))
            return false;
        if (t->right)
            memcpy(part[w - 1], out, bytes);
    }
    memcpy(out, part[t->right ? 0 : workers - 1], bytes);
    return !levels || pass(t, 0, true, MLT_ALTER_RESULT, out, bytes);
}

// What rank r gets of what all bring: the definition (goal/spec.h).
static bool get(trial *t, buffer *in, uint32_t r, unsigned char *out)
{
    uint64_t n = t->what.count * t->what.element, all = n * t->ranks;
    buffer sum;
    switch ((mlt_collective)t->what.collective) {
    case MLT_COLL_BCAST:
        memcpy(out, in[t->what.root], n);
        return true;
    case MLT_COLL_REDUCE:
    case MLT_COLL_ALLREDUCE:
        return fold_all(t, in, t->ranks, t->what.count, out);
    case MLT_COLL_SCAN:
        return fold_all(t, in, r + 1, t->what.count, out);
    case MLT_COLL_EXSCAN:
        return r == 0 || fold_all(t, in, r, t->what.count, out);
    case MLT_COLL_REDUCE_SCATTER:
        if (!fold_all(t, in, t->ranks, t->what.count * t->ranks, sum))
            return false;
        memcpy(out, sum + r * n, n);
        return true;
    case MLT_COLL_SCATTER:
        memcpy(out, in[t->what.root] + r * n, n);
        return true;
    case MLT_COLL_ALLTOALL:
        for (uint32_t s = 0; s < t->ranks; s++)
            memcpy(out + s * n, in[s] + r * n, n);
        return true;
    default: // gather, allgather
        for (uint32_t s = 0; s < t->ranks; s++)
            memcpy(out + s * n, in[s], n);
        return all > 0;
    }
}

static bool trial_call(trial *t)
{
    buffer in[NEUTRAL_RANKS];
    unsigned char *at;
    uint64_t bytes;
    memcpy(in, t->in, sizeof in);
    for (uint32_t r = 0; r < t->ranks; r++)
        if (mlt_alter_region(&t->what, t->ranks, r, MLT_ALTER_OPERAND, in[r], in[r], &at, &bytes) &&
            !pass(t, r, false, MLT_ALTER_OPERAND, in[r], bytes))
            return false;
    for (uint32_t r = 0; r < t->ranks; r++) {
        memset(t->out[r], 0, sizeof t->out[r]);
        if (mlt_alter_region(&t->what, t->ranks, r, MLT_ALTER_RESULT, in[r], t->out[r], &at,
                             &bytes) &&
            (!get(t, in, r, t->out[r]) || !pass(t, r, false, MLT_ALTER_RESULT, t->out[r], bytes)))
            return false;
    }
    return true;
}

// ---- all calls

static void show_element(mlt_op_type type, const unsigned char *at, char *text, size_t size)
{
    float single;
    double number;
    int64_t whole = 0;
    if (type == MLT_OP_FLOAT32) {
        memcpy(&single, at, sizeof single);
        snprintf(text, size, "%.9g", (double)single);
    } else if (type == MLT_OP_FLOAT64) {
        memcpy(&number, at, sizeof number);
        snprintf(text, size, "%.17g", number);
    } else {
        uint32_t bits = 8 * mlt_op_type_bytes[type];
        memcpy(&whole, at, mlt_op_type_bytes[type]);
        if (type <= MLT_OP_INT64)
            whole = (int64_t)((uint64_t)whole << (64 - bits)) >> (64 - bits);
        snprintf(text, size, type <= MLT_OP_INT64 ? "%lld" : "%llu", (long long)whole);
    }
}

// 0 and -0 are equal.
static bool equal(mlt_op_type type, const unsigned char *a, const unsigned char *b)
{
    double x, y;
    float p, q;
    if (type == MLT_OP_FLOAT64)
        return memcpy(&x, a, 8) && memcpy(&y, b, 8) && x == y;
    if (type == MLT_OP_FLOAT32)
        return memcpy(&p, a, 4) && memcpy(&q, b, 4) && p == q;
    return memcmp(a, b, mlt_op_type_bytes[type]) == 0;
}

static mlt_status deny(trial *t, uint32_t rank, uint64_t element, const unsigned char *got,
                       const unsigned char *right)
{
    char op[64] = "", one[40], other[40];
    show_element(t->type, got, one, sizeof one);
    show_element(t->type, right, other, sizeof other);
    if (t->what.op)
        snprintf(op, sizeof op, "%s of ", mlt_op_names[t->op.op]);
    return mlt_fail(MLT_ERR_INVALID, t->why, t->why_size,
                    "%s: path: a wrapper says that it is neutral, but in %s (%s%s) of %u rank%s, "
                    "%u in a worker, rank %u gets %s as element %llu, where %s is right",
                    t->path->by, mlt_collective_names[t->what.collective], op,
                    mlt_op_type_names[t->type], t->ranks, t->ranks == 1 ? "" : "s", t->each, rank,
                    one, (unsigned long long)element + 1, other);
}

static mlt_status try_call(trial *t)
{
    buffer right[NEUTRAL_RANKS];
    uint32_t size = mlt_op_type_bytes[t->type];
    t->wrapped = false;
    if (!trial_call(t))
        return MLT_ERR_INVALID;
    memcpy(right, t->out, sizeof right);
    t->wrapped = true;
    for (int brackets = 0; brackets < 2; brackets++) {
        t->right = brackets;
        char own[512] = "";
        t->why[0] = '\0';
        if (!trial_call(t)) {
            snprintf(own, sizeof own, "%s", t->why);
            return mlt_fail(MLT_ERR_INVALID, t->why, t->why_size, "%s: path: %s", t->path->by, own);
        }
        for (uint32_t r = 0; r < t->ranks; r++)
            for (uint64_t at = 0; at < sizeof right[r]; at += size)
                if (!equal(t->type, t->out[r] + at, right[r] + at))
                    return deny(t, r, at / size, t->out[r] + at, right[r] + at);
    }
    t->right = false;
    if (!mlt_lua_in_time(t->rulebook, "what its neutral wrappers do", t->why, t->why_size))
        return MLT_ERR_INVALID;
    return MLT_OK;
}

static mlt_status try_groups(trial *t)
{
    bool reduces = mlt_collective_reduces((mlt_collective)t->what.collective);
    uint32_t size = mlt_op_type_bytes[t->type];
    t->what.element = reduces ? size : 1;
    t->what.count = reduces ? NEUTRAL_COUNT : NEUTRAL_COUNT * size;
    for (uint32_t n = 0; n < 2 * 3 * NEUTRAL_RANKS; n++) {
        uint32_t salt = n / 2 / NEUTRAL_RANKS;
        t->ranks = n / 2 % NEUTRAL_RANKS + 1;
        t->each = 1 + n % 2;
        t->what.root =
            mlt_collective_has_root((mlt_collective)t->what.collective) ? t->ranks - 1 : 0;
        for (uint32_t r = 0; r < t->ranks; r++)
            for (uint32_t i = 0; i < NEUTRAL_RANKS * NEUTRAL_COUNT; i++)
                put_value(t->type, salt * 97 + r * 31 + i * 7 + 1, t->in[r] + i * size);
        mlt_status status = try_call(t);
        if (status != MLT_OK)
            return status;
    }
    return MLT_OK;
}

// The operation and the type that the claims are about: of those two, MLT_OPS and MLT_OP_TYPES are all.
static bool claims(const mlt_coll_path *path, mlt_op *op, uint8_t *type)
{
    bool some = false, maps = false;
    *op = MLT_OPS;
    *type = MLT_OP_TYPES;
    for (uint32_t i = 0; i < path->count; i++)
        if (mlt_alter_is(&path->stages[i]) && path->stages[i].neutral) {
            some = true;
            if (path->stages[i].wrapper == MLT_WRAP_OP)
                *op = (mlt_op)path->stages[i].op;
            else
                maps = true;
            if (path->stages[i].type < MLT_OP_TYPES)
                *type = path->stages[i].type;
        }
    if (maps)
        *op = MLT_OPS;
    return some;
}

mlt_status mlt_lua_prove_neutral(mlt_lua_rulebook *rulebook, const mlt_coll_path *path, char *why,
                                 size_t why_size)
{
    static const bool of_floats[MLT_OPS] = {
        [MLT_OP_MAX] = true, [MLT_OP_MIN] = true, [MLT_OP_SUM] = true, [MLT_OP_PROD] = true};
    mlt_op only_op;
    uint8_t only_type;
    if (!claims(path, &only_op, &only_type))
        return MLT_OK;
    trial t = {.rulebook = rulebook, .path = path, .why = why, .why_size = why_size};
    t.what.collective = (uint8_t)path->collective;
    bool reduces = mlt_collective_reduces(path->collective);
    for (uint32_t o = 0; o < (reduces ? MLT_OP_COPY : 1u); o++)
        for (uint32_t type = 0; type < MLT_OP_TYPES; type++) {
            bool is_float = type == MLT_OP_FLOAT32 || type == MLT_OP_FLOAT64;
            if (type == MLT_OP_FLOAT16 || (only_type < MLT_OP_TYPES && type != only_type) ||
                (reduces && only_op != MLT_OPS && o != only_op) ||
                (reduces && is_float && !of_floats[o]))
                continue;
            t.type = (mlt_op_type)type;
            t.op = (mlt_coll_op){.op = (mlt_op)o, .type = t.type, .commutes = true};
            t.what.op = reduces ? &t.op : NULL;
            mlt_status status = try_groups(&t);
            if (status != MLT_OK)
                return status;
        }
    return MLT_OK;
}
