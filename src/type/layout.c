// SPDX-License-Identifier: BSD-3-Clause
// Construction of layouts. Simplification happens here and only here: repeat() and join() see their
// parts already simplified, so looking at the top of each part suffices.
//
// Why the depth is bounded: a LOOP, LIST or EACH holds its child twice or more and so doubles the
// size, which has 63 bits. A SEQ at least doubles the size of its parts too, except that of a part
// with more than half of the data: if that is a SEQ and deep already, it is dissolved with all such
// parts inside of it. So depth(size) <= max(SPLICE_DEPTH, 2 + depth(size / 2)), below 160. A chain
// of sequences is then copied once in many links, not in each.
#include "type/layout.h"

#include <stdlib.h>
#include <string.h>

#include "type/layout_int.h"

enum {
    FLAT_MOST = 64,    // a sequence of so many blocks becomes one list
    NESTED_MOST = 16,  // a nest of loops inside a loop too
    SPLICE_MOST = 64,  // a sequence of so many items is dissolved in the one around it
    SPLICE_DEPTH = 32, // a deeper one if most of the data is in it
};

// ---- references

static mlt_layout *writable(const mlt_layout *layout)
{
    return (mlt_layout *)(uintptr_t)layout;
}

void mlt_layout_hold(const mlt_layout *layout)
{
    if (layout && layout->refs)
        writable(layout)->refs++;
}

void mlt_layout_drop(const mlt_layout *layout)
{
    if (!layout || !layout->refs || --writable(layout)->refs)
        return;
    if (layout->keeper) {
        mlt_layout_drop(layout->keeper);
    } else {
        mlt_layout_drop(layout->child);
        for (uint64_t i = 0; layout->children && i < layout->n; i++)
            mlt_layout_drop(layout->children[i]);
    }
    free(writable(layout));
}

// ---- pieces

static uint64_t blocks_of(const mlt_layout *layout)
{
    return layout ? layout->blocks : 1;
}

