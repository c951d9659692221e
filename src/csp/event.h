// SPDX-License-Identifier: BSD-3-Clause
// What a trace hears of processes and channels (base/event.h).
#pragma once

#include <stdint.h>

#include "base/event.h"
#include "base/upcalls.h"
#include "csp/chan.h"
#include "fiber/fiber.h"
#include "fiber/wait.h"

// mlt_upcalls.describe.
void mlt_csp_describe_wait(const mlt_wait *wait, mlt_event *event);

// The number of a process of the calling worker; 0: the fiber is a rank's own.
uint32_t mlt_csp_process_number(const mlt_fiber *fiber);

// mlt_upcalls.process.
bool mlt_csp_process_label(const mlt_fiber *fiber, mlt_process_label *out);

// How many values the channel, a queue of a flow program, holds now. Tells it if a trace listens.
void mlt_csp_trace_depth(csp_chan *chan);

// The calling process, a module of a flow program, began at that time (mlt_arch_cycles) and ends now.
void mlt_csp_trace_lifetime(mlt_csp *csp, uint64_t since);

// The channel is being poisoned, by the calling process as a rule. Tells it if a trace listens.
void mlt_csp_trace_poison(csp_chan *chan);
