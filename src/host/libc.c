// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc.h"

#include <dlfcn.h>

#include "base/log.h"

void *mlt_libc_find(_Atomic(void *) *found, const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        mlt_fatal("cannot find libc's own %s", name);
    atomic_store_explicit(found, function, memory_order_relaxed);
    return function;
}
