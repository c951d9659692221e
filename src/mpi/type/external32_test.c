// SPDX-License-Identifier: BSD-3-Clause
// The 80-bit long double of x86-64 from and to binary128, on every machine: bit patterns with their
// meaning written beside them.
#include "mpi/type/external32.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

typedef struct number {
    uint16_t top; // sign and exponent
    uint64_t significand;
    uint64_t high, low; // binary128
} number;

static void extended_of(unsigned char out[16], const number *n)
{
    memset(out, 0, 16);
    memcpy(out, &n->significand, 8);
    memcpy(out + 8, &n->top, 2);
}

static void quad_of(unsigned char out[16], const number *n)
{
    memcpy(out, &n->low, 8);
    memcpy(out + 8, &n->high, 8);
}

// Numbers that both can represent.
static void check_exact(void)
{
    static const number numbers[] = {
        {0, 0, 0, 0},                                                         // 0
        {0x8000, 0, 0x8000000000000000, 0},                                   // -0
        {0x3fff, 0x8000000000000000, 0x3fff000000000000, 0},                  // 1
        {0xbfff, 0xc000000000000000, 0xbfff800000000000, 0},                  // -1.5
        {0x4000, 0xc90fdaa22168c235, 0x4000921fb54442d1, 0x846a000000000000}, // pi in 64 bits
        {0x7ffe, 0xffffffffffffffff, 0x7ffeffffffffffff, 0xfffe000000000000}, // the largest
        {0x0001, 0x8000000000000000, 0x0001000000000000, 0},                  // least normal
        {0x0000, 0x0000000000000001, 0x0000000000000000, 0x0002000000000000}, // least of all
        {0x0000, 0x7fffffffffffffff, 0x0000ffffffffffff, 0xfffe000000000000}, // largest denormal
        {0x7fff, 0x8000000000000000, 0x7fff000000000000, 0},                  // infinity
        {0x7fff, 0xc000000000000000, 0x7fff800000000000, 0},                  // a NaN
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        unsigned char extended[16], quad[16], got[16];
        extended_of(extended, &numbers[i]);
        quad_of(quad, &numbers[i]);
        mlt_external32_widen(got, extended);
        CHECK(memcmp(got, quad, 16) == 0);
        mlt_external32_round(got, quad);
        CHECK(memcmp(got, extended, 16) == 0);
    }
}

// binary128 has 49 bits more.
static void check_rounding(void)
{
    static const number numbers[] = {
        {0x3fff, 0x8000000000000000, 0x3fff000000000000, 0x0000ffffffffffff}, // just below half
        {0x3fff, 0x8000000000000000, 0x3fff000000000000, 0x0001000000000000}, // half: to even
        {0x3fff, 0x8000000000000001, 0x3fff000000000000, 0x0001000000000001}, // just above half
        {0x3fff, 0x8000000000000002, 0x3fff000000000000, 0x0003000000000000}, // half: to even
        {0x4000, 0x8000000000000000, 0x3fffffffffffffff, 0xffffffffffffffff}, // the next exponent
        {0x7fff, 0x8000000000000000, 0x7ffeffffffffffff, 0xffffffffffffffff}, // infinity
        {0x0001, 0x8000000000000000, 0x0000ffffffffffff, 0xffffffffffffffff}, // becomes normal
        {0x7fff, 0x8000000000000001, 0x7fff000000000000, 0x0000000000000001}, // stays a NaN
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        unsigned char extended[16], quad[16], got[16];
        extended_of(extended, &numbers[i]);
        quad_of(quad, &numbers[i]);
        mlt_external32_round(got, quad);
        CHECK(memcmp(got, extended, 16) == 0);
    }
}

// Exponent 0 with an explicit 1 means exponent 1.
static void check_pseudo_denormal(void)
{
    number n = {0x0000, 0x8000000000000000, 0x0001000000000000, 0};
    unsigned char extended[16], quad[16], got[16];
    extended_of(extended, &n);
    quad_of(quad, &n);
    mlt_external32_widen(got, extended);
    CHECK(memcmp(got, quad, 16) == 0);
}

int main(void)
{
    check_exact();
    check_rounding();
    check_pseudo_denormal();
    return 0;
}
