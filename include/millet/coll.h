// SPDX-License-Identifier: BSD-3-Clause
// Collective operations beyond MPI's.
//
// MPIX_Reduce_to: the contributors' elements are combined, and every receiver gets the result.
// Receivers need not contribute, contributors need not receive; sets of several reductions may
// overlap, and any number of them may be under way at once.
//
//     MPI_Group workers, watchers;                     // subsets of comm's group
//     MPIX_Reduce_to(mine, sum, n, MPI_DOUBLE, MPI_SUM, workers, watchers, comm);
//
// Who calls: every rank that is in one of the groups, and nobody else. All callers give the same
// sets (the order of ranks in a group does not matter), count, type and operation. Reductions
// between the same two sets are called in the same order by all of their ranks; those between
// different sets in any order. Operands are combined in the order of ranks in comm, if the
// operation does not commute. sendbuf counts at contributors, recvbuf at receivers; a rank that is
// both may give MPI_IN_PLACE as sendbuf. Blocking and nonblocking calls match each other, but not
// persistent ones.
//
// MPIX_Reduce_to_init is called by all ranks of comm in the same order, also by those in neither
// group, whose requests do nothing. So every rank knows all reductions, and each is given to the
// ranks that have least work so far: make all those that run at once, then start them together.
//
// comm is an intracommunicator. A communicator remembers every pair of sets that it was given until
// it is freed.
#ifndef MILLET_COLL_H
#define MILLET_COLL_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

int MPIX_Reduce_to(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                   MPI_Op op, MPI_Group contributors, MPI_Group receivers, MPI_Comm comm);
int MPIX_Ireduce_to(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                    MPI_Op op, MPI_Group contributors, MPI_Group receivers, MPI_Comm comm,
                    MPI_Request *request);
int MPIX_Reduce_to_init(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Op op, MPI_Group contributors, MPI_Group receivers, MPI_Comm comm,
                        MPI_Info info, MPI_Request *request);

// MPI_Reduce by a binomial tree, whatever the rules choose, as "MPI as a C++ Library" has it:
// combining and sending go in parallel, where a reduction that gathers adds up at the root. Ranks
// that share a worker combine first. All ranks of comm, an intracommunicator, call it.
int MPIX_Treereduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                    MPI_Op op, int root, MPI_Comm comm);

// The name that it has there.
static inline int MPI_treereduce(const void *sendbuf, void *recvbuf, int count,
                                 MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    return MPIX_Treereduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

// Loads rules, algorithms and paths of a Lua rule book for one communicator. They come before the job's
// (mpirun --coll); NULL forgets those that were loaded. Collective over comm, an intracommunicator.
// Every process reads the file, which must be the same everywhere. Algorithms are proven first: if
// one is wrong, all ranks raise MPI_ERR_ARG with the checker's message, and nothing changes.
int MPIX_Coll_load(MPI_Comm comm, const char *file);

#ifdef __cplusplus
}
#endif

#endif
