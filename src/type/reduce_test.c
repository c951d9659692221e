// SPDX-License-Identifier: BSD-3-Clause
// Every predefined operation on every predefined type, allowed or not, and on every unnamed pair of
// a value and an index, against a slow reference with a list of its own: lengths from 0 to 70,
// any alignment, and no byte written that is not the result's.
#include "type/reduce.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/unit_test.h"
#include "type/type.h"
#include "type/wide.h"

typedef mlt_arch_quad quad; // holds every other kind of number exactly, but for wide integers
typedef __int128 wide;
typedef unsigned __int128 uwide;

enum { MOST = 70, MOST_BYTES = 48, ROOM = (MOST + 2) * MOST_BYTES };

static mlt_reduce_op op; // under test
static char what[128];   // ... and the type

static void tell_op(void)
{
    fprintf(stderr, "  %s of %s\n", mlt_reduce_op_names[op], what);
}

// ---- the standard's table, once more, with one group of integers

// Name, group (Integer, Real, compleX, Logical, none), kind (Int, Unsigned, Float, Long double) and
// the bytes of a number.
#ifdef __CHAR_UNSIGNED__
#define CHAR_KIND(name) name " I U1"
#else
#define CHAR_KIND(name) name " I I1"
#endif
static const char *const types[] = {
    "MPI_SHORT I I2",
    "MPI_INT I I4",
    "MPI_LONG I I8",
    "MPI_LONG_LONG_INT I I8",
    "MPI_UNSIGNED_SHORT I U2",
    "MPI_UNSIGNED I U4",
    "MPI_UNSIGNED_LONG I U8",
    "MPI_UNSIGNED_LONG_LONG I U8",
    "MPI_SIGNED_CHAR I I1",
    "MPI_UNSIGNED_CHAR I U1",
    "MPI_INT8_T I I1",
    "MPI_UINT8_T I U1",
    "MPI_INT16_T I I2",
    "MPI_UINT16_T I U2",
    "MPI_INT32_T I I4",
    "MPI_UINT32_T I U4",
    "MPI_INT64_T I I8",
    "MPI_UINT64_T I U8",
    "MPI_INTEGER I I4",
    "MPI_INTEGER1 I I1",
    "MPI_INTEGER2 I I2",
    "MPI_INTEGER4 I I4",
    "MPI_INTEGER8 I I8",
    "MPI_INTEGER16 I I16",
    "MPI_AINT I I8",
    "MPI_COUNT I I8",
    "MPI_OFFSET I I8",
    "MPI_FLOAT R F4",
    "MPI_DOUBLE R F8",
    "MPI_LONG_DOUBLE R L16",
    "MPI_REAL R F4",
    "MPI_DOUBLE_PRECISION R F8",
    "MPI_REAL2 R F2",
    "MPI_REAL4 R F4",
    "MPI_REAL8 R F8",
    "MPI_REAL16 R F16",
    "MPI_C_COMPLEX X F4",
    "MPI_CXX_FLOAT_COMPLEX X F4",
    "MPI_C_DOUBLE_COMPLEX X F8",
    "MPI_CXX_DOUBLE_COMPLEX X F8",
    "MPI_C_LONG_DOUBLE_COMPLEX X L16",
    "MPI_CXX_LONG_DOUBLE_COMPLEX X L16",
    "MPI_COMPLEX X F4",
    "MPI_DOUBLE_COMPLEX X F8",
    "MPI_COMPLEX4 X F2",
    "MPI_COMPLEX8 X F4",
    "MPI_COMPLEX16 X F8",
    "MPI_COMPLEX32 X F16",
    "MPI_LOGICAL L I4",
    "MPI_LOGICAL1 L I1",
    "MPI_LOGICAL2 L I2",
    "MPI_LOGICAL4 L I4",
    "MPI_LOGICAL8 L I8",
    "MPI_LOGICAL16 L I16",
    "MPI_C_BOOL L U1",
    "MPI_CXX_BOOL L U1",
    "MPI_BYTE B U1",
    CHAR_KIND("MPI_CHAR"),
    "MPI_WCHAR - I4",
    CHAR_KIND("MPI_CHARACTER"),
    "MPI_PACKED - I1",
};

