// SPDX-License-Identifier: BSD-3-Clause
// What few ranks have of their own: where a process holds several, lines of output that are not
// complete and libc's state; the default error handler for files. Made when a rank first needs it.
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "p2p/p2p.h"

struct mlt_keys;       // keys.h
struct mlt_libc_state; // libcstate.c
struct mlt_getopt;     // getopt.c
struct mlt_environ;    // environ.c
struct mlt_input;      // input.c
struct mlt_folder;     // folder.h
struct mlt_locale;     // locale.h
struct mlt_signals;    // signals.h

// A line that has not ended, and where lines go.
typedef struct mlt_line {
    char *text;
    uint32_t length, room;
    int fd;        // a file of its own; -1: not open now
    int created;   // the file exists: append to it
    int error;     // errno of the first piece that could not be written; 0: none
    FILE *file;    // where freopen has led the stream; NULL: nowhere else
    bool closed;   // by fclose
    bool inside;   // a part of the line is out, with its label
    bool buffered; // pieces of lines wait for their end, or for fflush
} mlt_line;

typedef struct mlt_rank_own {
    mlt_line line[2]; // standard output, standard error
    struct mlt_libc_state *libc;
    struct mlt_getopt *options;         // getopt.h
    struct mlt_environ *environ;        // environ.h
    struct mlt_input *input;            // input.h
    bool process_input;                 // input.c: mlt_input_take
    struct mlt_keys *keys;              // keys.h
    struct mlt_last_call *last_calls;   // globals.c: what runs when the rank ends, the last first
    struct mlt_last_call *quick_calls;  // ... by quick_exit
    struct mlt_last_call *thread_calls; // ... before that: destructors of thread-local objects
    char *tls;                          // globals.c: its thread-local variables while others run
    uint32_t tls_blocks;                // ... and of how many objects
    struct mlt_folder *folder;          // folder.h; NULL: as the job has it
    struct mlt_locale *locale;          // locale.h; NULL: as the process has it
    void *used_locale;                  // locale.c: uselocale's, while others run
    struct mlt_signals *signals;        // signals.h; NULL: it has set nothing
    cpu_set_t *affinity;                // affinity.h; NULL: it has wished for no cores
    bool threads;                       // it has started some, which may live longer (start.c)
    void *datareps;                     // the MPI layer's (mpi/file/datarep.h); NULL: none
    void *file_errhandler;              // the MPI layer's (mpi/file/file.h); NULL: none was set
    void *parent;                       // the MPI layer's (mpi/dyn/parent.h); NULL: none
} mlt_rank_own;

// Never NULL: ends the process if memory is out.
mlt_rank_own *mlt_own_of(mlt_rank *me);

// The rank has ended: writes what is left and frees it all, unless threads that it has started may
// look at it. False if some of its output was lost.
bool mlt_own_end(mlt_rank *me);

// libcstate.c
void mlt_libc_state_free(struct mlt_libc_state *state);
