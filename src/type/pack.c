// SPDX-License-Identifier: BSD-3-Clause
// Packing, unpacking and moving: a cursor finds where the bytes are, and as much as has one shape
// goes to a kernel.
#include "base/status.h"
#include "base/upcalls.h"
#include "type/cursor.h"
#include "type/kernel.h"
#include "type/type.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    LONG_LOOP = 8,      // blocks: an inner loop from here on gets a kernel call of its own
    SHORT_LIST = 32,    // blocks: so does an inner list
    FEW = 4,            // elements: with fewer, a pass for each block does not pay
    LONG_BLOCK = 256,   // bytes: a block from here on is packed into or unpacked from
    BATCH_BYTES = 8192, // of packed elements, which stay in the first cache
};

typedef enum pack_direction { TO_PACKED, FROM_PACKED } pack_direction;

static uint64_t pack_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

INLINE void copy_strided(pack_direction direction, uintptr_t at, int64_t stride, char *packed,
                         uint64_t step, uint64_t length, uint64_t count)
{
    if (direction == TO_PACKED)
        mlt_kernel_strided(packed, (int64_t)step, (const char *)at, stride, length, count);
    else
        mlt_kernel_strided((char *)at, stride, packed, (int64_t)step, length, count);
}

INLINE void copy_listed(pack_direction direction, const mlt_layout *list, uint64_t first,
                        uint64_t count, uintptr_t base, char *packed)
{
    if (direction == TO_PACKED)
        mlt_kernel_gather(list, first, count, base, packed);
    else
        mlt_kernel_scatter(list, first, count, base, packed);
}

static frame item_frame(const mlt_layout *node, uintptr_t base, uint64_t i)
{
    return (frame){.node = node, .base = base, .i = i};
}

// `count` elements of the same few blocks: block by block, over as many elements as fit the cache.
INLINE void copy_columns(pack_direction direction, const mlt_layout *leaf, uintptr_t base,
                         int64_t stride, char *packed, uint64_t count)
{
    uint64_t batch = pack_min(1 + BATCH_BYTES / leaf->size, count);
    for (uint64_t done = 0; done < count; done += batch) {
        uint64_t n = pack_min(batch, count - done), before = 0;
        for (uint64_t b = 0; b < leaf->n; b++) {
            frame f = item_frame(leaf, base + done * (uint64_t)stride, b);
            copy_strided(direction, item_at(&f), stride, packed + done * leaf->size + before,
                         leaf->size, item_length(&f), n);
            before += item_length(&f);
        }
    }
}

// `count` times a leaf of the layout.
INLINE void copy_leaves(pack_direction direction, const mlt_layout *leaf, uintptr_t base,
                        int64_t stride, char *packed, uint64_t count)
{
    bool loop = leaf->kind == LAYOUT_LOOP;
    if (count >= FEW && leaf->n < (loop ? LONG_LOOP : SHORT_LIST)) {
        copy_columns(direction, leaf, base, stride, packed, count);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (loop)
            copy_strided(direction, base, leaf->stride, packed, leaf->length, leaf->length,
                         leaf->n);
        else
            copy_listed(direction, leaf, 0, leaf->n, base, packed);
        base += (uint64_t)stride;
        packed += leaf->size;
    }
}

// Part of a block, or one block.
INLINE uint64_t copy_block(pack_direction direction, cursor *c, char *packed, uint64_t bytes)
{
    uint64_t n = pack_min(bytes, item_length(c->top) - c->inside);
    uintptr_t at = item_at(c->top) + c->inside;
    if (direction == TO_PACKED)
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
        return pack_min(bytes / node->length, node->n - i);
    if (node->before[node->n] - node->before[i] <= bytes)
        return node->n - i;
    uint64_t at = node->before[i] + bytes;
    return cursor_find(node, &at) - i;
}

static uint64_t bytes_of(const mlt_layout *node, uint64_t i, uint64_t n)
{
    return node->length ? n * node->length : node->before[i + n] - node->before[i];
}

// Copies the largest piece of one shape at the cursor, at most `bytes`. Returns its size.
INLINE uint64_t copy_largest(pack_direction direction, cursor *c, char *packed, uint64_t bytes)
{
    frame *f = c->top, *outer = f - 1;
    const mlt_layout *node = f->node;
    if (c->inside)
        return copy_block(direction, c, packed, bytes);
    if (f != c->frames && f->i == 0 && outer->node->kind == LAYOUT_LOOP &&
        node->kind != LAYOUT_SEQ) {
        uint64_t n = items_within(outer->node, outer->i, bytes);
        if (n) {
            copy_leaves(direction, node, f->base, outer->node->stride, packed, n);
            c->top = outer;
            cursor_next(c, n);
            return n * node->size;
        }
    }
    uint64_t n = node->kind == LAYOUT_SEQ ? 0 : items_within(node, f->i, bytes);
    if (n == 0)
        return copy_block(direction, c, packed, bytes);
    uint64_t moved;
    if (node->kind == LAYOUT_LOOP) {
        copy_strided(direction, item_at(f), node->stride, packed, node->length, node->length, n);
        moved = n * node->length;
    } else {
        copy_listed(direction, node, f->i, n, f->base, packed);
        moved = bytes_of(node, f->i, n);
    }
    cursor_next(c, n);
    return moved;
}

static void pack_cursor(cursor *c, char *to, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;)
        done += copy_largest(TO_PACKED, c, to + done, bytes - done);
}

static void unpack_cursor(cursor *c, const char *packed, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;)
        done += copy_largest(FROM_PACKED, c, (char *)(uintptr_t)packed + done,
                             bytes - done); // only read
}

