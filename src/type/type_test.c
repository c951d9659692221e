// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes against the compiler's own structs, and packing with every cut.
#include "type/type.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "type/layout_int.h"

static const mlt_type *find(const char *name)
{
    for (int i = 0; i < 1024; i++)
        if (mlt_type_predefined[i].name && strcmp(mlt_type_predefined[i].name, name) == 0)
            return &mlt_type_predefined[i];
    fprintf(stderr, "no datatype %s\n", name);
    exit(1);
}

// What a predefined type's layout says: one block or two.
static int blocks_of(const mlt_type *t)
{
    return t->layout ? (int)t->layout->n : 1;
}

static int64_t block_at(const mlt_type *t, int i)
{
    return t->layout ? t->layout->offset[i] : 0;
}

static uint64_t block_length(const mlt_type *t, int i)
{
    return t->layout ? t->layout->before[i + 1] - t->layout->before[i] : t->size;
}

static void check_all(void)
{
    int count = 0;
    for (int i = 0; i < 1024; i++) {
        const mlt_type *t = &mlt_type_predefined[i];
        if (t->magic == 0)
            continue;
        count++;
        CHECK(t->magic == MLT_TYPE_MAGIC && t->code == i && t->committed && t->name && t->lb == 0);
        CHECK(t->size > 0 && (int64_t)t->size <= t->extent);
        CHECK((t->contiguous != 0) == ((int64_t)t->size == t->extent));
        uint64_t size = 0;
        int64_t end = 0;
        for (int b = 0; b < blocks_of(t); b++) {
            CHECK(block_length(t, b) > 0 && block_at(t, b) >= end);
            size += block_length(t, b);
            end = block_at(t, b) + (int64_t)block_length(t, b);
        }
        CHECK(size == t->size && t->true_lb == 0 && t->true_extent == end && end <= t->extent);
        CHECK(t->extent % (1 << t->align) == 0 && !t->bounds);
        // The standard says this of the types with a size in their name.
        if ((i >= 0x240 && i <= 0x27f) || (i >= 0x2c0 && i <= 0x2ff))
            CHECK(t->size == UINT64_C(1) << ((i >> 3) & 7));
    }
    CHECK(count == 70);
}

static void check_sizes(void)
{
    struct short_int {
        short value;
        int index;
    };
    struct long_double_int {
        long double value;
        int index;
    };
    const mlt_type *t = find("MPI_SHORT_INT");
    CHECK(t->size == sizeof(short) + sizeof(int) && t->extent == sizeof(struct short_int) &&
          blocks_of(t) == 2);
    CHECK(block_at(t, 1) == offsetof(struct short_int, index) && t->align == 2);
    t = find("MPI_LONG_DOUBLE_INT");
    CHECK(t->size == sizeof(long double) + sizeof(int) &&
          t->extent == sizeof(struct long_double_int));
    CHECK(blocks_of(find("MPI_DOUBLE_INT")) == 1 && !find("MPI_DOUBLE_INT")->contiguous);
    CHECK(find("MPI_2INT")->contiguous && find("MPI_FLOAT_INT")->contiguous);
    CHECK(find("MPI_LONG_DOUBLE")->size == sizeof(long double));
    CHECK(find("MPI_BYTE") == MLT_TYPE_BYTE && MLT_TYPE_BYTE->code == MLT_CODE_BYTE);
    CHECK(find("MPI_BYTE")->size == 1 && find("MPI_PACKED")->size == 1 &&
          find("MPI_WCHAR")->size == sizeof(wchar_t));
}

// Element by element, the slow and obvious way.
static void pack_slowly(const mlt_type *t, const unsigned char *buf, unsigned char *out, int count)
{
    for (int i = 0; i < count; i++)
        for (int b = 0; b < blocks_of(t); b++) {
            memcpy(out, buf + i * t->extent + block_at(t, b), block_length(t, b));
            out += block_length(t, b);
        }
}

static void check_cuts(const mlt_type *t)
{
    enum { COUNT = 3, MOST = COUNT * 64 };
    unsigned char buf[MOST], packed[MOST], part[MOST], back[MOST];
    uint64_t total = COUNT * t->size;
    CHECK(COUNT * t->extent <= MOST);
    for (int i = 0; i < MOST; i++)
        buf[i] = (unsigned char)(i * 7 + 3);
    pack_slowly(t, buf, packed, COUNT);
    for (uint64_t from = 0; from <= total; from++)
        for (uint64_t to = from; to <= total; to++) {
            memset(part, 0, sizeof part);
            mlt_type_pack(t, buf, from, part, to - from);
            CHECK(memcmp(part, packed + from, to - from) == 0);
            CHECK(to - from == MOST || part[to - from] == 0);
        }
    for (uint64_t cut = 0; cut <= total; cut++) {
        memset(back, 0xee, sizeof back);
        mlt_type_unpack(t, back, 0, packed, cut);
        mlt_type_unpack(t, back, cut, packed + cut, total - cut);
        pack_slowly(t, back, part, COUNT);
        CHECK(memcmp(part, packed, total) == 0);
        for (int i = 0; i < COUNT; i++) // what lies between the blocks is not touched
            if (blocks_of(t) == 2)
                for (int64_t gap = (int64_t)block_length(t, 0); gap < block_at(t, 1); gap++)
                    CHECK(back[i * t->extent + gap] == 0xee);
    }
}

int main(void)
{
    check_all();
    check_sizes();
    for (int i = 0; i < 1024; i++)
        if (mlt_type_predefined[i].magic)
            check_cuts(&mlt_type_predefined[i]);
    return 0;
}
