// SPDX-License-Identifier: BSD-3-Clause
#include "tools/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PROGRESS_BAR = 40, LINE_S = 10 }; // LINE_S: between two lines

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void mlt_progress_begin(mlt_progress *progress, const char *what)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    *progress =
        (mlt_progress){.what = what, .began_s = now_s(), .on = terminal, .terminal = terminal};
}

void mlt_progress_begin_long(mlt_progress *progress, const char *what)
{
    mlt_progress_begin(progress, what);
    progress->on = true;
    progress->shown_s = progress->terminal ? 0 : progress->began_s;
}

static void show_left(double so_far, double done)
{
    if (done > 0.02)
        fprintf(stderr, ", %.0f s left", so_far / done - so_far);
}

void mlt_progress_step(void *user, double done)
{
    mlt_progress *progress = user;
    if (!progress->on)
        return;
    double now = now_s(), so_far = now - progress->began_s;
    if (so_far < 1 || now - progress->shown_s < (progress->terminal ? 0.1 : LINE_S))
        return;
    progress->shown_s = now;
    done = done < 0 ? 0 : done > 1 ? 1 : done;
    if (!progress->terminal) {
        fprintf(stderr, "%s: %.0f %%", progress->what, 100 * done);
        show_left(so_far, done);
        fprintf(stderr, "\n");
        return;
    }
    char bar[PROGRESS_BAR + 1];
    for (int i = 0; i < PROGRESS_BAR; i++)
        bar[i] = (double)i < done * PROGRESS_BAR ? '#' : '.';
    bar[PROGRESS_BAR] = '\0';
    fprintf(stderr, "\r%s [%s] %3.0f %%", progress->what, bar, 100 * done);
    show_left(so_far, done);
    fprintf(stderr, " \033[K");
    fflush(stderr);
}

void mlt_progress_end(mlt_progress *progress)
{
    if (progress->terminal && progress->shown_s > 0)
        fprintf(stderr, "\r\033[K");
    progress->on = false;
}