static uint8_t depth_of(const mlt_layout *layout)
{
    return layout ? layout->depth : 0;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static void drop_all(piece *pieces, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        mlt_layout_drop(pieces[i].child);
}

static mlt_layout *node_new(layout_kind kind, size_t extra)
{
    mlt_layout *node = malloc(sizeof *node + extra);
    if (node)
        *node = (mlt_layout){.refs = 1, .kind = (uint8_t)kind};
    return node;
}

// Appends a piece to out[0..n); a block that continues the last one becomes part of it.
static uint64_t append(piece *out, uint64_t n, piece p)
{
    if (p.size == 0)
        return n;
    piece *last = n ? &out[n - 1] : NULL;
    if (last && !last->child && !p.child && add_wrapping(last->at, (int64_t)last->size) == p.at) {
        last->size += p.size;
        return n;
    }
    out[n] = p;
    return n + 1;
}

static piece item_of(const mlt_layout *layout, uint64_t i)
{
    bool loop = layout->kind == LAYOUT_LOOP || layout->kind == LAYOUT_BLOCK;
    int64_t at = loop ? (int64_t)((uint64_t)layout->stride * i) : layout->offset[i];
    return (piece){.at = add_wrapping(layout->at, at),
                   .size =
                       layout->length ? layout->length : layout->before[i + 1] - layout->before[i],
                   .child = layout->children ? layout->children[i] : layout->child};
}

// Appends every block of a piece; blocks_of(p.child) <= the room.
static uint64_t append_blocks(piece *out, uint64_t n, piece p)
{
    if (!p.child)
        return append(out, n, p);
    for (uint64_t i = 0; i < p.child->n; i++) {
        piece item = item_of(p.child, i);
        item.at = add_wrapping(item.at, p.at);
        n = append_blocks(out, n, item);
    }
    return n;
}

// ---- nodes

static mlt_status make_loop(piece *out, piece p, uint64_t n, int64_t stride)
{
    mlt_layout *loop = node_new(LAYOUT_LOOP, 0);
    if (!loop) {
        mlt_layout_drop(p.child);
        return MLT_ERR_NO_MEMORY;
    }
    loop->n = n;
    loop->stride = stride;
    loop->length = p.size;
    loop->child = p.child;
    loop->size = n * p.size;
    loop->blocks = times(n, blocks_of(p.child));
    loop->depth = (uint8_t)(1 + depth_of(p.child));
    *out = (piece){.at = p.at, .size = loop->size, .child = loop};
    return MLT_OK;
}

// LIST, EACH or SEQ. Lengths are the same or not, children are one (of all the references but one
// are given back) or several.
static mlt_status make_items(piece *out, piece *pieces, uint64_t n, layout_kind kind, bool lengths)
{
    size_t words = n + (lengths ? n + 1 : 0) + (kind == LAYOUT_SEQ ? n : 0);
    mlt_layout *node = node_new(kind, words * 8);
    if (!node) {
        drop_all(pieces, n);
        return MLT_ERR_NO_MEMORY;
    }
    int64_t *offset = (int64_t *)(node + 1);
    uint64_t *before = lengths ? (uint64_t *)(offset + n) : NULL;
    const mlt_layout **children = NULL;
    if (kind == LAYOUT_SEQ)
        children = (const mlt_layout **)(before + n + 1);
    for (uint64_t i = 0; i < n; i++) {
        offset[i] = add_wrapping(pieces[i].at, (int64_t) - (uint64_t)pieces[0].at);
        if (before)
            before[i] = node->size;
        node->size += pieces[i].size;
        if (children)
            children[i] = pieces[i].child;
        else if (i > 0)
            mlt_layout_drop(pieces[i].child);
        node->blocks = plus(node->blocks, blocks_of(pieces[i].child));
        uint8_t depth = (uint8_t)(1 + depth_of(pieces[i].child));
        node->depth = depth > node->depth ? depth : node->depth;
    }
    if (before)
        before[n] = node->size;
    else
        node->length = pieces[0].size;
    node->n = n;
    node->offset = offset;
    node->before = before;
    node->children = children;
    node->child = children ? NULL : pieces[0].child;
    *out = (piece){.at = pieces[0].at, .size = node->size, .child = node};
    return MLT_OK;
}

// The same blocks as one list, if the piece has few of them: a loop over a list is fast.
static mlt_status flatten(piece *p)
{
    piece flat[FLAT_MOST];
    uint64_t n = append_blocks(flat, 0, *p);
    mlt_layout_drop(p->child);
    return mlt_layout_piece_join(p, flat, n);
}

mlt_status mlt_layout_piece_repeat(piece *p, uint64_t n, int64_t stride)
{
    if (n == 0 || p->size == 0) {
        mlt_layout_drop(p->child);
        *p = (piece){0};
        return MLT_OK;
    }
    if (n == 1)
        return MLT_OK;
    const mlt_layout *child = p->child;
    if (!child && (uint64_t)stride == p->size) {
        p->size *= n;
        return MLT_OK;
    }
    if (child && child->kind == LAYOUT_LOOP &&
        child->n * (uint64_t)child->stride == (uint64_t)stride) {
        piece inner = item_of(child, 0);
        inner.at = add_wrapping(inner.at, p->at);
        mlt_layout_hold(inner.child);
        uint64_t all = child->n * n;
        int64_t step = child->stride;
        mlt_layout_drop(child);
        return make_loop(p, inner, all, step);
    }
    if (child && child->depth > 1 && child->blocks <= NESTED_MOST) {
        mlt_status status = flatten(p);
        return status == MLT_OK ? mlt_layout_piece_repeat(p, n, stride) : status;
    }
    return make_loop(p, *p, n, stride);
}

// ---- sequences

// Every piece lies as far after the one before it.
static bool evenly_spaced(const piece *pieces, uint64_t n)
{
    uint64_t step = (uint64_t)pieces[1].at - (uint64_t)pieces[0].at;
    for (uint64_t i = 2; i < n; i++)
        if ((uint64_t)pieces[i].at - (uint64_t)pieces[i - 1].at != step)
            return false;
    return true;
}

// More than half of the data is in it: of all parts of something, at most one is heavy.
static bool heavy(uint64_t size, uint64_t of)
{
    return size > of / 2;
}

// `all`: bytes of the sequence that it becomes a part of.
static bool to_splice_deep(const piece *p, uint64_t all)
{
    const mlt_layout *child = p->child;
    return child && child->kind == LAYOUT_SEQ && child->depth >= SPLICE_DEPTH &&
           heavy(child->size, all);
}

static bool to_splice(const piece *p, uint64_t all)
{
    const mlt_layout *child = p->child;
    return child && child->kind == LAYOUT_SEQ &&
           (child->n <= SPLICE_MOST || to_splice_deep(p, all));
}

// An item of a sequence that is dissolved as a whole goes with it.
static bool goes_with(const mlt_layout *child, const mlt_layout *seq)
{
    return child && child->kind == LAYOUT_SEQ && heavy(child->size, seq->size);
}

// How many pieces splice_one makes, at most.
static uint64_t spliced_items(const mlt_layout *seq, bool deep)
{
    uint64_t n = seq->n;
    for (uint64_t k = 0; deep && k < seq->n; k++)
        if (goes_with(seq->children[k], seq))
            n += spliced_items(seq->children[k], true);
    return n;
}

// Appends the items of a sequence. If `deep`, its heavy item is dissolved too, and so on: what is
// left is half as large at most or no sequence, and what comes twice stays shared.
static uint64_t splice_one(piece *out, uint64_t n, const mlt_layout *seq, int64_t at, bool deep)
{
    for (uint64_t k = 0; k < seq->n; k++) {
        piece item = item_of(seq, k);
        item.at = add_wrapping(item.at, at);
        if (deep && goes_with(item.child, seq)) {
            n = splice_one(out, n, item.child, item.at, true);
            continue;
        }
        mlt_layout_hold(item.child);
        n = append(out, n, item);
    }
    return n;
}

// Sequences inside of the sequence are dissolved, and blocks that then touch are merged.
static mlt_status splice(piece *out, piece *pieces, uint64_t n, uint64_t all)
{
    uint64_t room = n;
    for (uint64_t i = 0; i < n; i++)
        if (to_splice(&pieces[i], all))
            room += spliced_items(pieces[i].child, to_splice_deep(&pieces[i], all));
    piece *flat = malloc(room * sizeof *flat);
    if (!flat) {
        drop_all(pieces, n);
        return MLT_ERR_NO_MEMORY;
    }
    uint64_t m = 0;
    for (uint64_t i = 0; i < n; i++) {
        const mlt_layout *seq = pieces[i].child;
        if (!to_splice(&pieces[i], all)) {
            m = append(flat, m, pieces[i]);
            continue;
        }
        m = splice_one(flat, m, seq, pieces[i].at, to_splice_deep(&pieces[i], all));
        mlt_layout_drop(seq);
    }
    mlt_status status = make_items(out, flat, m, LAYOUT_SEQ, true);
    free(flat);
    return status;
}

mlt_status mlt_layout_piece_join(piece *out, piece *pieces, uint64_t count)
{
    uint64_t n = 0, blocks = 0, all_bytes = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (pieces[i].size == 0)
            mlt_layout_drop(pieces[i].child);
        all_bytes += pieces[i].size;
        n = append(pieces, n, pieces[i]);
    }
    if (n <= 1) {
        *out = n ? pieces[0] : (piece){0};
        return MLT_OK;
    }
    bool lengths = false, children = false, flat = true, deep = false;
    for (uint64_t i = 0; i < n; i++) {
        lengths |= pieces[i].size != pieces[0].size;
        children |= pieces[i].child != pieces[0].child;
        flat &= !pieces[i].child;
        deep |= to_splice(&pieces[i], all_bytes);
        blocks = plus(blocks, blocks_of(pieces[i].child));
    }
    if (!lengths && !children && evenly_spaced(pieces, n)) {
        for (uint64_t i = 1; i < n; i++)
            mlt_layout_drop(pieces[i].child);
        int64_t stride = (int64_t)((uint64_t)pieces[1].at - (uint64_t)pieces[0].at);
        *out = pieces[0];
        return mlt_layout_piece_repeat(out, n, stride);
    }
    if (flat)
        return make_items(out, pieces, n, LAYOUT_LIST, lengths);
    if (blocks <= FLAT_MOST) {
        piece all[FLAT_MOST];
        uint64_t m = 0;
        for (uint64_t i = 0; i < n; i++)
            m = append_blocks(all, m, pieces[i]);
        drop_all(pieces, n);
        return mlt_layout_piece_join(out, all, m);
    }
    if (!children) // one child has one size
        return make_items(out, pieces, n, LAYOUT_EACH, false);
    return deep ? splice(out, pieces, n, all_bytes) : make_items(out, pieces, n, LAYOUT_SEQ, true);
}

mlt_status mlt_layout_piece_finish(piece p, const mlt_layout **layout)
{
    *layout = p.child;
    if (p.at == 0 || p.size == 0)
        return MLT_OK;
    mlt_layout *moved = NULL;
    if (p.child && p.child->refs == 1) { // nobody else sees it yet
        moved = writable(p.child);
        moved->at = add_wrapping(moved->at, p.at);
        return MLT_OK;
    }
    moved = node_new(LAYOUT_BLOCK, 0);
    if (!moved) {
        mlt_layout_drop(p.child);
        return MLT_ERR_NO_MEMORY;
    }
    if (p.child) {
        const mlt_layout *keeper = p.child->keeper ? p.child->keeper : p.child;
        *moved = *p.child;
        moved->refs = 1;
        moved->keeper = keeper;
        mlt_layout_hold(keeper);
        mlt_layout_drop(p.child);
    } else {
        moved->depth = 1;
        moved->n = moved->blocks = 1;
        moved->size = moved->length = p.size;
    }
    moved->at = add_wrapping(moved->at, p.at);
    *layout = moved;
    return MLT_OK;
}
