// SPDX-License-Identifier: BSD-3-Clause
// One body serves MPI_Allgather, MPI_Iallgather, MPI_Allgather_init and their large-count twins, another
// one MPI_Put and MPI_Rput (spec/gen_mpi.py). Beside the user's arguments such a body is given:
//
//     how        in which of the forms it was called
//     numbers    arrays of counts and displacements, of whichever width the user gives
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

// How a call that does not block is driven; NULL, MLT_BLOCKING: it blocks.
typedef struct mlt_how {
    MPI_Request *request; // where the request goes
    bool persistent;
    MPI_Info info; // of a persistent one: hints that nobody asks for, but a valid handle
} mlt_how;

#define MLT_BLOCKING               ((const mlt_how *)0)
#define MLT_NONBLOCKING(req)       (&(const mlt_how){.request = req})
#define MLT_PERSISTENT(req, hints) (&(const mlt_how){req, true, hints})

static inline bool mlt_how_is_persistent(const mlt_how *how)
{
    return how && how->persistent;
}

// An array as the user gives it: of int, or of MPI_Count or MPI_Aint in the large-count twins.
typedef struct mlt_coll_numbers {
    const void *at; // NULL: all are 0
    bool wide;
} mlt_coll_numbers;

_Static_assert(sizeof(MPI_Count) == 8 && sizeof(MPI_Aint) == 8, "mlt_coll_number reads both");

static inline int64_t mlt_coll_number(mlt_coll_numbers numbers, uint64_t i)
{
    if (numbers.wide)
        return ((const int64_t *)numbers.at)[i];
    return numbers.at ? ((const int *)numbers.at)[i] : 0;
}