static const char *const named_pairs[][3] = {
    {"MPI_FLOAT_INT", "MPI_FLOAT", "MPI_INT"},
    {"MPI_DOUBLE_INT", "MPI_DOUBLE", "MPI_INT"},
    {"MPI_LONG_INT", "MPI_LONG", "MPI_INT"},
    {"MPI_2INT", "MPI_INT", "MPI_INT"},
    {"MPI_SHORT_INT", "MPI_SHORT", "MPI_INT"},
    {"MPI_LONG_DOUBLE_INT", "MPI_LONG_DOUBLE", "MPI_INT"},
    {"MPI_2REAL", "MPI_REAL", "MPI_REAL"},
    {"MPI_2DOUBLE_PRECISION", "MPI_DOUBLE_PRECISION", "MPI_DOUBLE_PRECISION"},
    {"MPI_2INTEGER", "MPI_INTEGER", "MPI_INTEGER"},
};

enum { TYPES = sizeof types / sizeof *types, PAIRS = sizeof named_pairs / sizeof *named_pairs };

static const char *const domains[MLT_REDUCE_OPS] = {
    [MLT_REDUCE_MAX] = "IR",     [MLT_REDUCE_MIN] = "IR",   [MLT_REDUCE_SUM] = "IRX",
    [MLT_REDUCE_PROD] = "IRX",   [MLT_REDUCE_LAND] = "IL",  [MLT_REDUCE_LOR] = "IL",
    [MLT_REDUCE_LXOR] = "IL",    [MLT_REDUCE_BAND] = "IB",  [MLT_REDUCE_BOR] = "IB",
    [MLT_REDUCE_BXOR] = "IB",    [MLT_REDUCE_MAXLOC] = "P", [MLT_REDUCE_MINLOC] = "P",
    [MLT_REDUCE_REPLACE] = NULL, [MLT_REDUCE_NO_OP] = NULL, // everything
};

typedef struct kind {
    char group, letter;
    unsigned bytes, parts; // of a number; numbers in an element
    char name[40];
    uint16_t code;
} kind;

static uint16_t code_of(const char *name)
{
    for (uint16_t c = 0; c < 1024; c++)
        if (mlt_type_predefined[c].magic && strcmp(mlt_type_predefined[c].name, name) == 0)
            return mlt_type_predefined[c].code;
    fprintf(stderr, "no type is called %s\n", name);
    exit(1);
}

static kind kind_of(int t)
{
    kind k = {0};
    sscanf(types[t], "%39s %c %c%u", k.name, &k.group, &k.letter, &k.bytes);
    k.parts = k.group == 'X' ? 2 : 1;
    k.code = code_of(k.name);
    return k;
}

static kind kind_named(const char *name)
{
    for (int t = 0; t < TYPES; t++) {
        kind k = kind_of(t);
        if (strcmp(k.name, name) == 0)
            return k;
    }
    fprintf(stderr, "%s is not in the list\n", name);
    exit(1);
}

// ---- numbers

typedef struct number {
    wide i;
    quad f;
} number;

static bool is_whole(const kind *k)
{
    return k->letter == 'I' || k->letter == 'U';
}

static bool negative(quad x)
{
    unsigned char bytes[sizeof x];
    memcpy(bytes, &x, sizeof x);
    return bytes[sizeof x - 1] >> 7;
}

static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double value;
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -value : value;
}

static uint16_t half_nearest(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (size >= 65520) // half way from the greatest one to 2^16: to the even one
        return sign | 0x7c00;
    int exponent = size < ldexp(1, -14) ? -14 : ilogb(size);
    double ulps = rint(ldexp(size, 10 - exponent)); // ties to even; the exponent may grow by it
    uint32_t bits =
        ulps < 1024 ? (uint32_t)ulps : ((uint32_t)(exponent + 14) << 10) + (uint32_t)ulps;
    return (uint16_t)(sign | bits);
}

static number load(const kind *k, const void *from)
{
    number n = {0};
    uint16_t half;
    float f;
    double d;
    long double l;
    if (is_whole(k)) {
        unsigned shift = 128 - 8 * k->bytes;
        uwide bits = 0;
        memcpy(&bits, from, k->bytes);
        n.i = k->letter == 'I' ? (wide)(bits << shift) >> shift : (wide)bits;
    } else if (k->letter == 'L') {
        memcpy(&l, from, sizeof l);
        n.f = l;
    } else if (k->bytes == 2) {
        memcpy(&half, from, 2);
        n.f = half_value(half);
    } else if (k->bytes == 4) {
        memcpy(&f, from, 4);
        n.f = f;
    } else if (k->bytes == 8) {
        memcpy(&d, from, 8);
        n.f = d;
    } else {
        memcpy(&n.f, from, 16);
    }
    return n;
}