void mlt_type_pack(const mlt_type *type, const void *buf, uint64_t from, void *to, uint64_t bytes)
{
    if (bytes == 0)
        return; // the addresses may be NULL
    if (type->contiguous) {
        memcpy(to, (const char *)buf + from, bytes);
        return;
    }
    if (MLT_UNLIKELY(type->device)) {
        mlt_upcalls.device_pack(type, buf, from, to, bytes);
        return;
    }
    cursor c;
    cursor_init(&c, __builtin_alloca(cursor_frames(type)), type, buf, from);
    pack_cursor(&c, to, bytes);
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
    if (MLT_UNLIKELY(type->device)) {
        mlt_upcalls.device_unpack(type, buf, from, packed, bytes);
        return;
    }
    cursor c;
    cursor_init(&c, __builtin_alloca(cursor_frames(type)), type, buf, from);
    unpack_cursor(&c, packed, bytes);
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

// Both sides are loops over the same few blocks: block by block, as copy_columns() does.
static uint64_t move_leaves(cursor *to, cursor *from, uint64_t bytes)
{
    frame *a = outer_loop(to), *b = outer_loop(from);
    const mlt_layout *leaf = to->top->node;
    if (!a || !b || leaf->n >= SHORT_LIST || bytes < FEW * leaf->size ||
        !same_lengths(leaf, from->top->node))
        return 0;
    uint64_t count = pack_min(bytes / leaf->size, pack_min(a->node->n - a->i, b->node->n - b->i));
    uint64_t batch = 1 + BATCH_BYTES / leaf->size;
    for (uint64_t done = 0; done < count; done += batch) {
        uint64_t n = pack_min(batch, count - done);
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
static uint64_t move_strided(cursor *to, cursor *from, uint64_t bytes)
{
    const mlt_layout *a = to->top->node, *b = from->top->node;
    if (a->kind != LAYOUT_LOOP || b->kind != LAYOUT_LOOP || a->length != b->length || to->inside ||
        from->inside)
        return 0;
    uint64_t n = pack_min(bytes / a->length, pack_min(a->n - to->top->i, b->n - from->top->i));
    if (n == 0)
        return 0;
    mlt_kernel_strided((char *)item_at(to->top), a->stride, (const char *)item_at(from->top),
                       b->stride, a->length, n);
    cursor_next(to, n);
    cursor_next(from, n);
    return n * a->length;
}

// Both sides are lists, at the start of a block: as long as the lengths are the same.
static uint64_t move_listed(cursor *to, cursor *from, uint64_t bytes)
{
    frame *a = to->top, *b = from->top;
    if (a->node->kind != LAYOUT_LIST || b->node->kind != LAYOUT_LIST || to->inside ||
        from->inside || a->node->length != b->node->length)
        return 0;
    uint64_t n = pack_min(items_within(a->node, a->i, bytes), items_within(b->node, b->i, bytes));
    n = mlt_kernel_lists(a->node, a->i, a->base, b->node, b->i, b->base, n);
    if (n == 0)
        return 0;
    uint64_t moved = bytes_of(a->node, a->i, n);
    cursor_next(to, n);
    cursor_next(from, n);
    return moved;
}

// One side's block holds many of the other's: packs the other into it, or unpacks it from there.
static uint64_t move_long_block(cursor *to, cursor *from, uint64_t bytes)
{
    uint64_t a = item_length(to->top) - to->inside, b = item_length(from->top) - from->inside;
    uintptr_t a_at = item_at(to->top) + to->inside, b_at = item_at(from->top) + from->inside;
    uint64_t n = pack_min(a > b ? a : b, bytes);
    if (n < LONG_BLOCK || (a < 4 * b && b < 4 * a))
        return 0;
    if (a > b) {
        pack_cursor(from, (char *)a_at, n);
        cursor_step(to, n);
    } else {
        unpack_cursor(to, (const char *)b_at, n);
        cursor_step(from, n);
    }
    return n;
}

// Skips n bytes of the frame's item; true if no item of the node is left, or if the next
// one may not be a block.
INLINE bool advance_item(frame *f, uint64_t *inside, uint64_t length, uint64_t n)
{
    *inside += n;
    if (*inside < length)
        return false;
    *inside = 0;
    f->i++;
    return f->i == f->node->n || f->node->kind == LAYOUT_SEQ;
}

// Block by block, until one side's innermost node is through.
static uint64_t move_blocks(cursor *to, cursor *from, uint64_t bytes)
{
    frame a = *to->top, b = *from->top;
    uint64_t done = 0;
    bool a_ends = false, b_ends = false;
    while (done < bytes && !a_ends && !b_ends) {
        uint64_t a_length = item_length(&a), b_length = item_length(&b);
        uint64_t n =
            pack_min(pack_min(a_length - to->inside, b_length - from->inside), bytes - done);
        mlt_copy((char *)(item_at(&a) + to->inside), (const char *)(item_at(&b) + from->inside), n);
        a_ends = advance_item(&a, &to->inside, a_length, n);
        b_ends = advance_item(&b, &from->inside, b_length, n);
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
    if (MLT_UNLIKELY(from_type->device || to_type->device)) {
        mlt_upcalls.device_move(to_type, to, from_type, from, at, bytes);
        return;
    }
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
        if (!(n = move_leaves(&a, &b, bytes - done)) && !(n = move_strided(&a, &b, bytes - done)) &&
            !(n = move_listed(&a, &b, bytes - done)) &&
            !(n = move_long_block(&a, &b, bytes - done)))
            n = move_blocks(&a, &b, bytes - done);
}
