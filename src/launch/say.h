// SPDX-License-Identifier: BSD-3-Clause
// mpirun's own sentences, and the exit codes that it gives itself.
#ifndef MLT_LAUNCH_SAY_H
#define MLT_LAUNCH_SAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

// A rank's own exit status and 128 + signal pass through; these are mpirun's.
enum {
    MLT_EXIT_FAILED = 1,    // a rank ended with 0 between MPI_Init and MPI_Finalize
    MLT_EXIT_USAGE = 2,     // the command line, a host file or a configuration file is wrong
    MLT_EXIT_SYSTEM = 70,   // the machine refused: memory, descriptors, processes
    MLT_EXIT_TIMEOUT = 124, // --timeout
    MLT_EXIT_DEADLOCK = 125,
    MLT_EXIT_NOT_EXECUTABLE = 126,
    MLT_EXIT_NOT_FOUND = 127,
};

// Writes "mpirun: <sentence>\n" to standard error, in one write.
void mlt_say(const char *format, ...) MLT_PRINTF(1, 2);

// Writes all bytes to standard error; gives up if nobody listens. Never blocks: what does not fit
// waits until the event loop or mlt_say_finish writes it.
void mlt_say_raw(const char *text, size_t bytes);

// For the event loop: whether something waits, the descriptor that must get room for it, and
// writing what there is room for.
bool mlt_say_waits(void);
int mlt_say_fd(void);
void mlt_say_go_on(void);

// Waits until all is written, for at most that time (-1: as long as it takes), or until a signal
// that ends mpirun is there.
void mlt_say_finish(int limit_ms);

// Something could not be written, though somebody would read it: the disk is full, or memory.
bool mlt_say_lost(void);

// Says the sentence and ends mpirun. Only before the first rank has been started.
_Noreturn void mlt_quit(int code, const char *format, ...) MLT_PRINTF(2, 3) MLT_COLD;

// Memory for mpirun itself; ends it with a sentence if there is none.
void *mlt_need(size_t count, size_t size) MLT_MUST_CHECK;
void *mlt_need_more(void *old, size_t count, size_t size) MLT_MUST_CHECK;
char *mlt_need_text(const char *format, ...) MLT_PRINTF(1, 2) MLT_MUST_CHECK;

#endif
