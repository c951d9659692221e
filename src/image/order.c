// SPDX-License-Identifier: BSD-3-Clause
#include "image/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void mlt_order_init(mlt_order *order, const mlt_object *objects, uint32_t first, uint32_t count)
{
    *order = (mlt_order){.objects = objects, .first = first, .count = count};
    order->found = mlt_xcalloc(count, sizeof *order->found);
    order->seen = mlt_xcalloc(count, sizeof *order->seen);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// What others call the object when they need it.
static bool is_called(const mlt_object *o, const char *name)
{
    for (const Elf64_Dyn *d = o->dynamic; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SONAME && strcmp(o->strings + d->d_un.d_val, name) == 0)
            return true;
    return strcmp(base_name(o->path), base_name(name)) == 0;
}

static void visit_named(mlt_order *order, const char *name)
{
    for (uint32_t i = order->first; i < order->count; i++)
        if (is_called(&order->objects[i], name)) {
            mlt_order_visit(order, i);
            return;
        }
}

void mlt_order_visit(mlt_order *order, uint32_t object)
{
    const mlt_object *o = &order->objects[object];
    if (object < order->first || order->seen[object])
        return;
    order->seen[object] = true;
    for (const Elf64_Dyn *d = o->dynamic; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED)
            visit_named(order, o->strings + d->d_un.d_val);
    if (order->visit_more)
        order->visit_more(order, object);
    order->found[order->found_count++] = object;
}

// glibc begins with the object that was loaded last. So objects that do not need each other have its
// order, too.
uint32_t *mlt_order_all(const mlt_object *objects, uint32_t count)
{
    mlt_order order;
    mlt_order_init(&order, objects, 0, count);
    for (uint32_t i = count; i-- > 0;)
        mlt_order_visit(&order, i);
    free(order.seen);
    return order.found;
}
