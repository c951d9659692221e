// SPDX-License-Identifier: BSD-3-Clause
// How a worker that sleeps for descriptors is woken by one that has news for it: it cannot wait for
// a futex and for descriptors at once. So while it sleeps this way (MLT_WORKER_LISTENS) senders
// ring a doorbell: an empty datagram to a socket of the abstract name space, which vanishes with its
// process.
//
// The name is in the segment (mlt_job_worker.doorbell) and random, so that nobody takes it before. Every
// user of the host can list it (/proc/net/unix), and wake the worker in vain.
#pragma once

#include "base/status.h"
#include "boot/job.h"

// Makes the doorbell of a worker and puts its name into the segment. *fd is the caller's: readable when
// somebody rang. On failure a message in why.
mlt_status mlt_doorbell_new(mlt_job_worker *worker, int *fd, char *why,
                            size_t why_size) MLT_MUST_CHECK;

// Rings; any process of the host, any thread. Never blocks: a doorbell that has not been heard yet
// rings anyway.
void mlt_doorbell_ring(const mlt_job_worker *worker);
