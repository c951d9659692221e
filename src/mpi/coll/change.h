// SPDX-License-Identifier: BSD-3-Clause
// Rules that a communicator says itself: info keys such as millet_coll_allreduce = "ring
// segment=8192".
#pragma once

#include <stdbool.h>

#include "coll/choose.h"
#include "mpi/comm/comm.h"
#include "mpi/info/info.h"
#include "p2p/p2p.h"

// The collective that an info key speaks of; MLT_COLLECTIVES: none.
mlt_collective mlt_coll_key(const char *key);

bool mlt_coll_info_says(const mlt_info *info); // NULL is fine

// MPI_Comm_set_info: collective if the info has such a key. May suspend. A code, raised.
int mlt_coll_info_set(mlt_rank *me, mlt_comm *comm, const mlt_info *info);

// Of an info that a new communicator will have: raises MPI_ERR_INFO_VALUE if a value is wrong. Its
// sources take it when they are made.
int mlt_coll_info_check(mlt_rank *me, mlt_comm *comm, const mlt_info *info);
void mlt_coll_info_apply(mlt_coll_sources *sources, const mlt_info *info);

// As MPIX_Coll_load, but raises nothing: false, and a message in why, if the rule book is refused, or ranks
// read different ones. *code: MPI_SUCCESS, or an error of the agreement itself, raised. May suspend.
enum { MLT_CHANGE_WHY = 1024 };
bool mlt_coll_load_rulebook(mlt_rank *me, mlt_comm *comm, const char *file,
                            char why[MLT_CHANGE_WHY], int *code);

// ---- rules.c: what the ranks of a worker share while they change rules

// True for the first rank of the worker that asks with that number, which all ranks agree on.
bool mlt_comm_rules_first(mlt_comm *comm, uint32_t number);
// Where the rule book is that a rank of the worker has read for the change with that number.
mlt_coll_rulebook **mlt_comm_rules_found(mlt_comm *comm, uint32_t number);
// True for all ranks of the worker that ask with the call that is the first to take that change.
bool mlt_comm_rules_take(mlt_comm *comm, uint32_t change, uint32_t call);
// Takes another rule book (NULL: none); the old one goes with the communicator.
void mlt_comm_rules_load(mlt_comm *comm, mlt_coll_rulebook *rulebook);
