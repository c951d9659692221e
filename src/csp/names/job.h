// SPDX-License-Identifier: BSD-3-Clause
// The names of a job: worker 0 keeps them, whether or not its own ranks use processes, and after
// its end the next one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "p2p/p2p.h"

// A packet about names came. False: it is an answer, for mlt_names_packet.
bool mlt_names_keep(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const void *data,
                    uint64_t bytes);

// That worker has ended, and with it what it registered and looked for.
void mlt_names_ended(mlt_worker *worker, uint32_t from);

// Hands the names on. mlt_route_end calls it.
void mlt_names_job_end(mlt_worker *worker);
