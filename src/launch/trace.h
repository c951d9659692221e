// SPDX-License-Identifier: BSD-3-Clause
// mpirun --trace: the file that the job's processes append to (trace/tracer.h), its first and its
// last chunk.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "boot/ctl.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"

// Makes the file empty, with the job's facts. Ends mpirun with a message if it cannot.
void mlt_launch_trace_begin(const mlt_options *options, const mlt_placement *plan);

// Appends the whole chunks (trace/chunk.h) that processes of another host have sent. How many bytes they
// are; -1: these are no chunks, or cannot be written, and a message said so.
int64_t mlt_launch_trace_chunks(const mlt_options *options, const char *bytes, size_t count);

// Adds facts (trace/facts.h) while the job runs, or is stuck.
void mlt_launch_trace_facts(const mlt_options *options, const char *text, size_t bytes);

// What passed the queues of a flow program, as its rank 0 tells it.
void mlt_launch_trace_queues(const mlt_options *options, const mlt_ctl_queue *queues, size_t count);

// All processes have ended: notes the exit code.
void mlt_launch_trace_end(const mlt_options *options, int code);
