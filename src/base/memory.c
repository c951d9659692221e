// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"

void mlt_no_room(const char *what, ...)
{
    char text[256];
    MLT_TEXT_PRINT(text, sizeof text, what);
    mlt_fatal(MLT_NO_ROOM "%s", text);
}

static void *there(void *memory, size_t count, size_t size)
{
    if (MLT_UNLIKELY(!memory))
        mlt_no_room("%zu times %zu bytes", count, size);
    return memory;
}

void *mlt_xcalloc(size_t count, size_t size)
{
    return there(calloc(count ? count : 1, size ? size : 1), count, size);
}

void *mlt_xrealloc(void *array, size_t count, size_t size)
{
    return there(reallocarray(array, count ? count : 1, size ? size : 1), count, size);
}
