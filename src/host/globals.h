// SPDX-License-Identifier: BSD-3-Clause
// A rank's own globals (image/image.h) in a process that holds several: the program's image, its
// thread-local variables, and the functions that it left for its end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "boot/ctl.h"
#include "host/life.h"
#include "image/image.h"
#include "p2p/p2p.h"

// Before the program's constructors run, in a process that will hold so many ranks: looks what the
// program has.
void mlt_globals_prepare(uint32_t ranks);

// The job is joined, and the output of ranks is as it will be. False: ranks were to have their own
// globals, but cannot, and why says it. If they merely would have had them, mpirun hears why not.
bool mlt_globals_begin(const mlt_boot *boot, char *why, size_t why_size) MLT_MUST_CHECK;

// On the worker's thread, before its ranks run, and when all have ended.
void mlt_globals_worker(mlt_worker *worker);
void mlt_globals_worker_ends(void);

// On the rank's own stack, before its main: makes its image and runs its constructors. Ends the job
// with a message if that is impossible.
void mlt_globals_rank(mlt_rank *me, int argc, char **argv, char **envp);

// A rank has loaded a library of its own: from now on ranks that begin and end look for such things.
void mlt_globals_note_some(void);

// ... after its main, or when it called exit or another way out: runs what it left for such an end,
// then destructors.
void mlt_globals_rank_ends(mlt_rank *me, int status, mlt_end how);

// On a thread that the rank has started.
void mlt_globals_thread(const mlt_rank *me);

// The rank's counterpart of an address of the program.
void *mlt_globals_shift(const mlt_rank *me, const void *address);

// True if each rank has its own copy of the program's variables.
bool mlt_globals_are_own(void);

// The rank's counterpart of a variable of the C library that belongs to a rank (environ, stdout,
// optind); NULL: the program does not refer to it. The variable itself where ranks share all.
void *mlt_globals_variable(const mlt_rank *me, void *variable);

// NULL: ranks share what there is.
mlt_images *mlt_globals_images(void);
// The number of the rank's image; 0: it has the original. And how many ranks the process has.
uint32_t mlt_globals_index(const mlt_rank *me);
uint32_t mlt_globals_ranks(void);

// On the thread of the rank that has image `index`: gives it its own thread-local variables of an
// object that it has just loaded. first: if the thread has none yet, they stay as they are. False:
// that is impossible, and why says it.
bool mlt_globals_late_tls(uint32_t object, uint32_t index, bool first, char *why,
                          size_t why_size) MLT_MUST_CHECK;

// Runs what the calling rank's objects in that span of addresses left for their end.
void mlt_globals_run_last_calls(uintptr_t from, uintptr_t to);

// True if the calling rank has thread-local objects whose destructors were left by objects in that
// span.
bool mlt_globals_has_thread_calls(uintptr_t from, uintptr_t to);

// mlt_upcalls.original. Safe in a signal handler.
uintptr_t mlt_globals_original(uintptr_t address);
