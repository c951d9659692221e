// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

bool mlt_alters(const mlt_coll_stage *stages, uint32_t count, bool *changes)
{
    bool alters = false;
    *changes = false;
    for (uint32_t i = 0; i < count; i++) {
        alters |= mlt_alter_is(&stages[i]);
        *changes |= mlt_alter_is(&stages[i]) && !stages[i].neutral;
    }
    return alters;
}

// ---- where the data lie

// Blocks first..last of `buffer`, which begins with block 0 if `whole`, else with block `first`.
static bool alter_blocks(const mlt_coll_what *what, uint32_t first, uint32_t last, bool whole,
                         const void *buffer, unsigned char **at, uint64_t *bytes)
{
    const uint64_t *s = what->starts;
    uint64_t from = s ? s[first] : first * what->count, to = s ? s[last] : last * what->count;
    *at = (unsigned char *)(uintptr_t)buffer + (whole ? from * what->element : 0);
    *bytes = (to - from) * what->element;
    return buffer && *bytes;
}

static bool operand_of(const mlt_coll_what *what, uint32_t ranks, uint32_t rank, const void *in,
                       void *out, unsigned char **at, uint64_t *bytes)
{
    switch ((mlt_collective)what->collective) {
    case MLT_COLL_BCAST:
        return rank == what->root && alter_blocks(what, 0, 1, true, out, at, bytes);
    case MLT_COLL_REDUCE:
    case MLT_COLL_ALLREDUCE:
    case MLT_COLL_SCAN:
    case MLT_COLL_EXSCAN:
        return alter_blocks(what, 0, 1, true, in ? in : out, at, bytes);
    case MLT_COLL_REDUCE_SCATTER:
    case MLT_COLL_ALLTOALL:
        return alter_blocks(what, 0, ranks, true, in ? in : out, at, bytes);
    case MLT_COLL_GATHER:
    case MLT_COLL_ALLGATHER:
        return alter_blocks(what, rank, rank + 1, !in, in ? in : out, at, bytes);
    case MLT_COLL_SCATTER:
        return rank == what->root && alter_blocks(what, 0, ranks, true, in, at, bytes);
    default:
        return false;
    }
}

static bool alter_result_of(const mlt_coll_what *what, uint32_t ranks, uint32_t rank, void *out,
                            unsigned char **at, uint64_t *bytes)
{
    switch ((mlt_collective)what->collective) {
    case MLT_COLL_BCAST:
        return rank != what->root && alter_blocks(what, 0, 1, true, out, at, bytes);
    case MLT_COLL_REDUCE:
        return rank == what->root && alter_blocks(what, 0, 1, true, out, at, bytes);
    case MLT_COLL_EXSCAN:
        return rank > 0 && alter_blocks(what, 0, 1, true, out, at, bytes);
    case MLT_COLL_ALLREDUCE:
    case MLT_COLL_SCAN:
        return alter_blocks(what, 0, 1, true, out, at, bytes);
    case MLT_COLL_REDUCE_SCATTER:
    case MLT_COLL_SCATTER:
        return alter_blocks(what, rank, rank + 1, false, out, at, bytes);
    case MLT_COLL_GATHER:
        return rank == what->root && alter_blocks(what, 0, ranks, true, out, at, bytes);
    case MLT_COLL_ALLGATHER:
    case MLT_COLL_ALLTOALL:
        return alter_blocks(what, 0, ranks, true, out, at, bytes);
    default:
        return false;
    }
}

bool mlt_alter_region(const mlt_coll_what *what, uint32_t ranks, uint32_t rank, mlt_alter_side side,
                      const void *in, void *out, unsigned char **at, uint64_t *bytes)
{
    if (what->emit || what->parts)
        return false;
    return side == MLT_ALTER_OPERAND ? operand_of(what, ranks, rank, in, out, at, bytes)
                                     : alter_result_of(what, ranks, rank, out, at, bytes);
}

// ---- elements

