// SPDX-License-Identifier: BSD-3-Clause
// Where the members of a team are: in one process, on one host, on several.
//
// Setting pretend_hosts divides the workers of a job on one host among so many hosts that are not
// there, for collectives only: to study and test what they do over hosts on one machine.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "boot/job.h"
#include "coll/alg/hosts/map.h"
#include "p2p/worker.h"

// The map of `members`, of which member m is a rank of worker worker_of(of, m). NULL: they are all
// on one host. The caller's.
mlt_coll_hosts *mlt_coll_locate(const mlt_worker *worker, uint32_t members,
                                uint32_t (*worker_of)(const void *of, uint32_t member),
                                const void *of);

// The host of a worker of the job, also if it is pretended.
uint32_t mlt_coll_host_of(mlt_job *job, uint32_t worker);
// The number of the job's host of that name, as mpirun knows it (a pretended one's is its number).
// False: there is none.
bool mlt_coll_host_named(const char *name, uint32_t *host);