// Rounds once. `to` has room for 16 bytes.
static void store(const kind *k, number n, void *to)
{
    uint16_t half = half_nearest((double)n.f);
    float f = (float)n.f;
    double d = (double)n.f;
    long double l = (long double)n.f;
    const void *from = k->bytes == 2 ? (void *)&half : k->bytes == 4 ? (void *)&f : (void *)&d;
    if (is_whole(k))
        from = &n.i;
    else if (k->letter == 'L')
        from = &l;
    else if (k->bytes == 16)
        from = &n.f;
    memcpy(to, from, k->letter == 'L' ? sizeof l : k->bytes);
}

static quad rounded(const kind *k, quad x)
{
    unsigned char bytes[32];
    store(k, (number){.f = x}, bytes);
    return load(k, bytes).f;
}

static number any_number(const kind *k)
{
    static const double edges[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 60000, -3};
    uint64_t r = random64();
    number n = {0};
    unsigned char bytes[16];
    if (is_whole(k)) {
        uwide bits = (uwide)random64() << 64 | random64();
        uwide one = (uwide)1 << (8 * k->bytes - 1);
        uwide few[] = {0, 1, ~(uwide)0, one, one - 1, 2, 3};
        n.i = (wide)(r % 3 ? bits : few[r / 3 % 7]);
    } else if (r % 3 == 0) {
        n.f = edges[r / 3 % (sizeof edges / sizeof *edges)];
    } else {
        n.f = ((quad)(int64_t)random64() + (quad)random64() / 0x1p64) / 0x1p61;
    }
    store(k, n, bytes);
    return load(k, bytes);
}

static bool same(const kind *k, number a, number b)
{
    if (is_whole(k))
        return a.i == b.i;
    return (a.f != a.f && b.f != b.f) || (a.f == b.f && negative(a.f) == negative(b.f));
}

// ---- references

static number best_of(const kind *k, bool greater, number a, number b)
{
    if (is_whole(k))
        return (a.i > b.i) == greater ? a : b;
    if (a.f != a.f || b.f != b.f)
        return a.f != a.f ? a : b;
    if (a.f == b.f)
        return negative(a.f) != greater ? a : b;
    return (a.f > b.f) == greater ? a : b;
}

static number whole_reference(const kind *k, number a, number b)
{
    unsigned char bytes[16];
    number n = {0};
    switch (op) {
    case MLT_REDUCE_SUM:
        n.i = (wide)((uwide)a.i + (uwide)b.i);
        break;
    case MLT_REDUCE_PROD:
        n.i = (wide)((uwide)a.i * (uwide)b.i);
        break;
    case MLT_REDUCE_LAND:
        n.i = a.i != 0 && b.i != 0;
        break;
    case MLT_REDUCE_LOR:
        n.i = a.i != 0 || b.i != 0;
        break;
    case MLT_REDUCE_LXOR:
        n.i = (a.i != 0) + (b.i != 0) == 1;
        break;
    case MLT_REDUCE_BAND:
        n.i = a.i & b.i;
        break;
    case MLT_REDUCE_BOR:
        n.i = a.i | b.i;
        break;
    default:
        n.i = a.i ^ b.i;
        break;
    }
    store(k, n, bytes);
    return load(k, bytes);
}

static quad add(const kind *k, quad a, quad b)
{
    if (k->letter == 'L')
        return (long double)a + (long double)b;
    return rounded(k, a + b);
}

static quad times(const kind *k, quad a, quad b)
{
    if (k->letter == 'L')
        return (long double)a * (long double)b;
    return rounded(k, a * b);
}

// Halves are counted as floats until the result.
static void product(const kind *k, const number *a, const number *b, number *out)
{
    kind f = *k;
    if (k->bytes == 2)
        f.bytes = 4;
    out[0].f = add(&f, times(&f, a[0].f, b[0].f), -times(&f, a[1].f, b[1].f));
    out[1].f = add(&f, times(&f, a[0].f, b[1].f), times(&f, a[1].f, b[0].f));
    for (int p = 0; p < 2; p++)
        out[p].f = rounded(k, out[p].f);
}

