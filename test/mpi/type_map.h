// SPDX-License-Identifier: BSD-3-Clause
//
// Datatypes together with a naive reference: every constructor of MPI here also writes out, from
// its arguments alone, the whole type map, entry by entry, and the bounds, as the standard defines
// them.

#pragma once

#include <limits.h>
#include <stdalign.h>
#include <stdbool.h>

#include "check.h"

enum { MOST_DIMS = 3, MOST_PARTS = 12 };

struct kind {
    MPI_Datatype type;
    int size, align;
};

// A basic type by its number.
static inline struct kind kind_of(int k)
{
    const struct kind all[] = {
        {MPI_CHAR, 1, 1},
        {MPI_SHORT, sizeof(short), alignof(short)},
        {MPI_INT, sizeof(int), alignof(int)},
        {MPI_DOUBLE, sizeof(double), alignof(double)},
        {MPI_FLOAT, sizeof(float), alignof(float)},
        {MPI_LONG_DOUBLE, sizeof(long double), alignof(long double)},
        {MPI_INT64_T, 8, alignof(int64_t)},
    };
    return all[k];
}

enum { CHAR_KIND, SHORT_KIND, INT_KIND, DOUBLE_KIND, FLOAT_KIND, LONG_DOUBLE_KIND, KINDS = 7 };

struct entry {
    int kind;
    long at;
};

struct map {
    struct entry *entry;
    long n, room;
    long lb, ub;
    bool bounds;  // some part was resized: only such parts count
    bool derived; // the type must be freed
    MPI_Datatype type;
};

static inline struct map map_empty(void)
{
    struct map m = {.lb = LONG_MAX, .ub = LONG_MIN, .type = MPI_DATATYPE_NULL, .derived = true};
    return m;
}

static inline void map_entry(struct map *m, int kind, long at)
{
    if (m->n == m->room) {
        m->room = m->room ? 2 * m->room : 16;
        m->entry = realloc(m->entry, (size_t)m->room * sizeof *m->entry);
        CHECK(m->entry != NULL);
    }
    m->entry[m->n++] = (struct entry){kind, at};
}

static inline long map_extent(const struct map *m)
{
    return m->ub - m->lb;
}

// A copy of a map, moved by `at` bytes, is part of another.
static inline void map_add(struct map *m, const struct map *part, long at)
{
    for (long i = 0; i < part->n; i++)
        map_entry(m, part->entry[i].kind, part->entry[i].at + at);
    if (part->bounds && !m->bounds) { // from now on only such parts count
        m->bounds = true;
        m->lb = LONG_MAX;
        m->ub = LONG_MIN;
    }
    if (part->bounds != m->bounds || (part->n == 0 && !part->bounds))
        return;
    m->lb = part->lb + at < m->lb ? part->lb + at : m->lb;
    m->ub = part->ub + at > m->ub ? part->ub + at : m->ub;
}

// The first byte of the data and the one behind the last; both 0 if there is none.
static inline void map_span(const struct map *m, long *first, long *end)
{
    *first = m->n ? LONG_MAX : 0;
    *end = m->n ? LONG_MIN : 0;
    for (long i = 0; i < m->n; i++) {
        long at = m->entry[i].at, size = kind_of(m->entry[i].kind).size;
        *first = at < *first ? at : *first;
        *end = at + size > *end ? at + size : *end;
    }
}

static inline long map_bytes(const struct map *m)
{
    long sum = 0;
    for (long i = 0; i < m->n; i++)
        sum += kind_of(m->entry[i].kind).size;
    return sum;
}

// All parts are there. What a struct has for alignment is part of its extent.
static inline void map_close(struct map *m, bool rounded)
{
    int align = 1;
    if (m->lb > m->ub && !m->bounds)
        m->lb = m->ub = 0;
    for (long i = 0; i < m->n; i++)
        if (kind_of(m->entry[i].kind).align > align)
            align = kind_of(m->entry[i].kind).align;
    if (rounded && !m->bounds)
        m->ub += (align - map_extent(m) % align) % align;
}

