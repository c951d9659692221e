// SPDX-License-Identifier: BSD-3-Clause
// What functions of qsort are made of: -1, 0 or 1.
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline int mlt_compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

// By the first word that differs.
static inline int mlt_compare_words(const uint64_t *a, const uint64_t *b, size_t count)
{
    int order = 0;
    for (size_t i = 0; i < count && !order; i++)
        order = mlt_compare(a[i], b[i]);
    return order;
}

// Arrays of uint64_t, or of things that begin with one.
static inline int mlt_compare_ascending(const void *a, const void *b)
{
    return mlt_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

// Arrays of uint32_t.
static inline int mlt_compare_ascending32(const void *a, const void *b)
{
    return mlt_compare(*(const uint32_t *)a, *(const uint32_t *)b);
}
