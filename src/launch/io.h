// SPDX-License-Identifier: BSD-3-Clause
// Standard input, output and error of the ranks.
//
// Without options ranks have mpirun's own descriptors, and mpirun is not involved. Labelled output
// of a process with one rank comes through pipes, and mpirun writes whole lines. Output files are
// opened by the process itself. A process with several ranks does both by itself, told by
// MILLET_LABEL, MILLET_OUTFILE, MILLET_ERRFILE. What goes into files is not labelled.
#ifndef MLT_LAUNCH_IO_H
#define MLT_LAUNCH_IO_H

#include "launch/plan/env.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "launch/spawn.h"

typedef struct mlt_io mlt_io;

// True if mpirun will read a terminal for the ranks.
bool mlt_io_reads_terminal(const mlt_options *options);

// Ends mpirun if a rank of --stdin does not exist, or an output file cannot be made.
mlt_io *mlt_io_new(const mlt_options *options, const mlt_plan *plan, int loop);

// Adds to the environment of an app's processes what they must do by themselves.
void mlt_io_env(mlt_io *io, uint32_t first_proc, mlt_env *env);

// Sets spawn->streams for a process, and mlt_io_started closes its ends in mpirun afterwards.
// False: no more descriptors; a message in why.
bool mlt_io_prepare(mlt_io *io, uint32_t proc, mlt_spawn *spawn, char *why, size_t why_size);
void mlt_io_started(mlt_io *io, uint32_t proc);

// Begins to copy standard input (--stdin all); once all processes are started.
void mlt_io_run(mlt_io *io);

// An agent: output that would go to mpirun's own descriptors goes to `put` instead, as it comes; no
// bytes: the end. Before the first process is prepared.
void mlt_io_send_to(mlt_io *io,
                    void (*put)(void *user, uint32_t proc, int stream, const char *bytes,
                                size_t count),
                    void *user);

// An agent: passes on what a process that ends or has ended has written so far.
void mlt_io_ended(mlt_io *io, uint32_t proc);

// mpirun: output of a process of another host: of its standard output (1) or error (2). No bytes:
// the end.
void mlt_io_output(mlt_io *io, uint32_t proc, int stream, const char *bytes, size_t count);

// All processes are gone: writes what is left, and frees io. Waits as long as it takes, or, if
// `interrupted`, a moment for each reader. False if something could not be written, after a
// message. (A reader that has gone is no loss: the ranks see a broken pipe, as they would without
// mpirun.)
bool mlt_io_finish(mlt_io *io, bool interrupted);

#endif
