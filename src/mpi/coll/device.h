// SPDX-License-Identifier: BSD-3-Clause
// Collective calls whose data lie in memory of a device that all ranks share: one process has them all.
// Then the last rank to come knows every buffer, and gives the device all copies and one pass over
// all operands, instead of a schedule of messages.
//
// Who takes this way? Ranks may call with host memory or the device's as they like, each without
// knowing what the others have. So the first rank to come decides for all: by what it has itself.
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
#pragma once

#include <stdbool.h>

#include "mpi/coll/coll.h"

// Of the rank's next collective call, whose number is given: the call that all ranks share if it takes
// this way, else NULL. Only for calls of intracommunicators that are not persistent, once
// mlt_gpu_is_on().
mlt_device_call *mlt_device_look(const mlt_coll_job *job, uint32_t number);

// Joins it. The job stays until `req`, a MLT_REQ_OTHER, is complete; its status is MLT_OK or
// MLT_ERR_TRUNCATED.
void mlt_device_join(mlt_device_call *call, const mlt_coll_job *job, mlt_req *req);

// Why it failed. Each rank that has joined ends with mlt_device_leave.
const char *mlt_device_why(const mlt_device_call *call);
void mlt_device_leave(mlt_device_call *call);

// For hang reports: how many ranks have not come.
uint32_t mlt_device_missing(const mlt_device_call *call);

// A note came; false: it is somebody else's.
bool mlt_device_noted(uint64_t what, uint64_t value);

// What the ranks of a worker have of it on a communicator; NULL is fine.
struct mlt_device_place;
void mlt_device_place_drop(struct mlt_device_place *place);
