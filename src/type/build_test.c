// SPDX-License-Identifier: BSD-3-Clause
// Derived types against a naive reference, which is a list of the offsets of all bytes: random
// trees of all constructors, packed, unpacked and moved with random cuts. Buffers are exactly as
// large as the data, so that ASan sees every access beside it. `build_test SEED [COUNT]` runs other
// seeds.
#include "type/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "type/layout.h"
#include "type/layout_test.h"

static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)below((uint64_t)(high - low + 1));
}

// ---- the reference

typedef struct tree {
    mlt_type type;
    int64_t *at; // of each byte, in the order of the type map
    uint64_t n;
    bool any, sticky; // bounds: there are some; they were set
    int64_t lb, ub;
    int align;
} tree;

static void tree_free(tree *t)
{
    mlt_type_unmake(&t->type);
    free(t->at);
}

static tree tree_new(void)
{
    return (tree){0};
}

static int64_t extent_of(const tree *t)
{
    return t->any ? t->ub - t->lb : 0;
}

// Adds one element of `part` at a displacement.
static void add(tree *t, const tree *part, int64_t at)
{
    t->at = realloc(t->at, (t->n + part->n + 1) * sizeof *t->at);
    for (uint64_t i = 0; i < part->n; i++)
        t->at[t->n++] = part->at[i] + at;
    if (!part->any)
        return;
    t->align = part->align > t->align ? part->align : t->align;
    if (!t->any || (part->sticky && !t->sticky)) {
        t->lb = part->lb + at;
        t->ub = part->ub + at;
    } else if (part->sticky == t->sticky) {
        t->lb = part->lb + at < t->lb ? part->lb + at : t->lb;
        t->ub = part->ub + at > t->ub ? part->ub + at : t->ub;
    }
    t->any = true;
    t->sticky |= part->sticky;
}

static void add_block(tree *t, const tree *part, int64_t at, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        add(t, part, at + i * extent_of(part));
}

// ---- random trees

enum { BYTES_MOST = 1 << 14, PARTS_MOST = 5 };

static tree tree_random(int depth, uint64_t room);

static tree tree_basic(void)
{
    tree t = tree_new();
    const mlt_type *p;
    do
        p = &mlt_type_predefined[below(1024)];
    while (!p->magic);
    mlt_type_make_dup(&t.type, p);
    t.at = malloc((p->size + 1) * sizeof *t.at);
    for (uint64_t i = 0; i < p->size; i++)
        t.at[i] = (int64_t)i;
    if (p->layout)
        for (uint64_t i = p->layout->before[1]; i < p->size; i++)
            t.at[i] += p->layout->offset[1] - (int64_t)p->layout->before[1];
    t.n = p->size;
    t.any = true;
    t.ub = p->extent;
    t.align = p->align;
    return t;
}

// A count of items with that many bytes each, seldom a large one.
static int64_t some(const tree *old, uint64_t room)
{
    uint64_t most = room / (old->n ? old->n : 1);
    uint64_t limit = below(8) == 0 ? 3000 : below(4) == 0 ? 40 : 4;
    return (int64_t)below((most < limit ? most : limit) + 1);
}

static tree tree_vector(int depth, uint64_t room)
{
    tree old = tree_random(depth - 1, room), t = tree_new();
    int64_t count = some(&old, room), length = some(&old, room / (uint64_t)(count ? count : 1));
    int64_t extent = extent_of(&old), stride = between(-3, 40);
    if (below(3) == 0)
        stride = length * extent;
    else if (below(2) == 0)
        stride = extent * (length + between(-1, 3));
    else if (below(2) == 0)
        stride = -stride * extent;
    CHECK(mlt_type_make_vector(&t.type, &old.type, count, length, stride) == MLT_OK);
    for (int64_t i = 0; i < count; i++)
        add_block(&t, &old, i * stride, length);
    tree_free(&old);
    return t;
}

