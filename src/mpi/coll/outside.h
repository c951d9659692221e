// SPDX-License-Identifier: BSD-3-Clause
// Rule books that the user gives to a running job from outside: `millet paths set` (launch/live/live.h).
//
// All ranks of a communicator must change their rules between the same two calls, and nobody has told
// them when. They agree so, by the boards in the hosts' segments (boot/board.h):
//
//     1. mpirun has the file and the number of the change written on the boards, and every worker asked
//        to look. A worker that has looked says so. From then on its calls go by mlt_coll_go, where they
//        come here.
//     2. When all workers have looked, rank 0 of a communicator notes on the board the number n of a
//        call that it is about to make, and in which all ranks meet: a barrier, or an allreduce. Of a
//        job over several hosts, agents tell each other (launch/watch/change.h) when all workers have
//        looked, and note n on all boards; rank 0 waits for that before it makes the call.
//     3. The first such call after n is the one. Nobody leaves n before rank 0 has come to it, so all
//        ranks know of the note before they make the next; and they have looked before, so they come
//        here. When it is over they meet once more, as in MPIX_Coll_load, and change or refuse.
//
// The call n itself would not do: a rank may be in it since before its worker has looked. A rank that
// computes for long delays the change, not the others. Communicators with persistent operations,
// which may be under way, keep their rules, and so do those between jobs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mpi/coll/coll.h"

// The worker looks whether there is a change (mlt_upcalls.asked).
void mlt_outside_look(mlt_worker *worker);

// True if all ranks meet in the call, and may change their rules after it.
bool mlt_outside_meets(const mlt_coll_job *job, const mlt_how *how) MLT_COLD;

// Before such a call, and after it: `call` is the communicator's number of calls before it. The latter
// may suspend.
void mlt_outside_decide(mlt_rank *me, const mlt_comm *comm, uint32_t call) MLT_COLD;
void mlt_outside_take(mlt_rank *me, mlt_comm *comm, uint32_t call) MLT_COLD;
