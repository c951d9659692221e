// SPDX-License-Identifier: BSD-3-Clause
// Conversion to and from "external32". The standard's table fixes the sizes: a long has 4 bytes and
// a wide character 2 (the least significant ones are kept, and a signed one is extended again when
// it comes back), a long double is IEEE's binary128; everything else is as large as here. Of a
// truth value, any that is not 0 is true.
//
// The data passes through a small window of packed bytes, so that types of any layout need no
// temporary copy; contiguous ones are converted in place.
#include "mpi/type/external32.h"

#include <float.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/coll/signature.h"
#include "mpi/type/dtype.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bytes are reversed");

// ---- what is special

typedef enum rule_kind {
    REVERSE, // the bytes of each part
    NARROW,  // fewer bytes there, extended by 0
    NARROW_SIGNED,
    TRUTH,
    LONG_DOUBLE,
} rule_kind;

typedef struct rule {
    rule_kind kind;
    uint32_t parts;     // of an element: two in a complex number
    uint32_t here, out; // bytes of a part
} rule;

static rule rule_of(const mlt_type *type)
{
    static const struct {
        MPI_Datatype type;
        rule_kind kind;
        uint32_t parts, out; // out: 0: as here
    } special[] = {
        {MPI_LONG, NARROW_SIGNED, 1, 4},
        {MPI_UNSIGNED_LONG, NARROW, 1, 4},
        {MPI_WCHAR, NARROW, 1, 2},
        {MPI_C_BOOL, TRUTH, 1, 0},
        {MPI_CXX_BOOL, TRUTH, 1, 0},
        {MPI_LONG_DOUBLE, LONG_DOUBLE, 1, 16},
        {MPI_C_LONG_DOUBLE_COMPLEX, LONG_DOUBLE, 2, 16},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, LONG_DOUBLE, 2, 16},
        {MPI_C_FLOAT_COMPLEX, REVERSE, 2, 0},
        {MPI_C_DOUBLE_COMPLEX, REVERSE, 2, 0},
        {MPI_CXX_FLOAT_COMPLEX, REVERSE, 2, 0},
        {MPI_CXX_DOUBLE_COMPLEX, REVERSE, 2, 0},
        {MPI_COMPLEX, REVERSE, 2, 0},
        {MPI_DOUBLE_COMPLEX, REVERSE, 2, 0},
        {MPI_COMPLEX4, REVERSE, 2, 0},
        {MPI_COMPLEX8, REVERSE, 2, 0},
        {MPI_COMPLEX16, REVERSE, 2, 0},
        {MPI_COMPLEX32, REVERSE, 2, 0},
    };
    uint32_t size = (uint32_t)type->size;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if ((uintptr_t)special[i].type != type->code)
            continue;
        uint32_t here = size / special[i].parts;
        return (rule){special[i].kind, special[i].parts, here,
                      special[i].out ? special[i].out : here};
    }
    return (rule){REVERSE, 1, size, size};
}

static void add_run(void *sum, const mlt_type *basic, uint64_t n)
{
    rule r = rule_of(basic);
    *(uint64_t *)sum += n * r.parts * r.out;
}

uint64_t mlt_external32_size(const mlt_type *type)
{
    uint64_t sum = 0;
    if (!type->code)
        return mlt_dtype_of(type)->external32;
    mlt_signature_walk(type, 1, add_run, &sum); // a pair has two runs
    return sum;
}

// ---- long double

// An 80-bit number: 64 bits of significand, the first of them explicit, 15 of exponent, sign. In
// binary128 the exponent is the same, and 112 bits of fraction follow an implied 1.
enum { EXTENDED_BYTES = 10, SHIFT = 112 - 63, EXPONENT_MASK = 0x7fff };
#define EXPLICIT_ONE (UINT64_C(1) << 63)

void mlt_external32_widen(unsigned char quad[16], const unsigned char extended[16])
{
    uint64_t significand, high, low;
    uint16_t top;
    memcpy(&significand, extended, 8);
    memcpy(&top, extended + 8, 2);
    uint64_t fraction = significand & ~EXPLICIT_ONE;
    if ((top & EXPONENT_MASK) == 0 && (significand & EXPLICIT_ONE))
        top++; // a pseudo-denormal: its value is that of exponent 1
    high = (uint64_t)top << 48 | fraction >> (64 - SHIFT);
    low = fraction << SHIFT;
    memcpy(quad, &low, 8);
    memcpy(quad + 8, &high, 8);
}

void mlt_external32_round(unsigned char extended[16], const unsigned char quad[16])
{
    uint64_t high, low;
    memcpy(&low, quad, 8);
    memcpy(&high, quad + 8, 8);
    uint16_t top = (uint16_t)(high >> 48);
    uint64_t fraction = (high & ((UINT64_C(1) << 48) - 1)) << (64 - SHIFT) | low >> SHIFT;
    uint64_t lost = low & ((UINT64_C(1) << SHIFT) - 1), half = UINT64_C(1) << (SHIFT - 1);
    bool finite = (top & EXPONENT_MASK) != EXPONENT_MASK;
    if (!finite && lost && !fraction)
        fraction = 1; // a NaN whose bits are all lost stays one
    if (finite && (lost > half || (lost == half && (fraction & 1))))
        fraction++;
    if (fraction & EXPLICIT_ONE) { // all ones became one more: the next exponent, perhaps infinity
        fraction = 0;
        top++;
    }
    uint64_t significand = fraction | ((top & EXPONENT_MASK) ? EXPLICIT_ONE : 0);
    memset(extended, 0, 16);
    memcpy(extended, &significand, 8);
    memcpy(extended + 8, &top, 2);
}

