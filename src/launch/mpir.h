// SPDX-License-Identifier: BSD-3-Clause
// Debuggers of parallel programs find the processes of a job by names in mpirun, which the MPI Forum's
// MPIR Process Acquisition Interface defines: MPIR_proctable has host, program and process id of each.
// (The names are in mpir.c; they are for debuggers, not for this program.)
//
// Attach: the debugger attaches to the mpirun that the user knows, and reads the table.
//
// Launch: it starts mpirun, sets MPIR_being_debugged, and waits for MPIR_Breakpoint. Processes wait
// before their main (mlt_boot_wait_for_debugger) until it lets mpirun go on; those that do not use MPI do not
// wait.
//
// The mpirun that the user knows is the guard (guard.h), but the watcher knows the processes: the table
// is in memory that both share.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// A debugger has started mpirun.
bool mlt_mpir_is_debugged(void);

// Before mpirun becomes two processes. Names that mlt_mpir_started gets must be there by then.
void mlt_mpir_begin(uint32_t procs);

// The watcher: a process has started, or is known to be another one (which a script has started).
void mlt_mpir_started(uint32_t proc, const char *host, const char *program, pid_t pid);
void mlt_mpir_is(uint32_t proc, pid_t pid);

// The watcher: the table is complete. The guard stops at MPIR_Breakpoint, and then writes a byte to its
// pipe.
void mlt_mpir_stop(void);

// The guard, after each SIGCHLD; `fd` is its end of the pipe.
void mlt_mpir_look(int fd);
