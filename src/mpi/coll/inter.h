// SPDX-License-Identifier: BSD-3-Clause
// Collective operations on intercommunicators. A body that finds comm->inter calls one of these
// first thing and returns what it says:
//
//     if (MLT_UNLIKELY(comm->inter))
//         return mlt_inter_bcast(me, &data, root, comm, how);
//
// They take the arguments as the user gave them, a bad datatype being NULL, and check whatever
// counts at this rank. Arrays of numbers are passed as they are (mlt_coll_numbers).
//
// Rooted operations: the root says MPI_ROOT, the others of its group MPI_PROC_NULL, those of the
// other group its rank. Only a root and the other group have data. Without a root every group gets
// what the other one gives. Nothing is done in place.
//
// The schedules are over the ranks of both groups, those of the first group first (mlt_comm_flat);
// where a tree pays, they are algorithms of coll.h over one group, or over the root and the other
// group (src/coll/alg/inter.h).
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/op.h"
#include "mpi/coll/coll.h"
#include "mpi/coll/list.h"
#include "mpi/comm/comm.h"
#include "mpi/type/dtype.h"
#include "p2p/p2p.h"

// The operation of a reduction, as a body has resolved it: what it puts into a job's op, op_object
// and layout.
typedef struct mlt_inter_op {
    mlt_coll_op op; // op.element: bytes of an element of the buffers, as the team sees them
    void *object;   // the user's operation; NULL: predefined
    bool layout;    // mlt_coll_job.layout
} mlt_inter_op;

// A rank with MPI_PROC_NULL: no argument but comm counts, and none is looked at.
int mlt_inter_idle(mlt_rank *me, mlt_collective collective, mlt_comm *comm, const mlt_how *how);

int mlt_inter_bcast(mlt_rank *me, const mlt_coll_data *data, int root, mlt_comm *comm,
                    const mlt_how *how);
// Gather, scatter, allgather, alltoall.
int mlt_inter_blocks(mlt_rank *me, mlt_collective collective, const mlt_coll_data *send,
                     const mlt_coll_data *recv, int root, mlt_comm *comm, const mlt_how *how);
// For mlt_coll_exchange: every rank of the other group (root below 0), or the root.
int32_t mlt_inter_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i, int32_t *tag);

// Reductions. The type was checked, count was not. `op` is copied.
int mlt_inter_reduce(mlt_rank *me, mlt_collective collective, const mlt_coll_data *send,
                     const mlt_coll_data *recv, const mlt_inter_op *op, int root, mlt_comm *comm,
                     const mlt_how *how);
int mlt_inter_reduce_scatter(mlt_rank *me, const void *sendbuf, void *recvbuf,
                             mlt_coll_numbers recvcounts, const mlt_type *type,
                             const mlt_inter_op *op, mlt_comm *comm, const mlt_how *how);
int mlt_inter_reduce_scatter_block(mlt_rank *me, const void *sendbuf, void *recvbuf,
                                   MPI_Count recvcount, const mlt_type *type,
                                   const mlt_inter_op *op, mlt_comm *comm, const mlt_how *how);
