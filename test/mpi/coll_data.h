// SPDX-License-Identifier: BSD-3-Clause
//
// The naive reference of the collectives' tests: what every rank sends is computed from (call,
// source, destination, index), so every rank knows what it must receive without asking anybody.
//
// A buffer is an area: the bytes, and the bytes wanted after the call. Both start as the same
// poison, with a margin on either side; the units of a datatype are written into one or the other.
// One comparison of the whole then sees wrong data, data at a wrong place, and touched gaps.

#pragma once

#include <stddef.h>

#include "coll_forms.h"

// Datatypes by what one item of them is: units (predefined items) at offsets.
enum coll_layout {
    L_BYTE,
    L_INT,
    L_DOUBLE,
    L_PAIR,     // two ints
    L_VECTOR,   // two ints with a gap between them
    L_NEGATIVE, // an int below the buffer's address and one above: a negative lower bound
    L_RESIZED,  // a gap before, between and after
    L_REVERSED, // the second unit lies before the first
    L_STRUCT,   // int, double, char
    COLL_LAYOUTS,
    L_FIRST_INTS = L_PAIR, // from here to L_LAST_INTS, and L_INT: ints only, so they fit together
    L_LAST_INTS = L_REVERSED
};

enum { COLL_UNITS = 3, COLL_MARGIN = 64, COLL_POISON = 0xA5 };

struct layout {
    const char *name;
    MPI_Datatype type;
    int units; // of an item
    int offset[COLL_UNITS], bytes[COLL_UNITS];
    int lb, extent;
};

static inline struct layout layout_of(enum coll_layout which)
{
    static const struct layout table[COLL_LAYOUTS] = {
        [L_BYTE] = {.name = "byte", .units = 1, .offset = {0}, .bytes = {1}, .extent = 1},
        [L_INT] = {.name = "int", .units = 1, .offset = {0}, .bytes = {4}, .extent = 4},
        [L_DOUBLE] = {.name = "double", .units = 1, .offset = {0}, .bytes = {8}, .extent = 8},
        [L_PAIR] = {.name = "pair", .units = 2, .offset = {0, 4}, .bytes = {4, 4}, .extent = 8},
        [L_VECTOR] = {"vector", MPI_DATATYPE_NULL, 2, {0, 8}, {4, 4}, 0, 12},
        [L_NEGATIVE] = {"negative", MPI_DATATYPE_NULL, 2, {-8, 4}, {4, 4}, -8, 16},
        [L_RESIZED] = {"resized", MPI_DATATYPE_NULL, 2, {0, 8}, {4, 4}, -4, 20},
        [L_REVERSED] = {"reversed", MPI_DATATYPE_NULL, 2, {8, 0}, {4, 4}, 0, 12},
        [L_STRUCT] = {"struct", MPI_DATATYPE_NULL, 3, {0, 8, 20}, {4, 8, 1}, 0, 24},
    };
    struct layout l = table[which];
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    const int ones[] = {1, 1, 1}, ints[] = {2, 0};
    const MPI_Aint at[] = {0, 8, 20}, around[] = {-8, 4};
    MPI_Datatype inner;
    switch (which) {
    case L_BYTE:
        CHECK_OK(MPI_Type_dup(MPI_BYTE, &l.type));
        return l;
    case L_INT:
        CHECK_OK(MPI_Type_dup(MPI_INT, &l.type));
        return l;
    case L_DOUBLE:
        CHECK_OK(MPI_Type_dup(MPI_DOUBLE, &l.type));
        return l;
    case L_PAIR:
        CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &l.type));
        break;
    case L_VECTOR:
        CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &l.type));
        break;
    case L_NEGATIVE:
        CHECK_OK(MPI_Type_create_hindexed(2, ones, around, MPI_INT, &l.type));
        break;
    case L_RESIZED:
        CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
        CHECK_OK(MPI_Type_create_resized(inner, -4, 20, &l.type));
        CHECK_OK(MPI_Type_free(&inner));
        break;
    case L_REVERSED:
        CHECK_OK(MPI_Type_indexed(2, ones, ints, MPI_INT, &l.type));
        break;
    default:
        CHECK_OK(MPI_Type_create_struct(3, ones, at, types, &inner));
        CHECK_OK(MPI_Type_create_resized(inner, 0, 24, &l.type));
        CHECK_OK(MPI_Type_free(&inner));
    }
    CHECK_OK(MPI_Type_commit(&l.type));
    return l;
}

// A predefined type itself, where operations want it.
static inline struct layout layout_predefined(enum coll_layout which)
{
    struct layout l = layout_of(which);
    CHECK_OK(MPI_Type_free(&l.type));
    l.type = which == L_BYTE ? MPI_BYTE : which == L_INT ? MPI_INT : MPI_DOUBLE;
    return l;
}

struct area {
    unsigned char *memory, *want; // NULL: no such buffer
    size_t size;
    ptrdiff_t origin; // of the address that MPI gets
};

// Room for so many items.
static inline void area_init(struct area *a, const struct layout *l, MPI_Count items)
{
    a->size = (size_t)(items * l->extent) + 2 * COLL_MARGIN;
    a->origin = COLL_MARGIN - l->lb;
    a->memory = must_alloc(a->size);
    a->want = must_alloc(a->size);
}

static inline void area_fini(struct area *a)
{
    free(a->memory);
    free(a->want);
    *a = (struct area){0};
}

static inline void area_poison(struct area *a)
{
    if (a->memory)
        memset(a->memory, COLL_POISON, a->size);
}

// What is in the area now is what should be there afterwards, but for what is put into `want`.
static inline void area_expect(struct area *a)
{
    if (a->memory)
        memcpy(a->want, a->memory, a->size);
}