// ---- parts

static inline void reverse(unsigned char *to, const unsigned char *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[n - 1 - i];
}

// The same for `parts` numbers, by one instruction each.
#define REVERSE_ALL(T, swap)                                                                       \
    for (uint64_t i = 0; i < parts; i++) {                                                         \
        T number;                                                                                  \
        memcpy(&number, from + i * sizeof number, sizeof number);                                  \
        number = swap(number);                                                                     \
        memcpy(to + i * sizeof number, &number, sizeof number);                                    \
    }

static void reverse_all(unsigned char *to, const unsigned char *from, uint32_t n, uint64_t parts)
{
    switch (n) {
    case 1:
        memcpy(to, from, parts);
        break;
    case 2:
        REVERSE_ALL(uint16_t, __builtin_bswap16)
        break;
    case 4:
        REVERSE_ALL(uint32_t, __builtin_bswap32)
        break;
    case 8:
        REVERSE_ALL(uint64_t, __builtin_bswap64)
        break;
    default:
        for (uint64_t i = 0; i < parts; i++)
            reverse(to + n * i, from + n * i, n);
    }
}

static void part_out(unsigned char *to, const unsigned char *from, const rule *r)
{
    unsigned char quad[16];
    switch (r->kind) {
    case TRUTH:
        *to = *from != 0;
        break;
    case LONG_DOUBLE:
        if (LDBL_MANT_DIG == 64) {
            mlt_external32_widen(quad, from);
            from = quad;
        }
        reverse(to, from, 16);
        break;
    default: // the least significant bytes come first here
        reverse(to, from, r->out);
    }
}

static void part_in(unsigned char *to, const unsigned char *from, const rule *r)
{
    unsigned char quad[16];
    switch (r->kind) {
    case TRUTH:
        *to = *from != 0;
        break;
    case LONG_DOUBLE:
        reverse(quad, from, 16);
        if (LDBL_MANT_DIG == 64)
            mlt_external32_round(to, quad);
        else
            memcpy(to, quad, 16);
        break;
    default:
        reverse(to, from, r->out);
        memset(to + r->out, r->kind == NARROW_SIGNED && (from[0] & 0x80) ? 0xff : 0,
               r->here - r->out);
    }
}

static void external32_convert(unsigned char *to, const unsigned char *from, const rule *r,
                               uint64_t parts, bool out)
{
    if (r->kind == REVERSE) {
        reverse_all(to, from, r->here, parts);
        return;
    }
    for (uint64_t i = 0; i < parts; i++)
        if (out)
            part_out(to + i * r->out, from + i * r->here, r);
        else
            part_in(to + i * r->here, from + i * r->out, r);
}

// ---- whole messages

enum {
    WINDOW = 1024,             // on a rank's stack
    DEVICE_WINDOW = 256 << 10, // of a device's memory, to which each copy is a call
};

typedef struct stream {
    const mlt_type *type;
    unsigned char *buf;      // the elements
    unsigned char *external; // the next byte there
    uint64_t at, total;      // bytes of the packed form that are done, and all
    uint64_t start, end;     // of the packed form: what the window holds
    bool out;
    unsigned char *window; // [room]
    uint64_t room;
} stream;

// Writes a filled window back to the elements.
static void external32_flush(stream *s)
{
    if (!s->out && s->at > s->start)
        mlt_type_unpack(s->type, s->buf, s->start, s->window, s->at - s->start);
    s->start = s->end = s->at;
}

// Room for at least one element at s->at, and how many fit.
static uint64_t external32_room(stream *s, uint64_t size, uint64_t n)
{
    if (s->type->contiguous)
        return n;
    if (s->end - s->at < size) {
        external32_flush(s);
        s->end = s->total - s->start < s->room ? s->total : s->start + s->room;
        if (s->out)
            mlt_type_pack(s->type, s->buf, s->start, s->window, s->end - s->start);
    }
    uint64_t fit = (s->end - s->at) / size;
    return fit < n ? fit : n;
}

static void convert_run(void *user, const mlt_type *basic, uint64_t n)
{
    stream *s = user;
    rule r = rule_of(basic);
    while (n > 0) {
        uint64_t k = external32_room(s, basic->size, n);
        unsigned char *here = s->type->contiguous ? s->buf + s->at : s->window + (s->at - s->start);
        external32_convert(s->out ? s->external : here, s->out ? here : s->external, &r,
                           k * r.parts, s->out);
        s->external += k * r.parts * r.out;
        s->at += k * basic->size;
        n -= k;
    }
}

static void run_stream(const mlt_type *type, const void *buf, uint64_t count, const void *external,
                       bool out)
{
    stream s;
    unsigned char window[WINDOW];
    s.type = type;
    s.window = type->device ? mlt_xrealloc(NULL, DEVICE_WINDOW, 1) : window;
    s.room = type->device ? DEVICE_WINDOW : WINDOW;
    s.buf = (unsigned char *)(uintptr_t)buf;
    s.external = (unsigned char *)(uintptr_t)external;
    s.at = s.start = s.end = 0;
    s.total = count * type->size;
    s.out = out;
    mlt_signature_walk(type, count, convert_run, &s);
    if (!type->contiguous)
        external32_flush(&s);
    if (s.window != window)
        free(s.window);
}

void mlt_external32_pack(const mlt_type *type, const void *buf, uint64_t count, void *to)
{
    run_stream(type, buf, count, to, true);
}

void mlt_external32_unpack(const mlt_type *type, void *buf, uint64_t count, const void *from)
{
    run_stream(type, buf, count, from, false);
}
