// SPDX-License-Identifier: BSD-3-Clause
// Standard input of ranks that share a process: one of them has it, or each has all of it (mpirun
// --stdin all). For the others it is at its end, as /dev/null is for a process.
//
// If ranks have globals of their own, the rank's `stdin` leads there. Otherwise `stdin` is the
// process's, and only the functions that do not name a stream (getchar, scanf) know better.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "p2p/p2p.h"

// Once, before ranks run, if there are several, and after mlt_globals_begin. False: each was to have
// all input, which is impossible here, and why says it. Ends the process if the system refuses a
// stream.
bool mlt_input_init(char *why, size_t why_size) MLT_MUST_CHECK;

// On the rank's own stack, before any code of its own runs.
void mlt_input_rank(mlt_rank *me);

// mlt_upcalls.own_input: the rank has the process's input, whichever rank had it. Not with --stdin
// all: it has all of that already.
void mlt_input_take(mlt_rank *me);

// fclose of a stream that may be a rank's input: true if it must stay open. Others have it, too, or
// its descriptor, of which the number would become another rank's file.
bool mlt_input_keeps(const FILE *stream);

// freopen of the calling rank's input, where libc's would be for others, too, or fail; *out is NULL
// and errno tells if it does. False: libc's is right.
bool mlt_input_reopen(const char *path, const char *mode, FILE *stream, FILE **out);

// A child that the rank has just forked; what descriptor 0 of a program is that it starts.
void mlt_input_forked(mlt_rank *me);
int mlt_input_of_child(const mlt_rank *me);

// Reads descriptor 0 as the calling rank has it; *done as read returns. False: as the process has
// it.
bool mlt_input_read(void *to, size_t size, ssize_t *done);

struct mlt_input;
void mlt_input_free(struct mlt_input *own);