static inline unsigned char *area_base(const struct area *a)
{
    return a->memory ? a->memory + a->origin : NULL;
}

static inline unsigned char *area_wanted(const struct area *a)
{
    return a->want ? a->want + a->origin : NULL;
}

// The first byte that is not as wanted, from the address that MPI got; or 1 << 60.
static inline long long area_fault(const struct area *a)
{
    if (!a->memory || memcmp(a->memory, a->want, a->size) == 0)
        return 1LL << 60;
    size_t i = 0;
    while (a->memory[i] == a->want[i])
        i++;
    return (long long)i - a->origin;
}

static inline uint64_t coll_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t coll_key(unsigned call, int source, int dest)
{
    return coll_mix(((uint64_t)call << 40) ^ ((uint64_t)(source + 2) << 20) ^ (uint64_t)(dest + 2));
}

// Unit k of what a source sends to a destination.
static inline uint64_t coll_value(uint64_t key, uint64_t k)
{
    uint64_t z = (key + k) * 0x9e3779b97f4a7c15u;
    return z ^ (z >> 32);
}

static inline unsigned char *unit_at(unsigned char *base, const struct layout *l, MPI_Count item,
                                     MPI_Count k)
{
    return base + (item + k / l->units) * l->extent + l->offset[k % l->units];
}

// Writes units 0, 1, ... of a message from the given item on.
static inline void coll_put(unsigned char *base, const struct layout *l, MPI_Count item,
                            MPI_Count units, uint64_t key)
{
    for (MPI_Count k = 0; k < units; k++) {
        uint64_t value = coll_value(key, (uint64_t)k);
        memcpy(unit_at(base, l, item, k), &value, (size_t)l->bytes[k % l->units]);
    }
}

// Reductions whose results do not depend on the brackets, so that the reference is exact.
enum reduction {
    SUM_INT,     // MPI_SUM, small ints
    SUM_DOUBLE,  // MPI_SUM, small whole numbers
    WRAP,        // a user's commutative operation
    AFFINE,      // a user's operation that does not commute, on L_PAIR
    AFFINE_GAPS, // the same on L_NEGATIVE
    REDUCTIONS
};

static inline enum coll_layout reduction_layout(enum reduction r)
{
    static const enum coll_layout of[REDUCTIONS] = {L_INT, L_DOUBLE, L_INT, L_PAIR, L_NEGATIVE};
    return of[r];
}

// An int in memory of any alignment, as a number modulo 2^32.
static inline uint32_t word_get(const unsigned char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline void word_set(unsigned char *p, uint32_t word)
{
    memcpy(p, &word, sizeof word);
}

static inline void wrap_op(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++) {
        unsigned char *out = (unsigned char *)inout + 4 * i;
        word_set(out, word_get(out) + word_get((unsigned char *)in + 4 * i) + 1);
    }
}

// x -> a x + b, first that of `in`, then that of `inout`: it does not commute.
static inline void affine_pairs(unsigned char *in, unsigned char *inout, int len, int low, int high,
                                int extent)
{
    for (int i = 0; i < len; i++) {
        unsigned char *x = in + (ptrdiff_t)i * extent, *y = inout + (ptrdiff_t)i * extent;
        uint32_t a = word_get(x + low), b = word_get(x + high);
        uint32_t c = word_get(y + low), d = word_get(y + high);
        word_set(y + low, a * c);
        word_set(y + high, b * c + d);
    }
}

static inline void affine_op(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    affine_pairs(in, inout, *len, 0, 4, 8);
}

static inline void affine_gaps_op(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    affine_pairs(in, inout, *len, -8, 4, 16);
}

static inline MPI_Op reduction_op(enum reduction r)
{
    static MPI_User_function *const functions[REDUCTIONS] = {
        [WRAP] = wrap_op, [AFFINE] = affine_op, [AFFINE_GAPS] = affine_gaps_op};
    MPI_Op op = MPI_SUM;
    if (functions[r])
        CHECK_OK(MPI_Op_create(functions[r], r == WRAP, &op));
    return op;
}

// One unit, or pair of units, of the reduction of sources [from, to), from unit k on.
static inline void reduction_word(enum reduction r, unsigned call, int from, int to, uint64_t k,
                                  uint32_t out[2])
{
    out[0] = out[1] = 0;
    for (int source = from; source < to; source++) {
        uint64_t key = coll_key(call, source, -1);
        uint32_t x = (uint32_t)coll_value(key, k), y;
        switch (r) {
        case WRAP:
            out[0] += x + (source > from);
            break;
        case AFFINE:
        case AFFINE_GAPS:
            x |= 1;
            y = (uint32_t)coll_value(key, k + 1);
            out[1] = source == from ? y : out[1] * x + y;
            out[0] = source == from ? x : out[0] * x;
            break;
        default:
            out[0] += x & 0xfffff;
        }
    }
}

// Writes the reduction of sources [from, to), units first, first + 1, ...; of one source: its
// contribution.
static inline void coll_put_reduction(unsigned char *base, const struct layout *l, MPI_Count units,
                                      MPI_Count first, enum reduction r, unsigned call, int from,
                                      int to)
{
    uint32_t words[2];
    for (MPI_Count k = 0; k < units; k += l->units) {
        reduction_word(r, call, from, to, (uint64_t)(first + k), words);
        if (r == SUM_DOUBLE) {
            double number = words[0];
            memcpy(unit_at(base, l, 0, k), &number, sizeof number);
            continue;
        }
        for (int u = 0; u < l->units; u++)
            word_set(unit_at(base, l, 0, k + u), words[u]);
    }
}