static tree tree_indexed(int depth, uint64_t room)
{
    tree old = tree_random(depth - 1, room), t = tree_new();
    int64_t count = some(&old, room), most = some(&old, room / (uint64_t)(count ? count : 1));
    int64_t *lengths = malloc((size_t)(count + 1) * 8), *at = malloc((size_t)(count + 1) * 8);
    bool same = below(3) == 0, touching = below(3) == 0;
    int64_t where = between(-50, 50);
    for (int64_t i = 0; i < count; i++) {
        lengths[i] = same ? most : (int64_t)below((uint64_t)most + 1);
        at[i] = where;
        where += lengths[i] * extent_of(&old);
        if (!touching || below(3) == 0)
            where += between(-5, 30);
        add_block(&t, &old, at[i], lengths[i]);
    }
    CHECK(mlt_type_make_indexed(&t.type, &old.type, count, same ? NULL : lengths, most, at) ==
          MLT_OK);
    free(lengths);
    free(at);
    tree_free(&old);
    return t;
}

static tree tree_struct(int depth, uint64_t room)
{
    tree old[PARTS_MOST], t = tree_new();
    const mlt_type *types[PARTS_MOST * 2];
    int64_t lengths[PARTS_MOST * 2], at[PARTS_MOST * 2], where = between(-20, 20);
    int kinds = (int)below(PARTS_MOST + 1), count = kinds + (kinds ? (int)below(PARTS_MOST) : 0);
    for (int i = 0; i < kinds; i++)
        old[i] = tree_random(depth - 1, room / (unsigned)count);
    for (int i = 0; i < count; i++) {
        const tree *part = &old[i < kinds ? i : (int)below((unsigned)kinds)];
        types[i] = &part->type;
        lengths[i] = below(3) == 0 ? some(part, room / (unsigned)count) : 1;
        at[i] = where;
        where += lengths[i] * extent_of(part) + (below(3) == 0 ? 0 : between(-3, 25));
        add_block(&t, part, at[i], lengths[i]);
    }
    if (t.any && !t.sticky)
        while ((t.ub - t.lb) % (1 << t.align))
            t.ub++;
    CHECK(mlt_type_make_struct(&t.type, count, lengths, at, types) == MLT_OK);
    for (int i = 0; i < kinds; i++)
        tree_free(&old[i]);
    return t;
}

static tree tree_resized(int depth, uint64_t room)
{
    tree t = tree_random(depth - 1, room);
    mlt_type old = t.type;
    int64_t lb = between(-40, 40), extent = extent_of(&t) + between(-8, 60);
    CHECK(mlt_type_make_resized(&t.type, &old, lb, extent) == MLT_OK);
    mlt_type_unmake(&old);
    t.any = t.sticky = true;
    t.lb = lb;
    t.ub = lb + extent;
    return t;
}

static tree tree_dup(int depth, uint64_t room)
{
    tree t = tree_random(depth - 1, room);
    mlt_type old = t.type;
    mlt_type_make_dup(&t.type, &old);
    mlt_type_unmake(&old);
    return t;
}

static tree tree_random(int depth, uint64_t room)
{
    static tree (*const kinds[])(int, uint64_t) = {
        tree_vector, tree_vector, tree_indexed, tree_struct, tree_struct, tree_resized, tree_dup,
    };
    if (depth <= 0 || room < 64)
        return tree_basic();
    return kinds[below(sizeof kinds / sizeof kinds[0])](depth, room);
}

// ---- checks

static void check_numbers(const tree *t)
{
    const mlt_type *type = &t->type;
    CHECK(type->magic == MLT_TYPE_MAGIC && type->code == 0 && !type->committed && !type->name);
    CHECK(type->size == t->n && type->extent == extent_of(t) && type->lb == (t->any ? t->lb : 0));
    CHECK(type->bounds == t->sticky && (!t->any || type->align == t->align));
    int64_t low = t->n ? t->at[0] : 0, high = t->n ? t->at[0] + 1 : 0;
    bool plain = true;
    for (uint64_t i = 0; i < t->n; i++) {
        low = t->at[i] < low ? t->at[i] : low;
        high = t->at[i] >= high ? t->at[i] + 1 : high;
        plain &= t->at[i] == (int64_t)i;
    }
    CHECK(type->true_lb == low && type->true_extent == high - low);
    CHECK((type->layout == NULL) == plain);
    CHECK((type->contiguous != 0) == (plain && type->extent == (int64_t)t->n));
    if (type->layout)
        CHECK(type->layout->size == t->n && type->layout->depth >= 1);
}

