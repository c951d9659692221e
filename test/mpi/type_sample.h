// SPDX-License-Identifier: BSD-3-Clause
//
// An element of a predefined type and its bytes in "external32".

#pragma once

#include <float.h>

#include "check.h"

#define REP "external32"

struct sample {
    MPI_Datatype type;
    const char *name;
    const void *value;
    size_t here;
    int out; // bytes there
    unsigned char bytes[32];
};

// One element becomes these bytes, and these bytes that element.
static inline void check_sample(const struct sample *s)
{
    unsigned char packed[64], back[64];
    MPI_Aint size = -1, at = 0;
    MPI_Count large = 0;
    if (s->type == MPI_DATATYPE_NULL)
        return; // an optional type that this library does not have
    if (!STRICT &&
        (s->type == MPI_WCHAR || s->type == MPI_COMPLEX || s->type == MPI_DOUBLE_COMPLEX))
        return; // MPICH ends the program, or exchanges the two parts
    memset(packed, 0xee, sizeof packed);
    memset(back, 0xee, sizeof back);
    CHECK_OK(MPI_Pack_external_size(REP, 1, s->type, &size));
    if (size != s->out)
        check_fail(__FILE__, __LINE__, "%s: %ld bytes, should be %d", s->name, (long)size, s->out);
    CHECK_OK(MPI_Pack_external(REP, s->value, 1, s->type, packed, sizeof packed, &at));
    CHECK_INT(at, s->out);
    for (int i = 0; i < s->out; i++)
        if (packed[i] != s->bytes[i])
            check_fail(__FILE__, __LINE__, "%s: byte %d is %02x, should be %02x", s->name, i,
                       packed[i], s->bytes[i]);
    CHECK_INT(packed[s->out], 0xee);
    CHECK_OK(MPI_Unpack_external_c(REP, packed, s->out, &large, back, 1, s->type));
    CHECK_INT(large, s->out);
    // Of a long double on x86-64 only ten bytes count.
    size_t counts =
        s->here == 16 && LDBL_MANT_DIG == 64 && s->type == MPI_LONG_DOUBLE ? 10 : s->here;
    if (memcmp(back, s->value, counts) != 0)
        check_fail(__FILE__, __LINE__, "%s: another value came back", s->name);
    CHECK_INT(back[s->here], 0xee);
}

#define SAMPLE(type, c_type, value, out, ...)                                                      \
    {                                                                                              \
        type, #type, &(c_type){value}, sizeof(c_type), out,                                        \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define INT2   0xfe, 0xdc
#define INT4   0xfe, 0xdc, 0xba, 0x98
#define INT8   0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10
#define VALUE8 (int64_t)0xfedcba9876543210
#define ONE4   0x3f, 0x80, 0, 0
#define ONE8   0x3f, 0xf0, 0, 0, 0, 0, 0, 0
#define HALF4  0xbf, 0, 0, 0
#define HALF8  0xbf, 0xe0, 0, 0, 0, 0, 0, 0
#define ONE16  0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
