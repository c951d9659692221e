// SPDX-License-Identifier: BSD-3-Clause
// Reductions between two sets of a communicator's ranks (millet/coll.h), as one rank knows them.
//
// Not all ranks of the communicator call, so they cannot be numbered with its other calls. Each
// pair of sets has a team, made at its first use without asking other ranks: its context is a hash
// of the communicator's context and the sets, in a range that nothing else uses (p2p/context.h).
// Two pairs with the same hash could be mistaken for each other only by ranks that are in both, and
// such a rank sees it and raises an error (once in 2^29 pairs).
#pragma once

#include "coll/team.h"
#include "mpi/how.h"

struct mlt_reduce_tos;                                // of a communicator, in mlt_comm_extra
void mlt_reduce_tos_free(struct mlt_reduce_tos *all); // NULL is fine; none is under way

// Calls `tell` for the team of each pair. NULL is fine.
void mlt_reduce_tos_each(struct mlt_reduce_tos *all, void (*tell)(mlt_team *team));

// MPIX_Reduce_to and the like.
// MPIX_Treereduce.
int mlt_coll_treereduce(mlt_rank *me, const void *sendbuf, void *recvbuf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);

int mlt_coll_reduce_to(mlt_rank *me, const void *sendbuf, void *recvbuf, MPI_Count count,
                       MPI_Datatype datatype, MPI_Op op, MPI_Group contributors,
                       MPI_Group receivers, MPI_Comm comm, const mlt_how *how);
