// SPDX-License-Identifier: BSD-3-Clause
// The way into and out of the program: who runs main, when the job is joined, how a rank and the
// process end.
//
// A process that holds one rank runs its main as if the library were not there, and joins the job
// in MPI_Init. A process that holds several is taken over before main: the library makes the
// workers and runs main once a rank.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "host/life.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

// The calling thread's rank; joins the job if the process holds one rank and has not joined. NULL:
// the thread is no rank. A job that cannot be joined ends the process with a message.
mlt_rank *mlt_entry_rank(void);

// The process has joined its job.
bool mlt_entry_joined(void);

// The process holds several ranks.
bool mlt_entry_many(void);

// The rank of a process that holds one and has joined, else NULL. For threads that are none.
mlt_rank *mlt_entry_only_rank(void);

// What the program was started with.
void mlt_entry_arguments(int *argc, char ***argv, char ***envp);

// For a thread that the rank started: lets it run wherever the process may, or where the rank wishes,
// though it inherited the core of the worker's own thread. An affinity that the program set is kept.
void mlt_entry_unpin(const mlt_rank *rank);

// MPI_Init, MPI_Finalize: one more rank of the process has done it. The launcher hears of the first
// that did the one, and when all have done the other.
void mlt_entry_count_init(void);
void mlt_entry_count_final(void);
bool mlt_entry_any_inited(void);
bool mlt_entry_all_finalized(void);

// Ends the job: tells the launcher, or without one standard error. rank: -1 if none; the text shows
// it as "rank 3: ...", or "rank 3 called ..." if the message begins with "called ".
_Noreturn void mlt_entry_end_job(int32_t rank, int status, const char *sentence) MLT_COLD;

// exit, _exit and their like, which `call` names: where several ranks share the process, ends the
// calling one and does not return. Returns if the process is to end: it has one rank, or the caller
// is another thread of a rank or a forked child.
void mlt_entry_leave(int status, const char *call, mlt_end how);

// mlt_upcalls.deadlock: says so, with what each rank waits for, and ends the process.
void mlt_entry_deadlock(mlt_worker *worker);

// Ends the job with a message if several ranks share the process, which exec would replace.
void mlt_entry_refuse_exec(const char *call);