// `count` elements in memory that is no larger than they are.
typedef struct area {
    const tree *tree;
    uint64_t bytes; // of data
    unsigned char *memory, *used;
    int64_t low, size; // memory[0] is the byte at offset `low`
    bool overlaps;
} area;

static int64_t offset_of(const area *a, uint64_t i)
{
    return (int64_t)(i / a->tree->n) * a->tree->type.extent + a->tree->at[i % a->tree->n];
}

static void *base_of(const area *a) // integer: the buffer's address need not be in the buffer
{
    return (void *)((uintptr_t)a->memory - (uint64_t)a->low);
}

static unsigned char *byte_of(const area *a, uint64_t i)
{
    return &a->memory[offset_of(a, i) - a->low];
}

static area area_new(const tree *t, uint64_t count, unsigned first)
{
    area a = {.tree = t, .bytes = count * t->n};
    int64_t high = 0;
    for (uint64_t i = 0; i < a.bytes; i++) {
        int64_t at = offset_of(&a, i);
        a.low = i == 0 || at < a.low ? at : a.low;
        high = i == 0 || at >= high ? at + 1 : high;
    }
    a.size = high - a.low;
    a.memory = malloc((size_t)a.size + (a.size == 0));
    a.used = calloc((size_t)a.size + 1, 1);
    for (int64_t i = 0; i < a.size; i++)
        a.memory[i] = (unsigned char)(first + i * 7 + (i >> 8));
    for (uint64_t i = 0; i < a.bytes; i++) {
        unsigned char *used = &a.used[offset_of(&a, i) - a.low];
        a.overlaps |= *used;
        *used = 1;
    }
    return a;
}

static void area_free(area *a)
{
    free(a->memory);
    free(a->used);
}

static void check_pack(const area *a, uint64_t from, uint64_t n)
{
    unsigned char *out = malloc(n + (n == 0));
    mlt_type_pack(&a->tree->type, base_of(a), from, out, n);
    for (uint64_t i = 0; i < n; i++)
        CHECK(out[i] == *byte_of(a, from + i));
    free(out);
}

// Only the bytes [from, from + n) of the data are written.
static void check_rest(const area *a, uint64_t from, uint64_t n, unsigned char rest)
{
    memset(a->used, 0, (size_t)a->size);
    for (uint64_t i = from; i < from + n; i++)
        a->used[offset_of(a, i) - a->low] = 1;
    for (int64_t i = 0; i < a->size; i++)
        CHECK(a->used[i] || a->memory[i] == rest);
}

static void check_unpack(const area *a, uint64_t from, uint64_t n)
{
    unsigned char *packed = malloc(n + (n == 0));
    for (uint64_t i = 0; i < n; i++)
        packed[i] = (unsigned char)(i * 11 + 5);
    memset(a->memory, 0xee, (size_t)a->size);
    mlt_type_unpack(&a->tree->type, base_of(a), from, packed, n);
    for (uint64_t i = 0; i < n; i++)
        CHECK(*byte_of(a, from + i) == packed[i]);
    check_rest(a, from, n, 0xee);
    free(packed);
}

static void check_move(const area *to, const area *from, uint64_t at, uint64_t n)
{
    memset(to->memory, 0xdd, (size_t)to->size);
    mlt_type_move(&to->tree->type, base_of(to), &from->tree->type, base_of(from), at, n);
    for (uint64_t i = at; i < at + n; i++)
        CHECK(*byte_of(to, i) == *byte_of(from, i));
    check_rest(to, at, n, 0xdd);
}

// A cut of `total` bytes: the whole, or a random part.
static void cut(uint64_t total, uint64_t *from, uint64_t *n)
{
    *from = below(2) ? 0 : below(total + 1);
    *n = below(2) ? total - *from : below(total - *from + 1);
}

