// SPDX-License-Identifier: BSD-3-Clause
//
// The predefined datatypes that the standard ABI has beyond those of datatypes.c.

#include "datatypes.h"

int main(int argc, char **argv)
{
    const struct basic types[] = {
        BASIC(MPI_LOGICAL1, 1), BASIC(MPI_LOGICAL2, 2),   BASIC(MPI_LOGICAL4, 4),
        BASIC(MPI_LOGICAL8, 8), BASIC(MPI_LOGICAL16, 16), BASIC(MPI_INTEGER16, 16),
        BASIC(MPI_REAL2, 2),    BASIC(MPI_COMPLEX4, 4),
    };
    CHECK_OK(MPI_Init(&argc, &argv));
    basic_exchange_all(types, COUNT_OF(types));
    CHECK_OK(MPI_Finalize());
    return 0;
}
