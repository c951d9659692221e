// SPDX-License-Identifier: BSD-3-Clause
// Standard input, output and error of the ranks.
//
// Without options ranks have mpirun's own descriptors, and mpirun is not involved. Labelled output
// of a process with one rank comes through pipes, and mpirun writes whole lines. Output files are
// opened by the process itself. A process with several ranks does both by itself, told by
// MILLET_LABEL, MILLET_OUTFILE, MILLET_ERRFILE. What goes into files is not labelled.
//
// Processes of other hosts have pipes, and their bytes travel as frames (launch/hosts/relay.h):
// mpirun writes them as it writes those of its own host, and reads standard input for them. Files
// are written on the host where the rank runs, under the same name.
#pragma once

#include "launch/hosts/frame.h"
#include "launch/plan/env.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "launch/spawn.h"

typedef struct mlt_stdio mlt_stdio;

typedef struct mlt_stdio_conf {
    const mlt_options *options; // of the whole job
    const mlt_placement *plan;  // of the whole job
    uint32_t host;   // this one, an index of the plan's; MLT_FRAME_HEAD: mpirun's, without a rank
    bool agent;      // this is the agent of another host than mpirun's
    const char *dir; // mpirun's working directory; NULL: this process's
    // A job over several hosts: sends a frame of standard streams.
    void (*send)(void *user, const mlt_frame *frame, char *body);
    void *user;
} mlt_stdio_conf;

// True if mpirun, which is on that host, will read a terminal for the ranks.
bool mlt_stdio_reads_terminal(const mlt_options *options, const mlt_placement *plan, uint32_t host);

// Ends mpirun if a rank of --stdin does not exist, or an output file cannot be made. What the conf
// points to outlives it. All hosts are to have one before the first process starts: files that
// ranks share are emptied here.
mlt_stdio *mlt_stdio_new(const mlt_stdio_conf *conf);

// Adds to the environment of an app's processes what they must do by themselves.
void mlt_stdio_env(mlt_stdio *io, uint32_t first_proc, mlt_env *env);

// Sets spawn->streams for a process, and mlt_stdio_started closes its ends in mpirun afterwards.
// False: no more descriptors; a message in why.
bool mlt_stdio_prepare(mlt_stdio *io, uint32_t proc, mlt_spawn *spawn, char *why, size_t why_size);
void mlt_stdio_started(mlt_stdio *io, uint32_t proc);

// An agent of another host, if the environment asks for a trace: the process writes its part to a pipe,
// whose name takes the place of the file's. False: no more descriptors; a message in why.
bool mlt_stdio_trace(mlt_stdio *io, uint32_t proc, mlt_env *env, char *why, size_t why_size);

// mpirun: begins to copy standard input (--stdin all, or for another host), when processes are told
// to start. Those that start later get all of it, too.
void mlt_stdio_run(mlt_stdio *io);

// A frame of standard streams, or of a trace: OUTPUT or ROOM to mpirun, INPUT or ROOM to an agent.
void mlt_stdio_take(mlt_stdio *io, const mlt_frame *frame, const char *body);

// An agent: passes on what a process has written so far, if mpirun has room for it.
void mlt_stdio_hear(mlt_stdio *io, uint32_t proc);

// mpirun: all processes of a host are gone, and what they had to say has come, or never will.
void mlt_stdio_host_ended(mlt_stdio *io, uint32_t host);

// mpirun: output has come that is not written yet, or has come in the last moment.
bool mlt_stdio_writes(const mlt_stdio *io);

// mpirun: does not wait any longer for a reader that does not read. What comes is written if it can
// be, and lost otherwise, so that agents can end.
void mlt_stdio_hurry(mlt_stdio *io);

// An agent, when all processes of the job have ended: sends what is left in pipes. It may end when
// all is sent; mpirun makes room as fast as its reader reads.
void mlt_stdio_drain(mlt_stdio *io);
bool mlt_stdio_drained(const mlt_stdio *io);

// All processes are gone: writes what is left, and frees io. Waits as long as it takes, or, if
// `interrupted`, a moment for each reader. False if something could not be written, after a
// message. (A reader that has gone is no loss: the ranks see a broken pipe, as they would without
// mpirun.)
bool mlt_stdio_finish(mlt_stdio *io, bool interrupted);
