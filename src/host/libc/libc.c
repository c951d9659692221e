// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/libc.h"

#include <link.h>
#include <stdint.h>

#include "base/log.h"
#include "host/caller.h"
#include "image/object.h"

// In the tables of what follows this library. Not by dlsym: this layer has one itself (dl.c), and
// libc's forgets what dlerror would say.
static void *libc_find(const char *name)
{
    const struct link_map *map = _r_debug.r_map;
    while (map && map->l_addr != (uintptr_t)mlt_code_begin)
        map = map->l_next;
    void *found = NULL;
    for (map = map ? map->l_next : _r_debug.r_map; map && !found; map = map->l_next)
        found = mlt_object_symbol(map->l_addr, map->l_ld, name, NULL);
    return found;
}

void *mlt_libc_find(_Atomic(void *) *found, const char *name)
{
    void *function = libc_find(name);
    if (!function)
        mlt_fatal("cannot find libc's own %s", name);
    atomic_store_explicit(found, function, memory_order_relaxed);
    return function;
}