// MPICH forgets the bounds of parts, and rounds those of other types than structs: where it runs
// these tests, its bounds are taken as they are, and the data is compared.
static inline struct map map_made(struct map m)
{
    MPI_Aint lb = 0, extent = 0;
    if (STRICT)
        return m;
    CHECK_OK(MPI_Type_get_extent(m.type, &lb, &extent));
    m.lb = lb;
    m.ub = lb + extent;
    return m;
}

static inline struct map map_basic(int kind)
{
    struct map m = map_empty();
    map_entry(&m, kind, 0);
    m.lb = 0;
    m.ub = kind_of(kind).size;
    m.type = kind_of(kind).type;
    m.derived = false;
    return m;
}

// A predefined pair of a value and an int.
static inline struct map map_pair(MPI_Datatype type, int kind)
{
    struct map m = map_empty();
    int size = kind_of(kind).size;
    map_entry(&m, kind, 0);
    map_entry(&m, INT_KIND, size < (int)alignof(int) ? (long)alignof(int) : size);
    map_span(&m, &m.lb, &m.ub);
    map_close(&m, true);
    m.type = type;
    m.derived = false;
    return m;
}

static inline void map_free(struct map *m)
{
    if (m->derived && m->type != MPI_DATATYPE_NULL)
        CHECK_OK(MPI_Type_free(&m->type));
    free(m->entry);
    m->entry = NULL;
}

// ---- constructors; `large`: by the _c function. The old type may be freed at once.

static inline struct map map_vector(const struct map *old, int count, int length, long stride,
                                    bool bytes, bool large)
{
    struct map m = map_empty();
    long step = bytes ? stride : stride * map_extent(old);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < length; k++)
            map_add(&m, old, i * step + k * map_extent(old));
    map_close(&m, false);
    if (bytes && large)
        CHECK_OK(MPI_Type_create_hvector_c(count, length, stride, old->type, &m.type));
    else if (bytes)
        CHECK_OK(MPI_Type_create_hvector(count, length, stride, old->type, &m.type));
    else if (large)
        CHECK_OK(MPI_Type_vector_c(count, length, stride, old->type, &m.type));
    else
        CHECK_OK(MPI_Type_vector(count, length, (int)stride, old->type, &m.type));
    return map_made(m);
}

static inline struct map map_contiguous(const struct map *old, int count, bool large)
{
    struct map m = map_empty();
    for (int k = 0; k < count; k++)
        map_add(&m, old, k * map_extent(old));
    map_close(&m, false);
    if (large)
        CHECK_OK(MPI_Type_contiguous_c(count, old->type, &m.type));
    else
        CHECK_OK(MPI_Type_contiguous(count, old->type, &m.type));
    return map_made(m);
}

// lengths NULL: `length` each, by an indexed_block function.
static inline struct map map_indexed(const struct map *old, int count, const int *lengths,
                                     int length, const long *at, bool bytes, bool large)
{
    struct map m = map_empty();
    int small_at[MOST_PARTS];
    MPI_Aint addresses[MOST_PARTS];
    MPI_Count large_at[MOST_PARTS], large_lengths[MOST_PARTS];
    for (int i = 0; i < count; i++) {
        int n = lengths ? lengths[i] : length;
        for (int k = 0; k < n; k++)
            map_add(&m, old, (bytes ? at[i] : at[i] * map_extent(old)) + k * map_extent(old));
        small_at[i] = (int)at[i];
        addresses[i] = large_at[i] = at[i];
        large_lengths[i] = n;
    }
    map_close(&m, false);
    if (lengths && bytes && large)
        CHECK_OK(MPI_Type_create_hindexed_c(count, large_lengths, large_at, old->type, &m.type));
    else if (lengths && bytes)
        CHECK_OK(MPI_Type_create_hindexed(count, lengths, addresses, old->type, &m.type));
    else if (lengths && large)
        CHECK_OK(MPI_Type_indexed_c(count, large_lengths, large_at, old->type, &m.type));
    else if (lengths)
        CHECK_OK(MPI_Type_indexed(count, lengths, small_at, old->type, &m.type));
    else if (bytes && large)
        CHECK_OK(MPI_Type_create_hindexed_block_c(count, length, large_at, old->type, &m.type));
    else if (bytes)
        CHECK_OK(MPI_Type_create_hindexed_block(count, length, addresses, old->type, &m.type));
    else if (large)
        CHECK_OK(MPI_Type_create_indexed_block_c(count, length, large_at, old->type, &m.type));
    else
        CHECK_OK(MPI_Type_create_indexed_block(count, length, small_at, old->type, &m.type));
    return map_made(m);
}

