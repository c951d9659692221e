// SPDX-License-Identifier: BSD-3-Clause
// Two processes make an mpirun, so that nothing of a job outlives it, whichever of them is killed.
//
//     the caller's shell -> guard (the process that the caller knows) -> watcher -> ranks -> ...
//
// The guard passes signals on to the watcher and ends or stops as it does. Both are subreapers:
// what loses its parent becomes a child of the watcher, or of the guard once the watcher is gone.
// If the watcher is killed, its ranks are killed by the system (PDEATHSIG) and the guard kills what
// they leave behind. If the guard is killed, the watcher sees the end of a pipe and kills all.
//
// The watcher is in a process group of its own, so that what reaches the caller's group (Ctrl-C)
// reaches it once, through the guard. It has another name, so that `killall -9 mpirun` leaves one.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

typedef struct mlt_guard {
    int fd; // at its end when the guard is gone; -1: there is none. A byte: a debugger lets the
            // processes go on (mpir.h)
    pid_t group; // that ranks shall be in: the caller's
} mlt_guard;

typedef enum mlt_guard_of {
    MLT_GUARD_MPIRUN,   // stops when the watcher does: a shell waits for that
    MLT_GUARD_TERMINAL, // ... and the watcher stays in the caller's group, to read from its terminal
    MLT_GUARD_AGENT, // never stops: nobody would wait for that, and the end of a rank, which leaves a
                     // group of its session without a parent, would send SIGHUP to a stopped one
} mlt_guard_of;

// Returns in the watcher only; the guard ends with its exit code. The signals of `blocked` are
// blocked already.
void mlt_guard_split(mlt_guard *guard, const sigset_t *blocked, mlt_guard_of of);

// The name of a folder, "" for none, in memory that guard and watcher share: the guard removes it
// (mlt_stage_folder_remove) when the watcher has ended. Before mlt_guard_split.
void mlt_guard_remove_folder(const char *folder);

// True if a signal that the watcher has got came from the keyboard or the terminal, which has sent
// it to all in the caller's group.
bool mlt_guard_from_keyboard(const struct signalfd_siginfo *info);
