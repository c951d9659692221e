// SPDX-License-Identifier: BSD-3-Clause
// The order in which objects are constructed: each after those that it needs, as the dynamic loader
// has it.
#pragma once

#include "image/object.h"

typedef struct mlt_order {
    const mlt_object *objects;
    uint32_t first, count; // objects before `first` are left out
    uint32_t *found;       // [count], the first to be constructed first
    uint32_t found_count;
    bool *seen; // [count]
    // Visits what the object needs though it does not say so; NULL: nothing.
    void (*visit_more)(struct mlt_order *order, uint32_t object);
    const void *user;
} mlt_order;

// Takes memory for `found` and `seen`, which the caller frees.
void mlt_order_init(mlt_order *order, const mlt_object *objects, uint32_t first, uint32_t count);

// Adds what the object needs, and then the object, each if it is not there yet.
void mlt_order_visit(mlt_order *order, uint32_t object);

// All objects of a program when it starts; the caller frees it.
uint32_t *mlt_order_all(const mlt_object *objects, uint32_t count);