static void check_tree(const tree *t, const tree *other)
{
    check_numbers(t);
    if (t->n == 0)
        return;
    uint64_t from, n, most = below(4) ? 4 : 1 + (32 << 10) / t->n;
    area a = area_new(t, 1 + below(most), 1);
    for (int i = 0; i < 6; i++) {
        cut(a.bytes, &from, &n);
        check_pack(&a, from, n);
    }
    if (!a.overlaps && other->n) {
        area b = area_new(other, 1 + below(3) + a.bytes / other->n, 77);
        tree wider = *t; // the same data, other gaps
        CHECK(mlt_type_make_resized(&wider.type, &t->type, 0, t->type.extent + between(0, 3)) ==
              MLT_OK);
        area same = area_new(&wider, a.bytes / t->n, 3);
        uint64_t both = a.bytes < b.bytes ? a.bytes : b.bytes;
        for (int i = 0; i < 4; i++) {
            cut(a.bytes, &from, &n);
            check_unpack(&a, from, n);
            cut(both, &from, &n);
            check_move(&a, &b, from, n);
            cut(a.bytes, &from, &n);
            check_move(&a, &same, from, n);
        }
        area_free(&b);
        area_free(&same);
        mlt_type_unmake(&wider.type);
    }
    area_free(&a);
}

static void check_seed(uint64_t number)
{
    now_seed = random_state = number;
    tree a = tree_random((int)below(7), 64 << below(9)), b = tree_random((int)below(4), 1024);
    check_tree(&a, &b);
    tree_free(&a);
    tree_free(&b);
}

// ---- single cases

static const mlt_type *find(const char *name)
{
    for (int i = 0; i < 1024; i++)
        if (mlt_type_predefined[i].name && strcmp(mlt_type_predefined[i].name, name) == 0)
            return &mlt_type_predefined[i];
    failed(__FILE__, __LINE__, name);
}

static void check_memory(void)
{
    mlt_type vector, nested, moved;
    const int64_t one[] = {1, 1}, at[] = {8, INT64_C(1) << 40};
    CHECK(mlt_type_make_vector(&vector, find("MPI_DOUBLE"), 100000000, 1, 16) == MLT_OK);
    CHECK(vector.size == 800000000 && mlt_layout_memory(vector.layout) < 1024);
    CHECK(mlt_type_make_vector(&nested, &vector, 1000, 1, INT64_C(1) << 32) == MLT_OK);
    CHECK(mlt_layout_memory(nested.layout) < 1024);
    CHECK(mlt_type_make_indexed(&moved, &nested, 2, one, 0, at) == MLT_OK);
    CHECK(mlt_layout_memory(moved.layout) < 1024);
    mlt_type_unmake(&vector);
    mlt_type_unmake(&nested);
    mlt_type_unmake(&moved);
}

// Loops that continue each other, blocks that touch: one node is left, or none.
static void check_simple(void)
{
    const mlt_type *i4 = find("MPI_INT");
    mlt_type a, b, c;
    CHECK(mlt_type_make_vector(&a, i4, 10, 1, 8) == MLT_OK);
    CHECK(mlt_type_make_resized(&b, &a, 0, 80) == MLT_OK);
    CHECK(mlt_type_make_vector(&c, &b, 1, 7, 0) == MLT_OK);
    CHECK(c.layout->kind == LAYOUT_LOOP && c.layout->n == 70 && c.layout->depth == 1);
    mlt_type_unmake(&a);
    mlt_type_unmake(&b);
    mlt_type_unmake(&c);
    CHECK(mlt_type_make_vector(&a, i4, 10, 3, 12) == MLT_OK && a.contiguous && !a.layout);
    const int64_t lengths[] = {2, 0, 3, 1}, at[] = {0, 99, 8, 20};
    CHECK(mlt_type_make_indexed(&b, i4, 4, lengths, 0, at) == MLT_OK && b.contiguous);
    const int64_t backwards[] = {4, 0};
    CHECK(mlt_type_make_indexed(&c, i4, 2, NULL, 1, backwards) == MLT_OK);
    CHECK(!c.contiguous && c.layout && c.layout->n == 2 && c.lb == 0 && c.extent == 8);
    mlt_type_unmake(&c);
}

