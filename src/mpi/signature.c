// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/signature.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "mpi/dtype.h"

// A type is made of one or more others, one after the other.
typedef struct parts {
    int64_t n;                   // 0: it is basic
    const mlt_type *const *type; // [n]
    const int64_t *length;       // NULL: one of each; a single type: as often as it fits
    const mlt_type *two[2];      // room for a pair's
} parts;

static void split_pair(const mlt_type *pair, parts *p)
{
    static const MPI_Datatype all[][3] = {
        {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
        {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
        {MPI_LONG_INT, MPI_LONG, MPI_INT},
        {MPI_2INT, MPI_INT, MPI_INT},
        {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
        {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
        {MPI_2REAL, MPI_REAL, MPI_REAL},
        {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
        {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
    };
    size_t i = 0;
    while ((uintptr_t)all[i][0] != pair->code)
        mlt_assert(++i < sizeof all / sizeof *all);
    for (int k = 0; k < 2; k++)
        p->two[k] = &mlt_type_predefined[(uintptr_t)all[i][1 + k] % 1024];
    p->n = 2;
    p->type = p->two;
}

static void split(const mlt_type *type, parts *p)
{
    p->n = 0;
    p->length = NULL;
    if (type->code) {
        if (mlt_type_is_pair(type))
            split_pair(type, p);
        return;
    }
    const mlt_contents *c = &mlt_dtype_of(type)->contents;
    p->n = c->types;
    p->type = c->type;
    if (c->combiner == MPI_COMBINER_STRUCT)
        p->length = c->number + 1;
    else if (c->types == 0) // one of Fortran's: the named type that it is
        p->n = 1;
}

static bool is_basic(const mlt_type *type)
{
    return type->code && !mlt_type_is_pair(type);
}

int64_t mlt_signature_count(const mlt_type *type, uint64_t bytes)
{
    uint64_t count = 0;
    if (bytes > 0 && type->size == 0)
        return -1;
    while (bytes > 0) {
        parts p;
        count += bytes / type->size * mlt_type_basics(type);
        bytes %= type->size;
        if (bytes == 0)
            break;
        if (is_basic(type))
            return -1;
        split(type, &p);
        int64_t i = 0;
        for (; p.n > 1 || p.length; i++) { // the part where the bytes end
            uint64_t n = p.length ? (uint64_t)p.length[i] : 1;
            if (bytes <= n * p.type[i]->size)
                break;
            bytes -= n * p.type[i]->size;
            count += n * mlt_type_basics(p.type[i]);
        }
        type = p.type[i];
    }
    return (int64_t)count;
}

void mlt_signature_walk(const mlt_type *type, uint64_t count, mlt_signature_run *run, void *user)
{
    parts p;
    while (count > 0 && type->size > 0 && !is_basic(type)) {
        split(type, &p);
        if (p.n == 1) { // no recursion for what is nested only
            count *= p.length ? (uint64_t)p.length[0] : type->size / p.type[0]->size;
            type = p.type[0];
            continue;
        }
        for (uint64_t k = 0; k < count; k++)
            for (int64_t i = 0; i < p.n; i++)
                mlt_signature_walk(p.type[i], p.length ? (uint64_t)p.length[i] : 1, run, user);
        return;
    }
    if (count > 0 && type->size > 0)
        run(user, type, count);
}
