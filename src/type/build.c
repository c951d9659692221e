// SPDX-License-Identifier: BSD-3-Clause
// Derived types: bounds by MPI's rules here, where the data lies by layout.c.
#include "type/build.h"

#include <stdlib.h>

#include "base/log.h"
#include "type/layout_int.h"

// What a type map spans. Displacements are exact in 128 bits until the end: no product of two
// numbers of 63 bits and few such sums overflow there.
typedef __int128 build_wide;

typedef struct span {
    bool any;    // lb and ub mean something: there is data, or bounds were set
    bool sticky; // they were set
    bool data;   // the true ones mean something
    build_wide lb, ub, true_lb, true_ub;
    build_wide size;
    uint8_t align;
} span;

static span span_of(const mlt_type *type)
{
    return (span){.any = type->size > 0 || type->bounds,
                  .sticky = type->bounds,
                  .data = type->size > 0,
                  .lb = type->lb,
                  .ub = (build_wide)type->lb + type->extent,
                  .true_lb = type->true_lb,
                  .true_ub = (build_wide)type->true_lb + type->true_extent,
                  .size = (build_wide)type->size,
                  .align = type->align};
}

static bool fits(build_wide value)
{
    return value >= INT64_MIN && value <= INT64_MAX;
}

static bool span_fits(const span *s)
{
    return fits(s->size) && fits(s->lb) && fits(s->ub) && fits(s->ub - s->lb) && fits(s->true_lb) &&
           fits(s->true_ub) && fits(s->true_ub - s->true_lb);
}

// s, n times, stride bytes apart; false if it does not fit.
static bool span_repeat(span *s, int64_t n, int64_t stride)
{
    if (n == 0) {
        *s = (span){0};
        return true;
    }
    build_wide last = (build_wide)(n - 1) * stride, low = last < 0 ? last : 0,
               high = last > 0 ? last : 0;
    s->lb += low;
    s->true_lb += low;
    s->ub += high;
    s->true_ub += high;
    s->size *= n;
    return span_fits(s);
}

static build_wide build_least(build_wide a, build_wide b)
{
    return a < b ? a : b;
}

static build_wide most(build_wide a, build_wide b)
{
    return a > b ? a : b;
}

// Adds `part` at a displacement; false if the whole does not fit.
static bool span_add(span *s, span part, int64_t at)
{
    part.lb += at;
    part.ub += at;
    part.true_lb += at;
    part.true_ub += at;
    if (part.any && (!s->any || (part.sticky && !s->sticky))) {
        s->any = true;
        s->sticky = part.sticky;
        s->lb = part.lb;
        s->ub = part.ub;
    } else if (part.any && part.sticky == s->sticky) {
        s->lb = build_least(s->lb, part.lb);
        s->ub = most(s->ub, part.ub);
    }
    if (part.data) {
        s->true_lb = s->data ? build_least(s->true_lb, part.true_lb) : part.true_lb;
        s->true_ub = s->data ? most(s->true_ub, part.true_ub) : part.true_ub;
        s->data = true;
    }
    if (part.any)
        s->align = part.align > s->align ? part.align : s->align;
    s->size += part.size;
    return span_fits(s);
}

static piece piece_of(const mlt_type *type)
{
    const mlt_layout *layout = type->layout;
    if (layout && layout->kind == LAYOUT_BLOCK)
        return (piece){.at = layout->at, .size = type->size};
    mlt_layout_hold(layout);
    return (piece){.size = type->size, .child = layout};
}

// Fills *out in, unless that fails; takes over the piece.
static mlt_status finish(mlt_type *out, const span *s, piece data)
{
    const mlt_layout *layout;
    mlt_assert(data.size == (uint64_t)s->size);
    mlt_status status = mlt_layout_piece_finish(data, &layout);
    if (status != MLT_OK)
        return status;
    *out = (mlt_type){.magic = MLT_TYPE_MAGIC,
                      .bounds = s->sticky,
                      .align = (uint8_t)(s->align & 15),
                      .size = (uint64_t)s->size,
                      .layout = layout};
    if (s->any) {
        out->lb = (int64_t)s->lb;
        out->extent = (int64_t)(s->ub - s->lb);
    }
    if (s->data) {
        out->true_lb = (int64_t)s->true_lb;
        out->true_extent = (int64_t)(s->true_ub - s->true_lb);
    }
    out->contiguous = !layout && (int64_t)out->size == out->extent;
    return MLT_OK;
}

mlt_status mlt_type_make_vector(mlt_type *out, const mlt_type *old, int64_t count, int64_t length,
                                int64_t stride)
{
    mlt_assert(count >= 0 && length >= 0);
    span s = span_of(old);
    if (!span_repeat(&s, length, old->extent) || !span_repeat(&s, count, stride))
        return MLT_ERR_INVALID;
    piece data = piece_of(old);
    mlt_status status = mlt_layout_piece_repeat(&data, (uint64_t)length, old->extent);
    if (status == MLT_OK)
        status = mlt_layout_piece_repeat(&data, (uint64_t)count, stride);
    return status == MLT_OK ? finish(out, &s, data) : status;
}