static inline struct map map_struct(int count, const int *lengths, const long *at,
                                    const struct map *const *parts, bool large)
{
    struct map m = map_empty();
    MPI_Aint addresses[MOST_PARTS];
    MPI_Count large_at[MOST_PARTS], large_lengths[MOST_PARTS];
    MPI_Datatype types[MOST_PARTS];
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < lengths[i]; k++)
            map_add(&m, parts[i], at[i] + k * map_extent(parts[i]));
        types[i] = parts[i]->type;
        addresses[i] = large_at[i] = at[i];
        large_lengths[i] = lengths[i];
    }
    map_close(&m, true);
    if (large)
        CHECK_OK(MPI_Type_create_struct_c(count, large_lengths, large_at, types, &m.type));
    else
        CHECK_OK(MPI_Type_create_struct(count, lengths, addresses, types, &m.type));
    return map_made(m);
}

static inline struct map map_resized(const struct map *old, long lb, long extent, bool large)
{
    struct map m = map_empty();
    map_add(&m, old, 0);
    m.lb = lb;
    m.ub = lb + extent;
    m.bounds = true;
    if (large)
        CHECK_OK(MPI_Type_create_resized_c(old->type, lb, extent, &m.type));
    else
        CHECK_OK(MPI_Type_create_resized(old->type, lb, extent, &m.type));
    return map_made(m);
}

static inline struct map map_dup(const struct map *old)
{
    struct map m = map_empty();
    map_add(&m, old, 0);
    m.lb = old->lb;
    m.ub = old->ub;
    CHECK_OK(MPI_Type_dup(old->type, &m.type));
    return map_made(m);
}

// One dimension of an array, and what is taken of it: a part, or the share of a process.
struct dim {
    int size;
    int start, count;                             // subarray
    int distribution, arg, processes, coordinate; // darray
    int block;                                    // elements of a block as the default arg means it
};

static inline bool dim_has(const struct dim *d, bool darray, int index)
{
    if (!darray)
        return index >= d->start && index < d->start + d->count;
    return d->distribution == MPI_DISTRIBUTE_NONE ||
           index / d->block % d->processes == d->coordinate;
}

// Looks at every element of the array, in the order of memory.
static inline struct map map_of_array(const struct map *old, int ndims, const struct dim *dims,
                                      int order, bool darray)
{
    struct map m = map_empty();
    long total = 1;
    for (int i = 0; i < ndims; i++)
        total *= dims[i].size;
    for (long at = 0; at < total; at++) {
        long rest = at;
        bool has = true;
        for (int i = 0; i < ndims; i++) { // the fastest dimension first
            const struct dim *d = &dims[order == MPI_ORDER_C ? ndims - 1 - i : i];
            has = has && dim_has(d, darray, (int)(rest % d->size));
            rest /= d->size;
        }
        if (has)
            map_add(&m, old, at * map_extent(old));
    }
    m.lb = 0;
    m.ub = total * map_extent(old);
    m.bounds = true;
    return m;
}

