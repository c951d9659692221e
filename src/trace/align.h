// SPDX-License-Identifier: BSD-3-Clause
// Times of several hosts on one axis, mpirun's: first by what its exchanges with the hosts found (facts
// `clock`), then by the messages. A message that seems to have been matched before it was sent moves
// the receiver's host forward, with all that it makes late in turn.
#pragma once

#include "trace/read.h"

// Changes trace->clocks, begin_ns and end_ns; sets crossings, early, early_ns, moved_ns and crossed. Where traces
// pause (MLT_TRACE_TRACED) messages move nothing: which belong together is not sure.
void mlt_trace_align(mlt_trace *trace);