// GOAL's type of a predefined one of MPI's.
static mlt_op_type type_coded(uint16_t code)
{
    mlt_reduction found;
    char unused[160];
    bool known = mlt_reduce_find(MLT_REDUCE_MAX, code, &found, unused, sizeof unused) ||
                 mlt_reduce_find(MLT_REDUCE_BXOR, code, &found, unused, sizeof unused);
    return known && found.op != MLT_OPS ? found.type : MLT_OP_TYPES;
}

mlt_op_type mlt_alter_told(const mlt_coll_what *what)
{
    if (what->op && what->op->op != MLT_OPS)
        return what->op->type;
    return what->kind ? type_coded(what->kind) : MLT_OP_TYPES;
}

mlt_op_type mlt_alter_type(const mlt_coll_stage *stage, const mlt_coll_what *what)
{
    return stage->type < MLT_OP_TYPES ? (mlt_op_type)stage->type : mlt_alter_told(what);
}

// 0, 1, the least or the greatest value of a type; as bytes.
static void put_number(mlt_op_type type, unsigned char *to, int64_t value)
{
    float single = (float)value;
    double number = (double)value;
    if (type == MLT_OP_FLOAT32)
        memcpy(to, &single, sizeof single);
    else if (type == MLT_OP_FLOAT64)
        memcpy(to, &number, sizeof number);
    else
        memcpy(to, &value, mlt_op_type_bytes[type]); // little-endian
}

static void put_end(mlt_op_type type, unsigned char *to, bool greatest)
{
    uint32_t bytes = mlt_op_type_bytes[type];
    bool is_signed = type <= MLT_OP_INT64;
    float single = greatest ? INFINITY : -INFINITY;
    double number = greatest ? INFINITY : -INFINITY;
    if (type == MLT_OP_FLOAT32)
        memcpy(to, &single, sizeof single);
    else if (type == MLT_OP_FLOAT64)
        memcpy(to, &number, sizeof number);
    else {
        memset(to, greatest ? 0xff : 0, bytes);
        to[bytes - 1] = (unsigned char)(to[bytes - 1] ^ (is_signed ? 0x80 : 0));
    }
}

// What an operation leaves as it is. False: it is none of GOAL's.
static bool identity_of(mlt_op op, mlt_op_type type, unsigned char *to)
{
    switch (op) {
    case MLT_OP_SUM:
    case MLT_OP_LOR:
    case MLT_OP_LXOR:
    case MLT_OP_BOR:
    case MLT_OP_BXOR:
        put_number(type, to, 0);
        return true;
    case MLT_OP_PROD:
    case MLT_OP_LAND:
        put_number(type, to, 1);
        return true;
    case MLT_OP_BAND:
        memset(to, 0xff, mlt_op_type_bytes[type]);
        return true;
    case MLT_OP_MAX:
    case MLT_OP_MIN:
        put_end(type, to, op == MLT_OP_MIN);
        return true;
    default:
        return false;
    }
}

// UInt64 takes negative numbers for those of the same bits, as functions have them.
static bool has_whole_number(mlt_op_type type, int64_t value)
{
    uint32_t bits = 8 * mlt_op_type_bytes[type];
    if (bits == 64)
        return true;
    return type <= MLT_OP_INT64 ? value >= -(INT64_C(1) << (bits - 1)) && value >> (bits - 1) <= 0
                                : value >= 0 && value >> bits == 0;
}

bool mlt_alter_fill(const mlt_coll_stage *stage, mlt_op_type type, unsigned char to[8], char *why,
                    size_t why_size)
{
    char number[40];
    float single = (float)stage->fill;
    if (type == MLT_OP_FLOAT64) {
        memcpy(to, &stage->fill, sizeof stage->fill);
        return true;
    }
    if (type == MLT_OP_FLOAT32 && (isfinite(single) || !isfinite(stage->fill))) {
        memcpy(to, &single, sizeof single);
        return true;
    }
    if (type != MLT_OP_FLOAT32 && stage->whole && has_whole_number(type, stage->fill_whole)) {
        put_number(type, to, stage->fill_whole);
        return true;
    }
    if (stage->whole)
        snprintf(number, sizeof number, "%lld", (long long)stage->fill_whole);
    else
        snprintf(number, sizeof number, "%.14g", stage->fill);
    return mlt_deny(why, why_size, "drop: with = %s does not fit into %s", number,
                    mlt_op_type_names[type]);
}