static void reference(const kind *k, const number *a, const number *b, number *out)
{
    if (op == MLT_REDUCE_PROD && k->parts == 2) {
        product(k, a, b, out);
        return;
    }
    for (unsigned p = 0; p < k->parts; p++) {
        if (op >= MLT_REDUCE_REPLACE)
            out[p] = op == MLT_REDUCE_REPLACE ? b[p] : a[p];
        else if (op == MLT_REDUCE_MAX || op == MLT_REDUCE_MIN)
            out[p] = best_of(k, op == MLT_REDUCE_MAX, a[p], b[p]);
        else if (is_whole(k))
            out[p] = whole_reference(k, a[p], b[p]);
        else
            out[p].f = op == MLT_REDUCE_SUM ? add(k, a[p].f, b[p].f) : times(k, a[p].f, b[p].f);
    }
}

// ---- elements of a type: numbers at offsets

typedef struct element {
    kind k[2]; // a pair's value and index; else the same twice
    unsigned parts, at[2], bytes;
    bool pair;
} element;

static element plain(kind k)
{
    return (element){{k, k}, k.parts, {0, k.bytes}, k.bytes * k.parts, false};
}

static unsigned up(unsigned x, unsigned align)
{
    return (x + align - 1) / align * align;
}

static element pair_of(kind value, kind index)
{
    unsigned v = 1u << mlt_type_predefined[value.code % 1024].align;
    unsigned i = 1u << mlt_type_predefined[index.code % 1024].align;
    element e = {{value, index}, 2, {0, up(value.bytes, i)}, 0, true};
    e.bytes = up(e.at[1] + index.bytes, v > i ? v : i);
    return e;
}

static void fill(const element *e, unsigned char *to, unsigned count, bool few)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned p = 0; p < e->parts; p++) {
            number n = any_number(&e->k[p]);
            if (few) // so that values are equal now and then
                n = (number){(wide)(random64() % 3), (quad)(random64() % 3)};
            unsigned char bytes[16];
            store(&e->k[p], n, bytes);
            memcpy(to + i * e->bytes + e->at[p], bytes, e->k[p].bytes);
        }
}

static void expect(const element *e, const unsigned char *before, const unsigned char *in,
                   const unsigned char *after)
{
    number a[2], b[2], r[2], want[2] = {{0}};
    for (unsigned p = 0; p < e->parts; p++) {
        a[p] = load(&e->k[p], before + e->at[p]);
        b[p] = load(&e->k[p], in + e->at[p]);
        r[p] = load(&e->k[p], after + e->at[p]);
    }
    if (e->pair && op < MLT_REDUCE_REPLACE) {
        bool most = op == MLT_REDUCE_MAXLOC, tie = a[0].i == b[0].i;
        if (!is_whole(&e->k[0]))
            tie = a[0].f == b[0].f || (a[0].f != a[0].f && b[0].f != b[0].f);
        want[0] = best_of(&e->k[0], most, a[0], b[0]);
        want[1] = tie                             ? best_of(&e->k[1], false, a[1], b[1])
                  : same(&e->k[0], want[0], a[0]) ? a[1]
                                                  : b[1];
    } else if (e->pair) {
        memcpy(want, op == MLT_REDUCE_REPLACE ? b : a, sizeof want);
    } else {
        reference(&e->k[0], a, b, want);
    }
    for (unsigned p = 0; p < e->parts; p++)
        CHECK(same(&e->k[p], want[p], r[p]));
}

// Bytes of no number, and those around, must stay. MPI_REPLACE may take the bytes between along.
static void expect_rest(const element *e, const unsigned char *was, const unsigned char *is,
                        unsigned shift, unsigned count)
{
    for (unsigned i = 0; i < ROOM; i++) {
        unsigned at = (i - shift) % e->bytes;
        bool inside = i >= shift && i < shift + count * e->bytes;
        bool data = at < e->k[0].bytes ||
                    (e->parts == 2 && at >= e->at[1] && at < e->at[1] + e->k[1].bytes);
        if (!inside || (!data && op != MLT_REDUCE_REPLACE))
            CHECK(was[i] == is[i]);
    }
}

