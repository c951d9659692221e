// SPDX-License-Identifier: BSD-3-Clause
// What a trace says of schedules that run: each of them once as a fact (trace/schedule.h), and an
// event where it starts.
#pragma once

#include <stdint.h>

struct mlt_run;
struct mlt_worker;

// The number of its schedule in the worker's trace; 0: it is too long to be told.
uint32_t mlt_mpi_trace_schedule(struct mlt_worker *worker, struct mlt_run *run);
