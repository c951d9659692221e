// SPDX-License-Identifier: BSD-3-Clause
// Starting one process of the job.
//
// All processes are in the process group of mpirun's caller: Ctrl-C and Ctrl-Z at a terminal reach
// them as they reach any program, and reading from the terminal works. They end with mpirun
// (PDEATHSIG), however it ends. vfork shares mpirun's memory until the program starts, so a start
// costs the same however large mpirun has grown.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "launch/plan/bind.h"

// Where a stream of the process leads. First match: file, fd, inherited.
typedef struct mlt_spawn_stream {
    int fd;           // -1: inherited (if file is NULL)
    const char *file; // opened by the process itself; %p is its id, %% a percent sign
    bool append;      // the file is shared: do not empty it
} mlt_spawn_stream;

typedef struct mlt_spawn {
    const char *path;
    char **argv, **env;
    const char *dir;             // NULL: mpirun's
    mlt_spawn_stream streams[3]; // standard input, output, error
    bool merge;                  // standard error goes where standard output goes
    int job_fd;                  // inherited under its own number; -1: none
    int ctl_fd, ctl_as;          // inherited under the number ctl_as; -1: none
    const mlt_cpus *cpus;        // NULL: not pinned
    pid_t group;                 // the process group that it shall be in; 0: one of its own
    bool session; // it shall have a session of its own: the terminal's signals do not reach it
} mlt_spawn;

// Remembers the signal mask and limits that processes of the job shall have, then sets mpirun's
// own: signals of mpirun are blocked, and returned in *blocked, SIGPIPE is ignored, the limit of
// open files is raised to what is allowed. Once, before the first start.
void mlt_spawn_prepare(sigset_t *blocked);

// The descriptor that such signals come through. Ends mpirun on failure.
int mlt_spawn_signal_fd(const sigset_t *blocked);

// Lets signals end mpirun again; once all ranks are gone.
void mlt_spawn_restore(int signal_fd);

// The process id, or -1 with a message in why and the exit code for mpirun in *code.
pid_t mlt_spawn_start(const mlt_spawn *spawn, int *code, char *why, size_t why_size);
