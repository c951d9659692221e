// SPDX-License-Identifier: BSD-3-Clause
// Whose line is it? Where a process holds several ranks and output is labelled or goes into a file
// a rank, the library puts streams of its own in the place of stdout and stderr. They find the rank
// that writes, gather its line, and write it whole. (Output that does not go through C's stdout and
// stderr, such as C++'s std::cout, whose buffer is bound to the descriptors before any library code
// of ours runs, stays as it is.)
#ifndef MLT_HOST_OUTPUT_H
#define MLT_HOST_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "p2p/p2p.h"

// Once, before ranks run.
void mlt_output_init(void);

// True if something that was written to C's stdout or stderr did not get out of the process; then
// it has written a message that names the rank (-1: none). Does not look at the library's own
// streams.
bool mlt_output_is_lost(int32_t rank);

// The process is a child that the rank forked: forgets the line so far, which the rank itself
// writes.
void mlt_output_forked(mlt_rank *me);

// The rank has ended: writes its last line, if that has no end, and closes its files. False if some
// of its output was lost; then it has written a message.
bool mlt_output_end(mlt_rank *me);

#endif
