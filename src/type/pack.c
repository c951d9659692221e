// SPDX-License-Identifier: BSD-3-Clause
// Packing, unpacking and moving: a cursor finds where the bytes are, and as much as has one shape
// goes to a kernel.
#include "type/cursor.h"
#include "type/kernel.h"
#include "type/type.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    LONG_LOOP = 8,      // a loop inside a loop is worth a call of its own
    SHORT_LIST = 32,    // a longer list is
    FEW = 4,            // elements that are not worth a pass for each block
    LONG_BLOCK = 256,   // bytes, to be packed into or unpacked from
    BATCH_BYTES = 8192, // of packed elements, which stay in the first cache
};

typedef enum pack_direction {
    PACK_OUT,
    PACK_IN
} pack_direction; // of memory's elements, to and from the packed form

static uint64_t pack_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

INLINE void strided(pack_direction way, uintptr_t at, int64_t stride, char *packed, uint64_t step,
                    uint64_t length, uint64_t count)
{
    if (way == PACK_OUT)
        mlt_kernel_strided(packed, (int64_t)step, (const char *)at, stride, length, count);
    else
        mlt_kernel_strided((char *)at, stride, packed, (int64_t)step, length, count);
}

INLINE void pack_listed(pack_direction way, const mlt_layout *list, uint64_t first, uint64_t count,
                        uintptr_t base, char *packed)
{
    if (way == PACK_OUT)
        mlt_kernel_gather(list, first, count, base, packed);
    else
        mlt_kernel_scatter(list, first, count, base, packed);
}

static frame item_frame(const mlt_layout *node, uintptr_t base, uint64_t i)
{
    return (frame){.node = node, .base = base, .i = i};
}

// `count` elements of the same few blocks: block by block, over as many elements as fit the cache.
INLINE void columns(pack_direction way, const mlt_layout *leaf, uintptr_t base, int64_t stride,
                    char *packed, uint64_t count)
{
    uint64_t batch = pack_least(1 + BATCH_BYTES / leaf->size, count);
    for (uint64_t done = 0; done < count; done += batch) {
        uint64_t n = pack_least(batch, count - done), before = 0;
        for (uint64_t b = 0; b < leaf->n; b++) {
            frame f = item_frame(leaf, base + done * (uint64_t)stride, b);
            strided(way, item_at(&f), stride, packed + done * leaf->size + before, leaf->size,
                    item_length(&f), n);
            before += item_length(&f);
        }
    }
}

// `count` times a leaf of the layout.
INLINE void tile(pack_direction way, const mlt_layout *leaf, uintptr_t base, int64_t stride,
                 char *packed, uint64_t count)
{
    bool loop = leaf->kind == LAYOUT_LOOP;
    if (count >= FEW && leaf->n < (loop ? LONG_LOOP : SHORT_LIST)) {
        columns(way, leaf, base, stride, packed, count);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (loop)
            strided(way, base, leaf->stride, packed, leaf->length, leaf->length, leaf->n);
        else
            pack_listed(way, leaf, 0, leaf->n, base, packed);
        base += (uint64_t)stride;
        packed += leaf->size;
    }
}

// Part of a block, or one block.
INLINE uint64_t block(pack_direction way, cursor *c, char *packed, uint64_t bytes)
{
    uint64_t n = pack_least(bytes, item_length(c->top) - c->inside);
    uintptr_t at = item_at(c->top) + c->inside;
    if (way == PACK_OUT)
        memcpy(packed, (const char *)at, n);
    else
        memcpy((char *)at, packed, n);
    cursor_step(c, n);
    return n;
}

// How many of the items from i on have at most so many bytes together.
static uint64_t items_within(const mlt_layout *node, uint64_t i, uint64_t bytes)
{
    if (node->length)
        return pack_least(bytes / node->length, node->n - i);
    if (node->before[node->n] - node->before[i] <= bytes)
        return node->n - i;
    uint64_t at = node->before[i] + bytes;
    return cursor_find(node, &at) - i;
}

static uint64_t bytes_of(const mlt_layout *node, uint64_t i, uint64_t n)
{
    return node->length ? n * node->length : node->before[i + n] - node->before[i];
}

