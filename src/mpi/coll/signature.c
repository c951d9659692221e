// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/signature.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/log.h"
#include "mpi/type/dtype.h"

// A type is made of one or more others, one after the other.
typedef struct parts {
    int64_t n;                   // 0: it is basic
    const mlt_type *const *type; // [n]
    const int64_t *length;       // NULL: one of each; a single type: as often as it fits
    const mlt_type *two[2];      // room for a pair's
} parts;

static void split_pair(const mlt_type *pair, parts *p)
{
    mlt_dtype_pair(pair->code, p->two);
    p->n = 2;
    p->type = p->two;
}

static void signature_split(const mlt_type *type, parts *p)
{
    p->n = 0;
    p->length = NULL;
    if (type->code) {
        if (mlt_type_is_pair(type))
            split_pair(type, p);
        return;
    }
    const mlt_contents *c = &mlt_dtype_of(type)->contents;
    p->n = c->type_count;
    p->type = c->type;
    if (c->combiner == MPI_COMBINER_STRUCT)
        p->length = c->number + 1;
    else if (c->type_count == 0) // one of Fortran's: the named type that it is
        p->n = 1;
}

static bool is_basic(const mlt_type *type)
{
    return type->code && !mlt_type_is_pair(type);
}

uint16_t mlt_type_kind_of(const mlt_type *type)
{
    parts p;
    uint16_t kind = 0;
    for (;;) {
        if (is_basic(type))
            return type->code == (uintptr_t)MPI_PACKED ? 0 : type->code;
        signature_split(type, &p);
        if (p.n != 1)
            break;
        type = p.type[0];
    }
    for (int64_t i = 0; i < p.n; i++) {
        if (!is_basic(p.type[i]) || (kind && p.type[i]->code != kind))
            return 0;
        kind = p.type[i]->code;
    }
    return kind == (uintptr_t)MPI_PACKED ? 0 : kind;
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
        signature_split(type, &p);
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

uint64_t mlt_signature_bytes(const mlt_type *type, uint64_t basics)
{
    uint64_t bytes = 0;
    mlt_assert(basics == 0 || type->size > 0);
    while (basics > 0) {
        parts p;
        uint64_t each = mlt_type_basics(type);
        bytes += basics / each * type->size;
        basics %= each;
        if (basics == 0)
            break;
        signature_split(type, &p);
        int64_t i = 0;
        for (; p.n > 1 || p.length; i++) { // the part where they end
            uint64_t n = (p.length ? (uint64_t)p.length[i] : 1) * mlt_type_basics(p.type[i]);
            if (basics <= n)
                break;
            basics -= n;
            bytes += (p.length ? (uint64_t)p.length[i] : 1) * p.type[i]->size;
        }
        type = p.type[i];
    }
    return bytes;
}

// ---- walking

// A type with several parts that the walk is inside of.
typedef struct level {
    const mlt_type *type;
    uint64_t left; // elements of it, this one included
    int64_t next;  // part of this one
} level;

// Structs nest without limit, and a fiber's stack is small: only the first levels are on it.
enum { FEW = 16 };
typedef struct signature_levels {
    level few[FEW], *deep;
    size_t n, room; // n: all; room: of `deep`
} signature_levels;

static level *level_at(signature_levels *l, size_t i)
{
    return i < FEW ? &l->few[i] : &l->deep[i - FEW];
}

static void push(signature_levels *l, const mlt_type *type, uint64_t count)
{
    if (l->n >= FEW)
        MLT_ARRAY_WANT(l->deep, l->n - FEW + 1, l->room);
    *level_at(l, l->n++) = (level){.type = type, .left = count};
}

// The next part of what the walk is inside of; false: it is through.
static bool next_part(signature_levels *l, const mlt_type **type, uint64_t *count)
{
    parts p;
    while (l->n > 0) {
        level *top = level_at(l, l->n - 1);
        signature_split(top->type, &p);
        if (top->next < p.n) {
            *type = p.type[top->next];
            *count = p.length ? (uint64_t)p.length[top->next] : 1;
            top->next++;
            return true;
        }
        top->next = 0;
        if (--top->left == 0)
            l->n--;
    }
    return false;
}

// A basic type, or a pair.
static void run_named(const mlt_type *type, uint64_t count, mlt_signature_run *run, void *user)
{
    parts p;
    if (is_basic(type)) {
        run(user, type, count);
        return;
    }
    signature_split(type, &p);
    for (uint64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < p.n; i++)
            run(user, p.type[i], 1);
}

void mlt_signature_walk(const mlt_type *type, uint64_t count, mlt_signature_run *run, void *user)
{
    parts p;
    signature_levels l;
    l.n = l.room = 0; // and `few` is as it is
    l.deep = NULL;
    do {
        if (type->size == 0)
            continue;
        while (count > 0 && !type->code) {
            signature_split(type, &p);
            if (p.n != 1)
                break;
            count *= p.length ? (uint64_t)p.length[0] : type->size / p.type[0]->size;
            type = p.type[0];
        }
        if (count > 0 && !type->code)
            push(&l, type, count);
        else if (count > 0)
            run_named(type, count, run, user);
    } while (next_part(&l, &type, &count));
    free(l.deep);
}
