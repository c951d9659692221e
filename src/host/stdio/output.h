// SPDX-License-Identifier: BSD-3-Clause
// Whose line is it? Where a process holds several ranks, the library puts streams of its own in the
// place of stdout and stderr, for all of them. They find the rank that writes, gather its line, and
// write it whole: with a label, or into a file a rank, if that is wanted. So each rank has what a
// process would have; what it does to its streams (freopen, setvbuf, fclose: streams.c) is for that
// rank alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "p2p/p2p.h"

// Once, before ranks run, if there are several.
void mlt_output_init(void);

// 0, 1: the stream is the library's own in the place of stdout, stderr; -1: another.
int mlt_output_which(const FILE *stream);

// True if the stream is labelled, or goes into a file a rank.
bool mlt_output_is_sorted(int which);

// The rank that calls, or whose thread or child does; NULL: it has no stream of its own.
mlt_rank *mlt_output_rank(void);

// Writes to the calling rank's stream. 0 if that failed; errno tells why.
ssize_t mlt_output_write(int which, const char *text, size_t size);

// Writes to descriptor 1 or 2 as the calling rank has it; *done as write returns. False: as the
// process has it.
bool mlt_output_write_fd(int fd, const void *data, size_t size, ssize_t *done);

// Writes what the rank's stream holds back. False if some was lost; errno tells why.
bool mlt_output_flush(mlt_rank *me, int which);

// True if something that was written to C's stdout or stderr did not get out of the process; then
// it has written a message that names the rank (-1: none). Does not look at the library's own
// streams.
bool mlt_output_is_lost(int32_t rank);

// In a signal handler: the process is about to die of a fault of the rank, or of no rank (NULL). Writes
// the line so far, which would die with it.
void mlt_output_rescue(const mlt_rank *me);

// The process is a child that the rank forked: forgets the line so far, which the rank itself
// writes.
void mlt_output_forked(mlt_rank *me);

// The rank has ended: writes its last line, if that has no end, and closes its files. False if some
// of its output was lost; then it has written a message.
bool mlt_output_end(mlt_rank *me);