static void try_kernel(const element *e, const mlt_reduction *r, unsigned count)
{
    static unsigned char inout[ROOM], in[ROOM], before[ROOM], other[ROOM];
    unsigned to = (unsigned)random64() % 32, from = (unsigned)random64() % 32;
    for (unsigned i = 0; i < ROOM; i++)
        inout[i] = (unsigned char)random64();
    memcpy(in, inout, ROOM);
    bool few = random64() % 2;
    fill(e, inout + to, count, few);
    fill(e, in + from, count, few);
    memcpy(before, inout, ROOM);
    memcpy(other, in, ROOM);
    r->kernel(inout + to, in + from, count);
    CHECK(memcmp(in, other, ROOM) == 0);
    expect_rest(e, before, inout, to, count);
    for (unsigned i = 0; i < count * e->bytes; i += e->bytes)
        expect(e, before + to + i, in + from + i, inout + to + i);
    // Both sides the same memory.
    memcpy(inout, before, ROOM);
    r->kernel(inout + to, inout + to, count);
    for (unsigned i = 0; i < count * e->bytes; i += e->bytes)
        expect(e, before + to + i, before + to + i, inout + to + i);
    // The other order, unless the operation says that it matters.
    memcpy(inout, other, ROOM);
    r->kernel(inout + from, before + to, count);
    for (unsigned i = 0; r->commutes && i < count * e->bytes; i += e->bytes)
        expect(e, before + to + i, other + from + i, inout + from + i);
}

static void try_all_lengths(const element *e, const mlt_reduction *r)
{
    CHECK(r->element == e->bytes);
    CHECK(r->kernel != NULL);
    CHECK(r->commutes == (op < MLT_REDUCE_REPLACE));
    CHECK(r->exact == !((op == MLT_REDUCE_SUM || op == MLT_REDUCE_PROD) && !is_whole(&e->k[0])));
    if (r->op != MLT_OPS) {
        CHECK((int)r->op == (int)op);
        CHECK(mlt_op_type_bytes[r->type] == e->bytes);
        CHECK(mlt_op_kernels[r->op][r->type] == r->kernel);
    }
    for (unsigned count = 0; count <= MOST; count += count < 20 ? 1 : 5)
        try_kernel(e, r, count);
}

static void expect_refusal(bool found, const char *why, const char *name)
{
    char want[300];
    snprintf(want, sizeof want, "%s works on %s, not on %s", mlt_reduce_op_names[op],
             mlt_reduce_domain(op), name);
    CHECK(!found);
    CHECK(strcmp(why, want) == 0);
}

static void try_named(void)
{
    mlt_reduction r;
    char why[300];
    for (int t = 0; t < TYPES; t++) {
        kind k = kind_of(t);
        snprintf(what, sizeof what, "%s", k.name);
        bool found = mlt_reduce_find(op, k.code, &r, why, sizeof why);
        element e = plain(k);
        if (!domains[op] || strchr(domains[op], k.group))
            CHECK(found), try_all_lengths(&e, &r);
        else
            expect_refusal(found, why, k.name);
    }
    for (int t = 0; t < PAIRS; t++) {
        snprintf(what, sizeof what, "%s", named_pairs[t][0]);
        bool found = mlt_reduce_find(op, code_of(what), &r, why, sizeof why);
        element e = pair_of(kind_named(named_pairs[t][1]), kind_named(named_pairs[t][2]));
        if (op >= MLT_REDUCE_MAXLOC)
            CHECK(found), try_all_lengths(&e, &r);
        else
            expect_refusal(found, why, what);
    }
}

static void try_unnamed(void)
{
    mlt_reduction r;
    char why[300];
    for (int v = 0; v < TYPES; v++)
        for (int i = 0; i < TYPES; i++) {
            kind value = kind_of(v), index = kind_of(i);
            snprintf(what, sizeof what, "a pair of %s and %s", value.name, index.name);
            bool found = mlt_reduce_find_pair(op, value.code, index.code, &r, why, sizeof why);
            bool there = strchr("IR", value.group) && strchr("I", index.group);
            if (!there || op < MLT_REDUCE_MAXLOC) {
                expect_refusal(found, why, what);
                continue;
            }
            CHECK(found);
            element e = pair_of(value, index);
            CHECK(r.element == e.bytes);
            for (unsigned count = 0; count <= MOST; count += count < 4 ? 1 : 33)
                try_kernel(&e, &r, count);
        }
}