static inline struct map map_subarray(const struct map *old, int ndims, const struct dim *dims,
                                      int order, bool large)
{
    struct map m = map_of_array(old, ndims, dims, order, false);
    int sizes[MOST_DIMS], counts[MOST_DIMS], starts[MOST_DIMS];
    MPI_Count large_sizes[MOST_DIMS], large_counts[MOST_DIMS], large_starts[MOST_DIMS];
    for (int i = 0; i < ndims; i++) {
        large_sizes[i] = sizes[i] = dims[i].size;
        large_counts[i] = counts[i] = dims[i].count;
        large_starts[i] = starts[i] = dims[i].start;
    }
    if (large)
        CHECK_OK(MPI_Type_create_subarray_c(ndims, large_sizes, large_counts, large_starts, order,
                                            old->type, &m.type));
    else
        CHECK_OK(MPI_Type_create_subarray(ndims, sizes, counts, starts, order, old->type, &m.type));
    return map_made(m);
}

static inline struct map map_darray(const struct map *old, int ndims, const struct dim *dims,
                                    int order, bool large)
{
    struct map m = map_of_array(old, ndims, dims, order, true);
    int sizes[MOST_DIMS], distribs[MOST_DIMS], args[MOST_DIMS], processes[MOST_DIMS];
    int size = 1, rank = 0;
    MPI_Count large_sizes[MOST_DIMS];
    for (int i = 0; i < ndims; i++) {
        large_sizes[i] = sizes[i] = dims[i].size;
        distribs[i] = dims[i].distribution;
        args[i] = dims[i].arg;
        processes[i] = dims[i].processes;
        size *= processes[i];
        rank = rank * processes[i] + dims[i].coordinate;
    }
    if (large)
        CHECK_OK(MPI_Type_create_darray_c(size, rank, ndims, large_sizes, distribs, args, processes,
                                          order, old->type, &m.type));
    else
        CHECK_OK(MPI_Type_create_darray(size, rank, ndims, sizes, distribs, args, processes, order,
                                        old->type, &m.type));
    return map_made(m);
}

// ---- comparing

// Size, bounds and true bounds are those of the map.
static inline void map_check(const struct map *m)
{
    MPI_Count size = -1, lb = -1, extent = -1, first = -1, span = -1;
    long want_first, want_end;
    map_span(m, &want_first, &want_end);
    CHECK_OK(MPI_Type_size_c(m->type, &size));
    CHECK_OK(MPI_Type_get_extent_c(m->type, &lb, &extent));
    CHECK_OK(MPI_Type_get_true_extent_c(m->type, &first, &span));
    CHECK_INT(size, map_bytes(m));
    CHECK_INT(lb, m->lb);
    CHECK_INT(extent, map_extent(m));
    if (m->n > 0) {
        CHECK_INT(first, want_first);
        CHECK_INT(span, want_end - want_first);
    }
}

// `count` elements at `buf`, packed, one entry after the other; and back.
static inline void map_pack(const struct map *m, int count, const char *buf, char *packed)
{
    for (int i = 0; i < count; i++)
        for (long k = 0; k < m->n; k++) {
            int size = kind_of(m->entry[k].kind).size;
            memcpy(packed, buf + i * map_extent(m) + m->entry[k].at, (size_t)size);
            packed += size;
        }
}

// Only the first `bytes` bytes, which may end inside an entry.
static inline void map_unpack(const struct map *m, int count, char *buf, const char *packed,
                              long bytes)
{
    for (int i = 0; i < count; i++)
        for (long k = 0; k < m->n && bytes > 0; k++) {
            long size = kind_of(m->entry[k].kind).size;
            memcpy(buf + i * map_extent(m) + m->entry[k].at, packed,
                   (size_t)(size < bytes ? size : bytes));
            packed += size;
            bytes -= size;
        }
}
