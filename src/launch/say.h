// SPDX-License-Identifier: BSD-3-Clause
// Messages of mpirun itself, and the exit codes that it gives itself.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

// A rank's own exit status and 128 + signal pass through; these are mpirun's.
enum {
    MLT_EXIT_FAILED = 1,    // a rank ended with 0 between MPI_Init and MPI_Finalize, output could
                            // not be written, or the file of --coll is at fault
    MLT_EXIT_USAGE = 2,     // the command line, a host file or a configuration file is wrong
    MLT_EXIT_SYSTEM = 70,   // the machine refused: memory, descriptors, processes; a host is lost
    MLT_EXIT_TIMEOUT = 124, // --timeout
    MLT_EXIT_DEADLOCK = 125,
    MLT_EXIT_NOT_EXECUTABLE = 126,
    MLT_EXIT_NOT_FOUND = 127,
};

// Writes "mpirun: <message>\n" to standard error, as mlt_say_raw does; of a spawned job
// "mpirun: job 1: <message>\n".
void mlt_say(const char *format, ...) MLT_PRINTF(1, 2);

// This is the mpirun of a spawned job of that name, which must stay. What its lines begin with is
// mlt_say_name: "mpirun", or "mpirun: job 1".
void mlt_say_as(const char *job);
const char *mlt_say_name(void);

// This is the agent of a job that mpirun has not started: its lines begin with that name.
void mlt_say_by(const char *program);

// An agent: messages go to `say` instead, and one that ends it to `quit`, with the exit code. NULL:
// to standard error, as at the beginning.
void mlt_say_to(void (*say)(const char *text), void (*quit)(int code, const char *text));

// Writes the bytes to standard error, and drops them if its reader is gone. Never blocks: bytes
// that do not fit now, up to 16 MiB, wait until the event loop or mlt_say_finish writes them.
void mlt_say_raw(const char *text, size_t bytes);

// For the event loop: whether something waits, the descriptor that must get room for it, and
// writing what there is room for.
bool mlt_say_waits(void);
int mlt_say_fd(void);
void mlt_say_go_on(void);

// Waits until all is written, for at most that time (-1: as long as it takes), or until a signal
// that ends mpirun is there.
void mlt_say_finish(int limit_ms);

// True if something was lost that had a reader: the disk or memory is full, or too much waits.
bool mlt_say_lost(void);

// Writes the message and ends mpirun. Ranks that have been started are killed (guard.h).
_Noreturn void mlt_quit(int code, const char *format, ...) MLT_PRINTF(2, 3) MLT_COLD;