// What a kernel computes is told by its address.
static mlt_op_type listed(const kind *k)
{
    unsigned log = k->bytes == 1 ? 0 : k->bytes == 2 ? 1 : k->bytes == 4 ? 2 : 3;
    if (k->bytes > 8)
        return MLT_OP_TYPES;
    return (mlt_op_type)(k->letter == 'F'   ? MLT_OP_FLOAT16 + log - 1
                         : k->letter == 'U' ? MLT_OP_UINT8 + log
                                            : MLT_OP_INT8 + log);
}

static void try_form(mlt_op_kernel *kernel, mlt_reduce_shape shape, const kind *value,
                     const kind *index)
{
    mlt_reduce_form form;
    CHECK(mlt_reduce_find_form(kernel, &form));
    CHECK(form.shape == shape && form.op == op);
    CHECK(!value || form.number == listed(value));
    CHECK(!index || form.index == listed(index));
}

static void no_kernel(void *inout, const void *in, uint64_t count)
{
    (void)inout, (void)in, (void)count;
}

static void try_forms(void)
{
    mlt_reduction r;
    mlt_reduce_form form;
    char why[300];
    for (int t = 0; t < TYPES; t++) {
        kind k = kind_of(t);
        snprintf(what, sizeof what, "%s, its form", k.name);
        if (!mlt_reduce_find(op, k.code, &r, why, sizeof why))
            continue;
        mlt_reduce_shape shape = op >= MLT_REDUCE_REPLACE ? MLT_REDUCE_MOVES
                                 : k.parts == 2           ? MLT_REDUCE_COMPLEX
                                                          : MLT_REDUCE_NUMBERS;
        try_form(r.kernel, shape, op >= MLT_REDUCE_REPLACE ? NULL : &k, NULL);
        mlt_op_kernel *wider = r.op < MLT_OPS ? mlt_op_wide(r.op, r.type) : NULL;
        if (wider) { // the same one with and without a sign
            CHECK(mlt_reduce_find_form(wider, &form) && form.shape == shape && form.op == op);
            CHECK(mlt_op_type_bytes[form.number] == k.bytes);
        }
        for (int i = 0; i < TYPES; i++) {
            kind index = kind_of(i);
            if (mlt_reduce_find_pair(op, k.code, index.code, &r, why, sizeof why))
                try_form(r.kernel, op < MLT_REDUCE_REPLACE ? MLT_REDUCE_PAIRS : MLT_REDUCE_MOVES,
                         op < MLT_REDUCE_REPLACE ? &k : NULL,
                         op < MLT_REDUCE_REPLACE ? &index : NULL);
        }
    }
    CHECK(mlt_reduce_find_form(mlt_op_kernels[MLT_OP_COPY][MLT_OP_INT64], &form));
    CHECK(form.shape == MLT_REDUCE_MOVES && form.op == MLT_REDUCE_REPLACE);
    CHECK(!mlt_reduce_find_form(NULL, &form) && !mlt_reduce_find_form(no_kernel, &form));
}

static void try_sentences(void)
{
    mlt_reduction r;
    char why[300];
    op = MLT_REDUCE_BAND;
    CHECK(!mlt_reduce_find(op, code_of("MPI_DOUBLE"), &r, why, sizeof why));
    CHECK(strcmp(why, "MPI_BAND works on integers and bytes, not on MPI_DOUBLE") == 0);
    CHECK(!mlt_reduce_find(op, 1, &r, why, sizeof why)); // no type
    CHECK(strstr(why, "an unknown type") != NULL);
}

// All types of the ABI are in the list above.
static void try_complete(void)
{
    int known = 0;
    for (int c = 0; c < 1024; c++)
        known += mlt_type_predefined[c].magic == MLT_TYPE_MAGIC;
    CHECK(known == TYPES + PAIRS);
}

int main(void)
{
    tell_more = tell_op;
    try_complete();
    for (int o = 0; o < MLT_REDUCE_OPS; o++) {
        op = (mlt_reduce_op)o;
        try_named();
        try_unnamed();
        try_forms();
    }
    try_sentences();
    return 0;
}