static bool drop(mlt_coll_rulebook *rulebook, const mlt_coll_stage *stage,
                 const mlt_coll_passing *passing, mlt_op_type type, const mlt_coll_op *op,
                 unsigned char *data, uint64_t bytes, char *why, size_t why_size)
{
    bool drops = false;
    if (!rulebook->drops(rulebook, stage->function[0], passing, &drops, why, why_size))
        return false;
    if (!drops)
        return true;
    unsigned char one[8];
    uint32_t size = mlt_op_type_bytes[type];
    if (stage->filled) {
        if (!mlt_alter_fill(stage, type, one, why, why_size))
            return false;
    } else if (!op)
        put_number(type, one, 0);
    else if (!identity_of(op->op, type, one))
        return mlt_deny(why, why_size,
                        "no value is known that this operation leaves as it is: a drop says what "
                        "stands for an operand, such as with = 0");
    for (uint64_t at = 0; at < bytes; at += size)
        memcpy(data + at, one, size);
    return true;
}

bool mlt_alter_data(mlt_coll_rulebook *rulebook, const mlt_coll_stage *stage, mlt_alter_side side,
                    const mlt_coll_passing *passing, mlt_op_type type, const mlt_coll_op *op,
                    void *data, uint64_t bytes, char *why, size_t why_size)
{
    const char *name = mlt_coll_wrapper_names[stage->wrapper];
    if (stage->wrapper == MLT_WRAP_OP || !stage->function[side])
        return true;
    if (type >= MLT_OP_TYPES)
        return mlt_deny(why, why_size,
                        "%s: the call does not tell what its elements are: say it, such as type = "
                        "\"Float64\"",
                        name);
    if (type == MLT_OP_FLOAT16)
        return mlt_deny(why, why_size, "%s: elements of Float16 are not for functions", name);
    uint32_t size = mlt_op_type_bytes[type];
    if (bytes % size)
        return mlt_deny(why, why_size, "%s: %llu bytes are no whole elements of %s", name,
                        (unsigned long long)bytes, mlt_op_type_names[type]);
    if (stage->wrapper == MLT_WRAP_DROP)
        return drop(rulebook, stage, passing, type, op, data, bytes, why, why_size);
    return rulebook->map(rulebook, stage->function[side], passing, type, data, bytes / size, why,
                         why_size);
}

// ---- operations

bool mlt_alter_op_fits(const mlt_coll_stage *stage, const mlt_coll_op *op)
{
    return stage->wrapper == MLT_WRAP_OP && (stage->op == MLT_OPS || stage->op == op->op);
}

static void run_op(void *arg, const mlt_run_operands *o)
{
    const mlt_coll_op *op = arg;
    const mlt_alter_op *by = op->user;
    const void *lower = o->reversed ? o->second : o->result;
    const void *higher = o->reversed ? o->result : o->second;
    char why[512] = "";
    if (!by->rulebook->fold(by->rulebook, by->stage->function[0], by->type, o->result, lower,
                            higher, o->bytes / op->element, why, sizeof why))
        mlt_fatal("path %s, op: %s", by->by, why);
}

void mlt_alter_op_make(mlt_coll_op *out, const mlt_alter_op *by)
{
    *out = (mlt_coll_op){
        .op = MLT_OPS,
        .type = MLT_OP_TYPES,
        .function = run_op,
        .arg = out,
        .element = mlt_op_type_bytes[by->type],
        .commutes = by->stage->commutes,
        .direct = true,
        .user = by,
        .same = (uintptr_t)by,
    };
}
