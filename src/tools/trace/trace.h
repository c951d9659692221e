// SPDX-License-Identifier: BSD-3-Clause
// `millet trace`: what a file that mpirun --trace wrote tells.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "trace/read.h"

// Calls `see` for each event, chunk by chunk: those of a worker by the time of their end. Returns
// how many chunks were damaged.
typedef void mlt_trace_see(void *user, uint32_t worker, const mlt_trace_event *event);
uint64_t mlt_trace_walk(const mlt_trace *trace, mlt_trace_see *see, void *user);

// One screen: time in functions, messages, what ranks waited for.
void mlt_trace_summary(const mlt_trace *trace, FILE *out);

// Every event as a line of text, or of comma-separated values.
void mlt_trace_list(const mlt_trace *trace, FILE *out, bool csv);

// For chrome://tracing, Perfetto and whatever else reads Chrome's JSON: a process for each worker, a
// thread for each rank, arrows for messages.
void mlt_trace_chrome(const mlt_trace *trace, FILE *out);

// For speedscope.app, and for Perfetto in its own format: calls, and in them why ranks waited; the
// latter also has messages.
struct mlt_causes;
void mlt_trace_speedscope(const struct mlt_causes *causes, FILE *out);
void mlt_trace_perfetto(const struct mlt_causes *causes, FILE *out);

// What the program did, as a GOAL program for millet goal (goal.c). Returns how many messages were left
// out, as only one of their ends is in the trace.
uint64_t mlt_trace_goal(const mlt_trace *trace, FILE *out);
