// SPDX-License-Identifier: BSD-3-Clause
// Sends that were cancelled. Readers pair the n-th message that left with the n-th that was matched, so
// one that was never to be matched must not count. The sender tells of it later (MLT_TRACE_CANCELLED),
// with the time when the message had left: it is the last like it that had left until then.
#pragma once

#include "trace/event.h"
#include "trace/read.h"

// Sets trace->cancelled. Costs nothing where nothing was cancelled.
void mlt_trace_find_cancelled(mlt_trace *trace);

// Takes the peer from those of chunk i.
void mlt_trace_mark_cancelled(const mlt_trace *trace, uint64_t i, mlt_trace_event *events);
