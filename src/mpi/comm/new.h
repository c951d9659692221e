// SPDX-License-Identifier: BSD-3-Clause
// Making communicators: what MPI_Comm_dup, split and the like, and topologies, stand on. All of
// these are collective over `comm` and may suspend.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

// As MPI_Comm_split: the ranks of one colour form a new communicator, in the order of key, then of
// rank in comm. color: MPI_UNDEFINED or at least 0; *out is NULL for MPI_UNDEFINED. The new
// communicator inherits comm's error handler and session, and has no topology, attributes or name.
// comm may be an intercommunicator. Returns an MPI code (an error has been raised).
int mlt_comm_split(mlt_rank *me, mlt_comm *comm, int color, int key, mlt_comm **out);

// The same, but what decides is the first of several kinds of colour that not all ranks have alike:
// -1 is none. *divided says which; -1: there is no such kind, and *out is NULL. Ranks may call
// mlt_comm_split with MPI_UNDEFINED meanwhile.
enum { MLT_SPLIT_INSTANCES = 16 };
int mlt_comm_split_by(mlt_rank *me, mlt_comm *comm, const int instances[MLT_SPLIT_INSTANCES],
                      int key, int *divided, mlt_comm **out);

// What every rank of comm gave, in the order of ranks.
typedef struct mlt_gathered {
    const void *data;   // of all ranks, one after the other
    const uint64_t *at; // rank r's part is data + at[r] .. data + at[r + 1]
    struct mlt_gathered_memory *memory;
} mlt_gathered;

// Everybody's bytes to everybody: `bytes` may differ between ranks. The result is one copy a
// worker, shared by its ranks: each of them must call mlt_gathered_free. comm is an
// intracommunicator.
int mlt_comm_gather(mlt_rank *me, mlt_comm *comm, const void *mine, size_t bytes,
                    mlt_gathered *out);
void mlt_gathered_free(mlt_gathered *gathered);

// Returns when all ranks of comm have called it. May suspend.
void mlt_comm_agree(mlt_rank *me, mlt_comm *comm);

// Where a rank of comm lives: the index of its worker in the job, and of its process. Ranks with
// the same worker talk fastest, then those with the same process, then the same host.
uint32_t mlt_comm_worker_of(const mlt_comm *comm, int rank);

// Gives a communicator a topology: consumes the reference. Equal topologies of the ranks of a
// worker become one.
void mlt_comm_set_topo(mlt_comm *comm, struct mlt_topo *topo);

// Frees a communicator as MPI_Comm_free does (attributes are deleted first; the code of a failing
// delete function is returned and nothing is freed). Local.
int mlt_comm_free(mlt_rank *me, mlt_comm *comm);
