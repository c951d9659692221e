// SPDX-License-Identifier: BSD-3-Clause
// What programs share that end the job at the first thing that is wrong.
#pragma once

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size; // the program sets them

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    printf("rank %d: WRONG: %s (%s)\n", rank, what, strerror(errno));
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
