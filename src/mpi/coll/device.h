// SPDX-License-Identifier: BSD-3-Clause
// Collective calls whose data lie in memory of a device that all ranks share: one host has them all.
// Then one worker, which knows every buffer, gives the device everything at once: all copies, and
// one pass over all operands, instead of a schedule of messages.
//
// Who takes this way? Ranks may call with host memory or the device's as they like, each without
// knowing what the others have, and be ahead of each other by any number of calls.
//
// One process has all ranks (device.c). The first rank to come decides for all: by what it has itself.
// The others must look at what it decided, and those that came before the process had a driver do
// not. Each rank therefore notes on the communicator from which call on it looks, and only a call
// that all look at may take this way. All calls of which one decides otherwise are ordinary
// schedules, and buffers in memory of a device are copied for these.
//
//     first rank          others             last rank
//     looks, decides      look               looks
//     leaves its job      leave their jobs   has all jobs: starts the copies
//     sleeps              sleep              polls until they are done
//     <------------------------------------- tells all workers
//
// Several processes of a host (device_process.c). A device takes turns between processes, which costs
// as much as a hundred small copies, so one of them copies for all: the worker with the lowest number
// of those that have ranks, the copier. It opens the others' memory (gpu/share.h).
//
//     rank                                     copier
//     LOOK, once: it has memory of a device -->
//                                         <--  TURN, when all ranks have looked
//     SINCE its next call ------------------>
//     JOB n, where its sides lie ----------->  all ranks' JOB n have come: copies
//                                         <--  OVER n
//     or PASS n ---------------------------->  to all that have sent JOB n, and to those that will:
//                                         <--  ORDINARY n
//
// - A rank decides alone that it passes, and goes on with the ordinary schedule at once: it has memory
//   of the host, with gaps, or that cannot be shared, or the call is none of those that a device does.
//   So host memory waits for nobody. Only a rank that sends a JOB waits for an answer, and begins the
//   ordinary schedule when it is told to. As teams want a rank's calls in their order (coll/team.h), later
//   ordinary calls of a rank that still waits for an answer begin after that, too.
// - Before a rank has used memory of a device on a communicator it sends nothing. Before all have,
//   nobody does after LOOK, so that a communicator on which some ranks have no such memory, or no
//   driver, costs nothing either.
// - The copier hears of a rank's calls in their order, from SINCE on. What the rank leaves out, as it made
//   no such call, it has passed. So a call is an ordinary one if some rank's next call has a larger
//   number and its JOB is not there; the copier keeps nothing of such a call.
// - Memory that cannot be opened, and a reduction that the device cannot do (operands of several
//   devices), are ORDINARY.
// - Whatever ranks disagree about, if all have sent a JOB, OVER says. If one has passed, the
//   ordinary schedules find it.
// - A context number is given out again when all workers have dropped the communicator, and a copier may
//   hear of the new one before it hears the last of the old one. Each worker says BYE before it gives
//   the number back. So the messages of one rank are in order, and BYE ends the turn: all jobs are
//   ORDINARY until all ranks have looked (again), which is the next turn. TURN to a rank that
//   has not looked, or not yet again, has no answer: its BYE is on its way.
// - A rank that ends says nothing: its communicators end before it (BYE) or with the job.
// - Intercommunicators, persistent calls, and communicators over hosts or jobs are ordinary.
// - Whoever changes a communicator's rules waits first until its calls are decided (mlt_device_settle).
//
// The copier answers when it makes progress, as a receiver of a large message does.
#pragma once

#include <stdbool.h>

#include "mpi/coll/coll.h"

// Of the rank's next collective call, whose number is given: the call that all ranks share if it takes
// this way, else NULL. Only for calls of intracommunicators that are not persistent, once
// mlt_gpu_is_on().
mlt_device_call *mlt_device_look(const mlt_coll_job *job, uint32_t number);

// Joins it. The job stays until `req`, a MLT_REQ_OTHER, is complete; its status is MLT_OK or
// MLT_ERR_TRUNCATED. If nobody takes it, mlt_coll_go_ordinary is called with both, and the call is gone.
void mlt_device_join(mlt_device_call *call, mlt_coll_job *job, mlt_req *req);

// Why it failed. Each rank that has joined ends with mlt_device_leave.
const char *mlt_device_why(const mlt_device_call *call);
void mlt_device_leave(mlt_device_call *call);

// For hang reports: how many ranks have not come, or a world rank that has not.
uint32_t mlt_device_missing(const mlt_device_call *call, int32_t *awaits);

// Returns when the rank's calls on that communicator have begun. May suspend.
void mlt_device_settle(mlt_rank *me, const mlt_comm *comm);

// A note came; false: it is somebody else's.
bool mlt_device_noted(uint64_t what, uint64_t value);

// Packets between ranks and copiers.
enum { MLT_PACKET_DEVICE = 0x900, MLT_PACKET_DEVICE_LAST = 0x907 };

static inline bool mlt_device_packet_is(uint16_t kind)
{
    return kind >= MLT_PACKET_DEVICE && kind <= MLT_PACKET_DEVICE_LAST;
}

void mlt_device_packet(mlt_worker *worker, uint32_t from, const mlt_packet *packet,
                       const void *data, uint64_t bytes);

// What the ranks of a worker have of it on a communicator; NULL is fine. worker: NULL at the end, of a
// predefined communicator.
struct mlt_device_place;
void mlt_device_place_drop(struct mlt_device_place *place, mlt_worker *worker);

void mlt_device_worker_fini(mlt_worker *worker);
