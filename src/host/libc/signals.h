// SPDX-License-Identifier: BSD-3-Clause
// A rank's own signal handlers, where a process holds several.
//
// The system has one handler a signal: this library's, from the first time on that a rank sets one.
// A signal that the running rank has raised itself (a fault, raise, abort, a broken pipe) is that
// rank's. One that was sent to the process is told to every worker in which a rank has a handler
// for it, by a signal to its thread, and there to each such rank:
//
//     it runs                        its handler is called at once, as usual
//     it waits for time or a         the call ends with EINTR, after its handler
//     descriptor (block.h)
//     it waits for its turn, or in   when it goes on: a frame that calls the handler is put on its
//     a call of MPI                  stack, above the one where it goes on
//
// So a handler always runs on its rank's stack, with its rank's variables; it may call exit or
// siglongjmp. A rank that has set nothing has the default, which for faults is the crash report. A
// signal for which no rank has a handler, and that not all ignore, does what it does by default.
//
// sigprocmask stays the thread's; alarm and timers are the process's.
#pragma once

#include <stdbool.h>

#include "p2p/p2p.h"

struct mlt_signals; // mlt_rank_own.signals

// The rank has ended.
void mlt_signals_free(mlt_rank *me);

// On the worker's thread: its ranks have ended.
void mlt_signals_worker_ends(void);

// The running rank leaves a handler for good, if it is in one: its thread gets its mask back.
void mlt_signals_leave(void);

// A child that the rank has just forked gets its handlers from the system.
void mlt_signals_forked(mlt_rank *me);

// The caller is in a handler, and must not wait where another rank could run meanwhile.
bool mlt_signals_inside(void);

// Around a wait of the running rank for time or a descriptor: handlers run in the second, which
// returns how many did; *restarts: all of them want the call to go on.
void mlt_signals_wait_begins(mlt_rank *me);
uint32_t mlt_signals_wait_ends(mlt_rank *me, bool *restarts);
