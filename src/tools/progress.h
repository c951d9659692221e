// SPDX-License-Identifier: BSD-3-Clause
// A progress bar on standard error, for people only: it shows up after a second, if standard error
// is a terminal, and is gone at the end. What may take hours also writes a line now and then where
// standard error is a file (mlt_progress_begin_long).
#pragma once

#include <stdbool.h>

typedef struct mlt_progress {
    const char *what;        // "simulating"
    double began_s, shown_s; // shown_s 0: not yet
    bool on, terminal;
} mlt_progress;

void mlt_progress_begin(mlt_progress *progress, const char *what);
void mlt_progress_begin_long(mlt_progress *progress, const char *what);
void mlt_progress_step(void *progress, double done); // 0..1, as callbacks want it
void mlt_progress_end(mlt_progress *progress);
