// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/ops.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/word.h"
#include "type/type.h"

typedef struct type_row {
    const char *name;
    const char *mpi; // whose reductions it has; NULL: none
    size_t bytes;
} type_row;

static const type_row types[FLOW_TYPES] = {
    [FLOW_ANY] = {"bytes", NULL, 0},
    [FLOW_CHAR] = {"char", CHAR_MIN < 0 ? "MPI_SIGNED_CHAR" : "MPI_UNSIGNED_CHAR", sizeof(char)},
    [FLOW_SCHAR] = {"signed char", "MPI_SIGNED_CHAR", sizeof(char)},
    [FLOW_UCHAR] = {"unsigned char", "MPI_UNSIGNED_CHAR", sizeof(char)},
    [FLOW_SHORT] = {"short", "MPI_SHORT", sizeof(short)},
    [FLOW_USHORT] = {"unsigned short", "MPI_UNSIGNED_SHORT", sizeof(short)},
    [FLOW_INT] = {"int", "MPI_INT", sizeof(int)},
    [FLOW_UINT] = {"unsigned", "MPI_UNSIGNED", sizeof(int)},
    [FLOW_LONG] = {"long", "MPI_LONG", sizeof(long)},
    [FLOW_ULONG] = {"unsigned long", "MPI_UNSIGNED_LONG", sizeof(long)},
    [FLOW_LLONG] = {"long long", "MPI_LONG_LONG_INT", sizeof(long long)},
    [FLOW_ULLONG] = {"unsigned long long", "MPI_UNSIGNED_LONG_LONG", sizeof(long long)},
    [FLOW_FLOAT] = {"float", "MPI_FLOAT", sizeof(float)},
    [FLOW_DOUBLE] = {"double", "MPI_DOUBLE", sizeof(double)},
    [FLOW_LDOUBLE] = {"long double", "MPI_LONG_DOUBLE", sizeof(long double)},
    [FLOW_BOOL] = {"_Bool", "MPI_C_BOOL", sizeof(_Bool)},
    [FLOW_FLOAT_COMPLEX] = {"float _Complex", "MPI_C_COMPLEX", sizeof(float _Complex)},
    [FLOW_DOUBLE_COMPLEX] = {"double _Complex", "MPI_C_DOUBLE_COMPLEX", sizeof(double _Complex)},
};

typedef struct op_row {
    const char *name;
    mlt_reduce_op op;
    const char *domain;
} op_row;

#define NUMBERS "numbers"
#define ORDERED "integers and real numbers"
#define TRUTHS  "integers and _Bool"
static const op_row ops[] = {
    {"sum", MLT_REDUCE_SUM, NUMBERS},       {"product", MLT_REDUCE_PROD, NUMBERS},
    {"multiply", MLT_REDUCE_PROD, NUMBERS}, {"prod", MLT_REDUCE_PROD, NUMBERS},
    {"max", MLT_REDUCE_MAX, ORDERED},       {"min", MLT_REDUCE_MIN, ORDERED},
    {"and", MLT_REDUCE_LAND, TRUTHS},       {"or", MLT_REDUCE_LOR, TRUTHS},
    {"xor", MLT_REDUCE_LXOR, TRUTHS},       {"band", MLT_REDUCE_BAND, "integers"},
    {"bor", MLT_REDUCE_BOR, "integers"},    {"bxor", MLT_REDUCE_BXOR, "integers"},
};
enum { OPS = sizeof ops / sizeof *ops };

const char *mlt_flow_type_name(flow_type kind)
{
    return types[kind < FLOW_TYPES ? kind : FLOW_ANY].name;
}

size_t mlt_flow_type_bytes(flow_type kind)
{
    return types[kind < FLOW_TYPES ? kind : FLOW_ANY].bytes;
}

static const op_row *ops_row_of(const char *name)
{
    for (size_t i = 0; i < OPS; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

bool mlt_flow_op_known(const char *name)
{
    return ops_row_of(name) != NULL;
}

const char *mlt_flow_op_list(void)
{
    return "sum, product, max, min, and, or, xor, band, bor, bxor";
}

const char *mlt_flow_op_near(const char *name)
{
    size_t half = strlen(name) / 2, best = 1 + (half < 2 ? half : 2);
    const char *near = NULL;
    for (size_t i = 0; i < OPS; i++)
        mlt_word_nearer(name, ops[i].name, &near, &best);
    return near;
}

// The ABI's value of the type, looked up once.
static uint16_t code_of(flow_type kind)
{
    static _Atomic uint16_t codes[FLOW_TYPES];
    // relaxed: a thread that finds nothing computes the same again
    uint16_t code = atomic_load_explicit(&codes[kind], memory_order_relaxed);
    for (size_t i = 0; !code && i < sizeof mlt_type_predefined / sizeof *mlt_type_predefined; i++)
        if (mlt_type_predefined[i].magic == MLT_TYPE_MAGIC &&
            strcmp(mlt_type_predefined[i].name, types[kind].mpi) == 0)
            code = mlt_type_predefined[i].code;
    atomic_store_explicit(&codes[kind], code, memory_order_relaxed);
    return code;
}

bool mlt_flow_op_find(const char *name, flow_type kind, mlt_reduction *out, char *why,
                      size_t why_size)
{
    const op_row *row = ops_row_of(name);
    if (!row)
        return mlt_deny(why, why_size, "there is no operation %s; predefined are %s", name,
                        mlt_flow_op_list());
    char mpi[160];
    if (kind > FLOW_ANY && kind < FLOW_TYPES &&
        mlt_reduce_find(row->op, code_of(kind), out, mpi, sizeof mpi))
        return true;
    return mlt_deny(why, why_size, "%s works on %s, not on %s", name, row->domain,
                    mlt_flow_type_name(kind));
}
