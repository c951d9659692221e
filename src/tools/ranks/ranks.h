// SPDX-License-Identifier: BSD-3-Clause
// What Millet's own programs of ranks share. They use nothing but the installed headers.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// Ends the job with a message of that program.
static inline _Noreturn void ranks_fail(const char *program, const char *what)
{
    fprintf(stderr, "%s: %s\n", program, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static inline int ranks_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