// ---- several blocks

// A block of some elements, kept while the next ones are the same: equal parts then have one
// layout, and the list of them needs no more than offsets.
typedef struct maker {
    const mlt_type *type;
    int64_t length;
    piece data;
    span bounds;
} maker;

static mlt_status maker_set(maker *m, const mlt_type *type, int64_t length)
{
    mlt_assert(length >= 0);
    if (m->type == type && m->length == length)
        return MLT_OK;
    mlt_layout_drop(m->data.child);
    *m = (maker){.type = type, .length = length, .bounds = span_of(type)};
    if (!span_repeat(&m->bounds, length, type->extent)) {
        m->type = NULL;
        return MLT_ERR_INVALID;
    }
    m->data = piece_of(type);
    mlt_status status = mlt_layout_piece_repeat(&m->data, (uint64_t)length, type->extent);
    if (status != MLT_OK)
        m->type = NULL, m->data = (piece){0};
    return status;
}

// Either `types` gives each block its type or `one` is that of all; likewise lengths and length.
typedef struct parts {
    int64_t count, length;
    const int64_t *lengths, *displacements;
    const mlt_type *one, *const *types;
} parts;

static mlt_status collect(const parts *p, span *s, piece *pieces, uint64_t *n)
{
    maker m = {0};
    mlt_status status = MLT_OK;
    for (int64_t i = 0; i < p->count && status == MLT_OK; i++) {
        status =
            maker_set(&m, p->types ? p->types[i] : p->one, p->lengths ? p->lengths[i] : p->length);
        if (status == MLT_OK && !span_add(s, m.bounds, p->displacements[i]))
            status = MLT_ERR_INVALID;
        if (status != MLT_OK || m.data.size == 0)
            continue;
        mlt_layout_hold(m.data.child);
        pieces[*n] = m.data;
        pieces[*n].at = add_wrapping(m.data.at, p->displacements[i]);
        ++*n;
    }
    mlt_layout_drop(m.data.child);
    return status;
}

static mlt_status make_parts(mlt_type *out, const parts *p, bool rounded)
{
    span s = {0};
    uint64_t n = 0;
    piece *pieces = NULL, data;
    if (p->count && !(pieces = calloc((size_t)p->count, sizeof *pieces)))
        return MLT_ERR_NO_MEMORY;
    mlt_status status = collect(p, &s, pieces, &n);
    if (status == MLT_OK && rounded && s.any && !s.sticky) {
        build_wide unit = (build_wide)1 << s.align, over = (s.ub - s.lb) % unit;
        s.ub += over ? unit - over : 0;
        status = span_fits(&s) ? MLT_OK : MLT_ERR_INVALID;
    }
    if (status == MLT_OK) {
        status = mlt_layout_piece_join(&data, pieces, n);
    } else {
        for (uint64_t i = 0; i < n; i++)
            mlt_layout_drop(pieces[i].child);
    }
    free(pieces);
    return status == MLT_OK ? finish(out, &s, data) : status;
}

mlt_status mlt_type_make_indexed(mlt_type *out, const mlt_type *old, int64_t count,
                                 const int64_t *lengths, int64_t length,
                                 const int64_t *displacements)
{
    mlt_assert(count >= 0);
    parts p = {.count = count,
               .length = length,
               .lengths = lengths,
               .displacements = displacements,
               .one = old};
    return make_parts(out, &p, false);
}

mlt_status mlt_type_make_struct(mlt_type *out, int64_t count, const int64_t *lengths,
                                const int64_t *displacements, const mlt_type *const *types)
{
    mlt_assert(count >= 0);
    parts p = {.count = count, .lengths = lengths, .displacements = displacements, .types = types};
    return make_parts(out, &p, true);
}

// ---- the same data

mlt_status mlt_type_make_resized(mlt_type *out, const mlt_type *old, int64_t lb, int64_t extent)
{
    if (!fits((build_wide)lb + extent))
        return MLT_ERR_INVALID;
    mlt_type_make_dup(out, old);
    out->lb = lb;
    out->extent = extent;
    out->bounds = true;
    out->contiguous = !out->layout && (int64_t)out->size == extent;
    return MLT_OK;
}

void mlt_type_make_dup(mlt_type *out, const mlt_type *old)
{
    const mlt_type copy = *old; // out may be old
    mlt_layout_hold(copy.layout);
    *out = copy;
    out->code = 0;
    out->committed = 0;
    out->name = NULL;
}

void mlt_type_unmake(mlt_type *type)
{
    mlt_layout_drop(type->layout);
    type->layout = NULL;
}
