// SPDX-License-Identifier: BSD-3-Clause
// What the files that make communicators share.
#pragma once

#include "mpi/comm/agreement.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/context.h"
#include "mpi/comm/new.h"

// A new shared part without references yet: each mlt_comm_new takes one. Consumes the references on
// the maps and on the context number; group1 is NULL except for an intercommunicator.
mlt_comm_shared *mlt_comm_shared_new(mlt_context *id, mlt_map *group0, mlt_map *group1);

void mlt_comm_shared_drop(mlt_comm_shared *shared); // NULL is allowed

// A communicator of `me`, rank `rank` of shared->group[side]. It inherits the error handler and the
// session of `like`, which may be NULL.
mlt_comm *mlt_comm_new(mlt_rank *me, mlt_comm_shared *shared, int side, int32_t rank,
                       const mlt_comm *like);

// Its workers; found out at the first call.
mlt_members *mlt_comm_members(mlt_comm *comm);

// Its rank's place in the order of all ranks, those of a remote group included.
static inline int32_t mlt_comm_order(const mlt_comm *comm)
{
    return comm->rank + (comm->side ? comm->shared->group[0]->size : 0);
}

// The next agreement of all ranks of comm.
mlt_agreement_place mlt_comm_place(mlt_comm *comm, bool wants_id,
                                   void (*finish)(mlt_agreement *agreement));

// The whole of it: comes, and returns when it is over, or at once if the participant is on the heap.
void mlt_comm_meet(mlt_comm *comm, mlt_participant *participant, bool wants_id,
                   void (*finish)(mlt_agreement *agreement), const void *mine, uint64_t bytes);

// An agreement of the ranks of one group or two, without a common communicator. `key` and `tag` tell
// it from others.
mlt_agreement_place mlt_group_place(mlt_rank *me, mlt_map *group0, mlt_map *group1,
                                    uint32_t context, int tag, uint64_t key, bool wants_id,
                                    void (*finish)(mlt_agreement *agreement));

// The hints of `info` that communicators know, and nothing else; NULL: none. The caller's.
struct mlt_info *mlt_comm_hints(const struct mlt_info *info);

void mlt_comm_extra_free(mlt_rank *me, mlt_comm_extra *extra); // NULL is allowed

// Drops everything that a communicator holds, except its own memory; MPI_Finalize's for the
// predefined ones.
void mlt_comm_close(mlt_comm *comm);

// Until operations under way whose requests the user has freed are over. Parks the rank.
void mlt_comm_wait_freed(mlt_rank *me, const mlt_comm *comm);

// Returns when a rank of every worker of the job has called it: the end of MPI_Finalize, by the
// last rank of each worker. May suspend.
void mlt_agreement_workers(mlt_rank *me);

// Raises MPI_ERR_OTHER: there is no free context number.
int mlt_comm_no_context(mlt_rank *me, mlt_comm *comm) MLT_COLD;

// MPI_Comm_create_from_group and its twin for intercommunicators: checks what both are given, and
// gives it to the new communicator. *nobody becomes what errors of the call are raised with: they
// go to the new communicator's handler, though there is no communicator.
struct mlt_group;
int mlt_comm_check_from_groups(mlt_rank *me, const char *stringtag, MPI_Info info,
                               MPI_Errhandler errhandler, mlt_comm *nobody);
int mlt_comm_furnish(mlt_rank *me, mlt_comm *comm, const struct mlt_group *group, MPI_Info info,
                     MPI_Errhandler errhandler);

// An intercommunicator of two groups, whose ranks all call it, in a context that nobody else uses:
// the caller is rank `rank` of the group of that side. May suspend.
mlt_comm *mlt_inter_make(mlt_rank *me, mlt_map *group0, mlt_map *group1, int side, int32_t rank,
                         uint32_t context, const mlt_comm *old);

// Hashes that all ranks agree on.
uint64_t mlt_comm_hash(uint64_t seed, const void *bytes, size_t count);
uint64_t mlt_map_hash(uint64_t seed, mlt_map *map);
