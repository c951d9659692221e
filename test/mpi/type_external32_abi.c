// SPDX-License-Identifier: BSD-3-Clause
//
// "external32" of the types that the standard ABI has beyond those of type_external32.c.

#include <complex.h>

#include "type_sample.h"

int main(int argc, char **argv)
{
    unsigned char up[32], down[32];
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int i = 0; i < 32; i++)
        up[i] = (unsigned char)i;
    for (int i = 0; i < 32; i++)
        down[i] = (unsigned char)((i / 16) * 16 + 15 - i % 16);
    struct sample all[] = {
        SAMPLE(MPI_REAL2, uint16_t, 0xfedc, 2, INT2),
        SAMPLE(MPI_COMPLEX4, uint32_t, 0x3210fedc, 4, INT2, 0x32, 0x10),
        SAMPLE(MPI_LOGICAL1, int8_t, 1, 1, 1),
        SAMPLE(MPI_LOGICAL2, int16_t, 1, 2, 0, 1),
        SAMPLE(MPI_LOGICAL4, int32_t, -1, 4, 0xff, 0xff, 0xff, 0xff),
        SAMPLE(MPI_LOGICAL8, int64_t, 1, 8, 0, 0, 0, 0, 0, 0, 0, 1),
        {MPI_LOGICAL16, "MPI_LOGICAL16", up, 16, 16, {0}},
        {MPI_INTEGER16, "MPI_INTEGER16", up, 16, 16, {0}},
        {MPI_REAL16, "MPI_REAL16", up, 16, 16, {0}},
        {MPI_COMPLEX32, "MPI_COMPLEX32", up, 32, 32, {0}},
    };
    for (int i = 0; i < COUNT_OF(all); i++) {
        if (all[i].here >= 16)
            memcpy(all[i].bytes, down, 32);
        check_sample(&all[i]);
    }
    struct sample parts =
        SAMPLE(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, 1 + I, 32, ONE16, ONE16);
    if (LDBL_MANT_DIG == 113)
        check_sample(&parts);
    CHECK_OK(MPI_Finalize());
    return 0;
}
