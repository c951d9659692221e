// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory.h"

#include <stdlib.h>

#include "base/log.h"

static void *there(void *memory, size_t count, size_t size)
{
    if (MLT_UNLIKELY(!memory))
        mlt_fatal("memory is exhausted: there is no room for %zu times %zu bytes", count, size);
    return memory;
}

void *mlt_take(size_t count, size_t size)
{
    return there(calloc(count ? count : 1, size ? size : 1), count, size);
}

void *mlt_take_more(void *array, size_t count, size_t size)
{
    return there(reallocarray(array, count ? count : 1, size ? size : 1), count, size);
}
