// SPDX-License-Identifier: BSD-3-Clause
// A place in the packed form of endlessly many elements, and where its bytes lie in memory. The
// elements are one more loop around the layout; where they continue the layout's own outer loop,
// that loop goes on instead.
//
// `top` is the innermost frame: its item is a block, of which `inside` bytes are done. Addresses
// are numbers here: beyond the last element they may be anything.
#pragma once

#include "type/layout_int.h"
#include "type/type.h"

typedef struct frame {
    const mlt_layout *node;
    uintptr_t base; // of the node, `at` included
    uint64_t i;     // the current item
} frame;

typedef struct cursor {
    frame *top, *frames;
    uint64_t inside;
    mlt_layout root;
} cursor;

// Bytes of frames that a cursor over this type needs.
static inline size_t cursor_frames(const mlt_type *type)
{
    return (1u + (type->layout ? type->layout->depth : 0u)) * sizeof(frame);
}

static inline uintptr_t item_at(const frame *f)
{
    if (f->node->kind == LAYOUT_LOOP)
        return f->base + f->i * (uint64_t)f->node->stride;
    return f->base + (uint64_t)f->node->offset[f->i];
}

static inline uint64_t item_length(const frame *f)
{
    const mlt_layout *node = f->node;
    return node->length ? node->length : node->before[f->i + 1] - node->before[f->i];
}

static inline const mlt_layout *item_child(const frame *f)
{
    return f->node->kind == LAYOUT_SEQ ? f->node->children[f->i] : f->node->child;
}

static inline void cursor_push(cursor *c, const mlt_layout *node, uint64_t i)
{
    uintptr_t base = item_at(c->top) + (uint64_t)node->at;
    *++c->top = (frame){.node = node, .base = base, .i = i};
}

// The item of `node` that holds byte *at of it; *at becomes the byte in the item.
static inline uint64_t cursor_find(const mlt_layout *node, uint64_t *at)
{
    uint64_t low = 0, high = node->n; // in [low, high)
    if (node->length) {
        low = *at / node->length;
        *at -= low * node->length;
        return low;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (node->before[middle] <= *at)
            low = middle;
        else
            high = middle;
    }
    *at -= node->before[low];
    return low;
}

// frames: cursor_frames(type) bytes; type->size > 0.
static inline void cursor_init(cursor *c, frame *frames, const mlt_type *type, const void *buf,
                               uint64_t from)
{
    const mlt_layout *layout = type->layout;
    c->root = (mlt_layout){.kind = LAYOUT_LOOP,
                           .n = UINT64_MAX,
                           .stride = type->extent,
                           .length = type->size,
                           .child = layout};
    bool goes_on = layout && layout->kind == LAYOUT_LOOP &&
                   layout->n * (uint64_t)layout->stride == (uint64_t)type->extent;
    if (goes_on || (layout && layout->kind == LAYOUT_BLOCK)) {
        c->root.at = layout->at;
        c->root.length = layout->length;
        c->root.child = layout->child;
        c->root.stride = goes_on ? layout->stride : type->extent;
    }
    c->frames = c->top = frames;
    *frames = (frame){.node = &c->root, .base = (uintptr_t)buf + (uint64_t)c->root.at};
    frames->i = cursor_find(&c->root, &from);
    for (const mlt_layout *child; (child = item_child(c->top));)
        cursor_push(c, child, cursor_find(child, &from));
    c->inside = from;
}

// Skips n items of the top frame.
static inline void cursor_next(cursor *c, uint64_t n)
{
    c->top->i += n;
    while (c->top->i == c->top->node->n) { // the root has no end
        c->top--;
        c->top->i++;
    }
    for (const mlt_layout *child; (child = item_child(c->top));)
        cursor_push(c, child, 0);
}

// Skips n bytes of the current block, at most all that are left.
static inline void cursor_step(cursor *c, uint64_t n)
{
    c->inside += n;
    if (c->inside == item_length(c->top)) {
        c->inside = 0;
        cursor_next(c, 1);
    }
}
