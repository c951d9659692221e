// SPDX-License-Identifier: BSD-3-Clause
// Collective operations in which each rank knows only its own list of messages: MPI_Gatherv and
// the like.
//
// A list says for one buffer which of its blocks goes to whom, or comes from whom. The schedule
// (goal/spec.h: exchange) is made from the lists and kept with them: a call with equal ones finds
// it. Blocks without bytes are no messages; both sides know.
//
// Blocks of contiguous types are sent from where they lie, whatever the displacements. If one block
// of a list is not contiguous, all of them are packed.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/coll/coll.h"

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

static inline mlt_coll_numbers mlt_coll_narrow(const int *at)
{
    return (mlt_coll_numbers){at, false};
}

static inline mlt_coll_numbers mlt_coll_wide(const MPI_Count *at)
{
    return (mlt_coll_numbers){at, true};
}

static inline mlt_coll_numbers mlt_coll_wide_displs(const MPI_Aint *at)
{
    return (mlt_coll_numbers){at, true};
}

enum { MLT_COLL_NOBODY = -1 };

typedef struct mlt_coll_list {
    const char *which; // "send" or "recv", for error messages
    const void *buf;
    uint32_t blocks;
    int32_t peer; // of the only block; MLT_COLL_NOBODY: block b is rank b's
    int32_t skip; // block that is left out; MLT_COLL_NOBODY: none
    mlt_coll_numbers counts, displs;
    const mlt_type *type;      // of all blocks; displs are in extents; unless
    const MPI_Datatype *types; // [blocks]: of each; displs are in bytes. NULL: `type`
    bool apart;                // it is the other list's buffer, too: packed before anything is done
} mlt_coll_list;

// Checks the lists, and does what they say on an intracommunicator. `type` has been checked. form:
// which call that is; root: its own, or 0.
int mlt_coll_exchange(mlt_rank *me, mlt_comm *comm, const mlt_coll_list *send,
                      const mlt_coll_list *recv, mlt_coll_form form, int root, mlt_coll_how how);

// A list's argument that must be there ("recvcounts") is NULL.
int mlt_coll_bad_array(mlt_rank *me, mlt_comm *comm, const char *which, const char *name) MLT_COLD;
// "argument recvcounts[3] is -1, but should be ..."
int mlt_coll_bad_element(mlt_rank *me, mlt_comm *comm, int class, const char *which,
                         const char *name, uint64_t index, int64_t value,
                         const char *should) MLT_COLD;
