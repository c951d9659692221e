// SPDX-License-Identifier: BSD-3-Clause
// Subarrays and distributed arrays against a look at every element of the array.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "type/build.h"
#include "type/layout_test.h"
#include "type/type.h"

enum { DIMS = 3, SHORT = 0x208, MOST = 4096 };

static const mlt_type *old(void)
{
    return &mlt_type_predefined[SHORT];
}

// The elements of an array are their numbers; what the type packs must be those that `has` accepts,
// in the order of memory.
static void check_elements(const mlt_type *type, const int64_t *sizes, bool row_major,
                           bool (*has)(const void *user, int dim, int64_t index), const void *user)
{
    static uint16_t array[MOST], packed[MOST], back[MOST];
    int64_t total = 1, n = 0;
    for (int i = 0; i < DIMS; i++)
        total *= sizes[i];
    CHECK(total <= MOST);
    for (int64_t at = 0; at < total; at++)
        array[at] = (uint16_t)at;
    memset(back, 0xff, sizeof back);
    mlt_type_pack(type, array, 0, packed, type->size);
    mlt_type_unpack(type, back, 0, packed, type->size);
    for (int64_t at = 0; at < total; at++) {
        int64_t rest = at;
        bool in = true;
        for (int i = 0; i < DIMS; i++) {
            int d = row_major ? DIMS - 1 - i : i;
            in = in && has(user, d, rest % sizes[d]);
            rest /= sizes[d];
        }
        CHECK(back[at] == (in ? at : 0xffff));
        if (in)
            CHECK(packed[n++] == at);
    }
    CHECK(type->size == (uint64_t)n * sizeof *packed);
    CHECK(type->lb == 0 && type->extent == total * (int64_t)sizeof *packed);
}

typedef struct part {
    int64_t sizes[DIMS], counts[DIMS], starts[DIMS];
} part;

static bool part_has(const void *user, int dim, int64_t index)
{
    const part *p = user;
    return index >= p->starts[dim] && index < p->starts[dim] + p->counts[dim];
}

static void check_subarrays(void)
{
    static const part parts[] = {
        {{4, 5, 6}, {4, 5, 6}, {0, 0, 0}}, {{4, 5, 6}, {2, 3, 4}, {1, 2, 1}},
        {{4, 5, 6}, {1, 5, 6}, {3, 0, 0}}, {{4, 5, 6}, {4, 1, 6}, {0, 2, 0}},
        {{4, 5, 6}, {4, 5, 1}, {0, 0, 5}}, {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
        {{7, 1, 3}, {2, 1, 2}, {5, 0, 1}}, {{4, 5, 6}, {0, 5, 6}, {2, 0, 0}},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int row_major = 0; row_major < 2; row_major++) {
            const part *p = &parts[i];
            mlt_type type;
            CHECK(mlt_type_make_subarray(&type, old(), DIMS, p->sizes, p->counts, p->starts,
                                         row_major) == MLT_OK);
            check_elements(&type, p->sizes, row_major, part_has, p);
            mlt_type_unmake(&type);
        }
}

static bool share_has(const void *user, int dim, int64_t index)
{
    const mlt_distribution *d = &((const mlt_distribution *)user)[dim];
    return d->block == 0 || index / d->block % d->processes == d->coordinate;
}

// Every process of a grid, with blocks of all lengths.
static void check_grid(int64_t first, int64_t second)
{
    int64_t sizes[DIMS] = {7, 5, 4};
    for (int64_t a = 0; a < 3; a++)
        for (int64_t b = 0; b < 2; b++)
            for (int row_major = 0; row_major < 2; row_major++) {
                mlt_distribution dims[DIMS] = {
                    {sizes[0], first, 3, a}, {sizes[1], second, 2, b}, {sizes[2], 0, 1, 0}};
                mlt_type type;
                CHECK(mlt_type_make_darray(&type, old(), DIMS, dims, row_major) == MLT_OK);
                check_elements(&type, sizes, row_major, share_has, dims);
                mlt_type_unmake(&type);
            }
}

static void check_darrays(void)
{
    for (int64_t first = 1; first <= 8; first++)
        for (int64_t second = 1; second <= 6; second++)
            check_grid(first, second);
}

// Size costs nothing; what does not fit is refused.
static void check_large(void)
{
    int64_t huge[2] = {INT64_C(1) << 40, INT64_C(1) << 20}, half[2] = {huge[0] / 2, huge[1] / 2};
    int64_t starts[2] = {3, 5}, too_large[2] = {INT64_C(1) << 40, INT64_C(1) << 30};
    mlt_distribution dims[2] = {{huge[0], 16, 1000, 999}, {huge[1], 0, 1, 0}};
    mlt_type type;
    CHECK(mlt_type_make_subarray(&type, old(), 2, huge, half, starts, true) == MLT_OK);
    CHECK(type.size == (uint64_t)1 << 59 && type.extent == INT64_C(1) << 61);
    CHECK(type.true_lb == 2 * (starts[0] * huge[1] + starts[1]));
    CHECK(mlt_layout_memory(type.layout) < 4096);
    mlt_type_unmake(&type);
    CHECK(mlt_type_make_darray(&type, old(), 2, dims, true) == MLT_OK);
    CHECK(mlt_layout_memory(type.layout) < 4096);
    mlt_type_unmake(&type);
    CHECK(mlt_type_make_subarray(&type, old(), 2, too_large, half, starts, true) ==
          MLT_ERR_INVALID);
    dims[1].global = too_large[1];
    CHECK(mlt_type_make_darray(&type, old(), 2, dims, true) == MLT_ERR_INVALID);
}

int main(void)
{
    check_subarrays();
    check_darrays();
    check_large();
    return 0;
}