// The largest thing of one shape at the cursor, at most `bytes`; its size.
INLINE uint64_t run(pack_direction way, cursor *c, char *packed, uint64_t bytes)
{
    frame *f = c->top, *outer = f - 1;
    const mlt_layout *node = f->node;
    if (c->inside)
        return block(way, c, packed, bytes);
    if (f != c->frames && f->i == 0 && outer->node->kind == LAYOUT_LOOP &&
        node->kind != LAYOUT_SEQ) {
        uint64_t n = items_within(outer->node, outer->i, bytes);
        if (n) {
            tile(way, node, f->base, outer->node->stride, packed, n);
            c->top = outer;
            cursor_next(c, n);
            return n * node->size;
        }
    }
    uint64_t n = node->kind == LAYOUT_SEQ ? 0 : items_within(node, f->i, bytes);
    if (n == 0)
        return block(way, c, packed, bytes);
    uint64_t moved;
    if (node->kind == LAYOUT_LOOP) {
        strided(way, item_at(f), node->stride, packed, node->length, node->length, n);
        moved = n * node->length;
    } else {
        pack_listed(way, node, f->i, n, f->base, packed);
        moved = bytes_of(node, f->i, n);
    }
    cursor_next(c, n);
    return moved;
}

static void out_of(cursor *c, char *to, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;)
        done += run(PACK_OUT, c, to + done, bytes - done);
}

static void into(cursor *c, const char *packed, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;)
        done += run(PACK_IN, c, (char *)(uintptr_t)packed + done, bytes - done); // only read
}

void mlt_type_pack(const mlt_type *type, const void *buf, uint64_t from, void *to, uint64_t bytes)
{
    if (bytes == 0)
        return; // the addresses may be NULL
    if (type->contiguous) {
        memcpy(to, (const char *)buf + from, bytes);
        return;
    }
    cursor c;
    cursor_init(&c, __builtin_alloca(cursor_frames(type)), type, buf, from);
    out_of(&c, to, bytes);
}

void mlt_type_unpack(const mlt_type *type, void *buf, uint64_t from, const void *packed,
                     uint64_t bytes)
{
    if (bytes == 0)
        return;
    if (type->contiguous) {
        memcpy((char *)buf + from, packed, bytes);
        return;
    }
    cursor c;
    cursor_init(&c, __builtin_alloca(cursor_frames(type)), type, buf, from);
    into(&c, packed, bytes);
}

// ---- elements to elements

static bool same_lengths(const mlt_layout *a, const mlt_layout *b)
{
    if (a == b)
        return true;
    if (a->n != b->n || a->length != b->length)
        return false;
    return a->length || memcmp(a->before, b->before, (a->n + 1) * sizeof a->before[0]) == 0;
}

// The loop around the innermost node, if the cursor is at the start of one of its items.
static frame *outer_loop(const cursor *c)
{
    frame *f = c->top;
    bool at_start = f != c->frames && f->i == 0 && c->inside == 0 && f->node->kind != LAYOUT_SEQ;
    return at_start && f[-1].node->kind == LAYOUT_LOOP ? f - 1 : NULL;
}

// Both sides are loops over the same few blocks: block by block, as columns() does.
static uint64_t both_tiled(cursor *to, cursor *from, uint64_t bytes)
{
    frame *a = outer_loop(to), *b = outer_loop(from);
    const mlt_layout *leaf = to->top->node;
    if (!a || !b || leaf->n >= SHORT_LIST || bytes < FEW * leaf->size ||
        !same_lengths(leaf, from->top->node))
        return 0;
    uint64_t count =
        pack_least(bytes / leaf->size, pack_least(a->node->n - a->i, b->node->n - b->i));
    uint64_t batch = 1 + BATCH_BYTES / leaf->size;
    for (uint64_t done = 0; done < count; done += batch) {
        uint64_t n = pack_least(batch, count - done);
        for (uint64_t i = 0; i < leaf->n; i++) {
            frame x = item_frame(leaf, to->top->base + done * (uint64_t)a->node->stride, i);
            frame y =
                item_frame(from->top->node, from->top->base + done * (uint64_t)b->node->stride, i);
            mlt_kernel_strided((char *)item_at(&x), a->node->stride, (const char *)item_at(&y),
                               b->node->stride, item_length(&x), n);
        }
    }
    to->top = a;
    from->top = b;
    cursor_next(to, count);
    cursor_next(from, count);
    return count * leaf->size;
}