static void check_overflow(void)
{
    const mlt_type *d = find("MPI_DOUBLE");
    const int64_t far = INT64_MAX - 4, one = 1, two[] = {1, 1}, apart[] = {INT64_MIN, INT64_MAX};
    const mlt_type *types[] = {d, d};
    mlt_type out = {.name = "untouched"};
    CHECK(mlt_type_make_vector(&out, d, INT64_MAX, 1, 0) == MLT_ERR_INVALID);
    CHECK(mlt_type_make_vector(&out, d, INT64_MAX, INT64_MAX, INT64_MAX) == MLT_ERR_INVALID);
    CHECK(mlt_type_make_vector(&out, d, 3, 1, INT64_MAX / 2) == MLT_ERR_INVALID);
    CHECK(mlt_type_make_vector(&out, d, 3, 1, INT64_MIN / 2) == MLT_ERR_INVALID);
    CHECK(mlt_type_make_indexed(&out, d, 1, &one, 0, &far) == MLT_ERR_INVALID);
    CHECK(mlt_type_make_struct(&out, 2, two, apart, types) == MLT_ERR_INVALID);
    CHECK(mlt_type_make_struct(&out, 1, &far, &one, types) == MLT_ERR_INVALID);
    CHECK(mlt_type_make_resized(&out, d, INT64_MAX, 1) == MLT_ERR_INVALID);
    CHECK(strcmp(out.name, "untouched") == 0 && out.magic == 0);
    CHECK(mlt_type_make_vector(&out, d, INT64_MAX / 8, 1, 8) == MLT_OK && out.contiguous);
}

static tree tree_of(const mlt_type *type, int64_t bytes)
{
    tree t = {.n = (uint64_t)bytes, .any = true, .ub = bytes, .align = type->align};
    mlt_type_make_dup(&t.type, type);
    t.at = malloc((size_t)bytes * sizeof *t.at);
    for (int64_t i = 0; i < bytes; i++)
        t.at[i] = i;
    return t;
}

// A chain of structs, each around the last one, is as deep as it likes, but its layout is not.
static void check_deep(void)
{
    enum { LINKS = 3000, COUNT = 100 };
    const int64_t lengths[] = {1, 2}, gaps = 12;
    tree chain = tree_of(find("MPI_INT"), 4), link = tree_of(find("MPI_SHORT"), 2);
    mlt_type next;
    CHECK(mlt_type_make_vector(&next, &link.type, 2, 1, 4) == MLT_OK);
    link = (tree){
        .type = next, .at = realloc(link.at, 4 * 8), .n = 4, .any = true, .ub = 6, .align = 1};
    for (int i = 2; i < 4; i++)
        link.at[i] = i + 2;
    CHECK(mlt_type_make_vector(&next, &chain.type, COUNT, 1, 8) == MLT_OK);
    chain =
        (tree){.type = next, .at = chain.at, .n = 0, .any = true, .ub = COUNT * 8 - 4, .align = 2};
    chain.at = realloc(chain.at, (COUNT * 4 + LINKS * 8) * sizeof *chain.at);
    for (int64_t i = 0; i < COUNT * 4; i++)
        chain.at[chain.n++] = i / 4 * 8 + i % 4;
    for (int i = 0; i < LINKS; i++) {
        const int64_t at[] = {0, chain.type.extent + gaps};
        const mlt_type *types[] = {&chain.type, &link.type};
        CHECK(mlt_type_make_struct(&next, 2, lengths, at, types) == MLT_OK);
        mlt_type_unmake(&chain.type);
        chain.type = next;
        add_block(&chain, &link, at[1], 2);
        while (chain.ub % 4)
            chain.ub++;
    }
    CHECK(chain.type.layout->depth < 100);
    now_seed = random_state = 5;
    check_tree(&chain, &link);
    tree_free(&chain);
    tree_free(&link);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : argc > 1 ? 1 : 2000;
    check_memory();
    check_simple();
    check_overflow();
    check_deep();
    for (uint64_t i = 0; i < count; i++)
        check_seed(first + i);
    return 0;
}