// Both sides are loops over blocks of one length, at the start of one: as many as both have.
static uint64_t both_strided(cursor *to, cursor *from, uint64_t bytes)
{
    const mlt_layout *a = to->top->node, *b = from->top->node;
    if (a->kind != LAYOUT_LOOP || b->kind != LAYOUT_LOOP || a->length != b->length || to->inside ||
        from->inside)
        return 0;
    uint64_t n = pack_least(bytes / a->length, pack_least(a->n - to->top->i, b->n - from->top->i));
    if (n == 0)
        return 0;
    mlt_kernel_strided((char *)item_at(to->top), a->stride, (const char *)item_at(from->top),
                       b->stride, a->length, n);
    cursor_next(to, n);
    cursor_next(from, n);
    return n * a->length;
}

// Both sides are lists, at the start of a block: as long as the lengths are the same.
static uint64_t both_listed(cursor *to, cursor *from, uint64_t bytes)
{
    frame *a = to->top, *b = from->top;
    if (a->node->kind != LAYOUT_LIST || b->node->kind != LAYOUT_LIST || to->inside ||
        from->inside || a->node->length != b->node->length)
        return 0;
    uint64_t n = pack_least(items_within(a->node, a->i, bytes), items_within(b->node, b->i, bytes));
    n = mlt_kernel_lists(a->node, a->i, a->base, b->node, b->i, b->base, n);
    if (n == 0)
        return 0;
    uint64_t moved = bytes_of(a->node, a->i, n);
    cursor_next(to, n);
    cursor_next(from, n);
    return moved;
}

// One side has a block that holds many of the other's: to it, the other is packed or unpacked.
static uint64_t one_long(cursor *to, cursor *from, uint64_t bytes)
{
    uint64_t a = item_length(to->top) - to->inside, b = item_length(from->top) - from->inside;
    uintptr_t a_at = item_at(to->top) + to->inside, b_at = item_at(from->top) + from->inside;
    uint64_t n = pack_least(a > b ? a : b, bytes);
    if (n < LONG_BLOCK || (a < 4 * b && b < 4 * a))
        return 0;
    if (a > b) {
        out_of(from, (char *)a_at, n);
        cursor_step(to, n);
    } else {
        into(to, (const char *)b_at, n);
        cursor_step(from, n);
    }
    return n;
}

// Skips n bytes of the frame's item; true if no item of the node is left, or if the next
// one may not be a block.
INLINE bool step_in(frame *f, uint64_t *inside, uint64_t length, uint64_t n)
{
    *inside += n;
    if (*inside < length)
        return false;
    *inside = 0;
    f->i++;
    return f->i == f->node->n || f->node->kind == LAYOUT_SEQ;
}

// Block by block, until one side's innermost node is through.
static uint64_t by_blocks(cursor *to, cursor *from, uint64_t bytes)
{
    frame a = *to->top, b = *from->top;
    uint64_t done = 0;
    bool a_ends = false, b_ends = false;
    while (done < bytes && !a_ends && !b_ends) {
        uint64_t a_length = item_length(&a), b_length = item_length(&b);
        uint64_t n =
            pack_least(pack_least(a_length - to->inside, b_length - from->inside), bytes - done);
        mlt_copy((char *)(item_at(&a) + to->inside), (const char *)(item_at(&b) + from->inside), n);
        a_ends = step_in(&a, &to->inside, a_length, n);
        b_ends = step_in(&b, &from->inside, b_length, n);
        done += n;
    }
    to->top->i = a.i;
    from->top->i = b.i;
    if (a_ends)
        cursor_next(to, 0);
    if (b_ends)
        cursor_next(from, 0);
    return done;
}

void mlt_type_move(const mlt_type *to_type, void *to, const mlt_type *from_type, const void *from,
                   uint64_t at, uint64_t bytes)
{
    if (bytes == 0)
        return;
    if (from_type->contiguous) {
        mlt_type_unpack(to_type, to, at, (const char *)from + at, bytes);
        return;
    }
    if (to_type->contiguous) {
        mlt_type_pack(from_type, from, at, (char *)to + at, bytes);
        return;
    }
    cursor a, b;
    cursor_init(&a, __builtin_alloca(cursor_frames(to_type)), to_type, to, at);
    cursor_init(&b, __builtin_alloca(cursor_frames(from_type)), from_type, from, at);
    for (uint64_t done = 0, n; done < bytes; done += n)
        if (!(n = both_tiled(&a, &b, bytes - done)) && !(n = both_strided(&a, &b, bytes - done)) &&
            !(n = both_listed(&a, &b, bytes - done)) && !(n = one_long(&a, &b, bytes - done)))
            n = by_blocks(&a, &b, bytes - done);
}
