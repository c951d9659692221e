// SPDX-License-Identifier: BSD-3-Clause
// `millet top [JOB]`: what a running job does.
#include "tools/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/os.h"
#include "tools/live/ask.h"
#include "tools/live/screen.h"

enum { LOOKS = 8 }; // of one interval

static bool take_view(const mlt_live_found *job, mlt_screen_view *v)
{
    mlt_text body = {0};
    bool fine = mlt_live_ask(job, "/snapshot", &body);
    if (fine && !mlt_screen_read(v, body.text, body.length)) {
        snprintf(MLT_ARGS_WHY, "its mpirun is of another version than this command");
        fine = false;
    }
    mlt_text_free(&body);
    return fine;
}

// ---- the command

static struct {
    bool once, json, metrics;
    double interval_s;
} top_asked = {.interval_s = 1};

// The job has ended, or cannot be asked: mlt_args_why.
static int gone(bool shown)
{
    if (!shown)
        mlt_args_failed("%s", mlt_args_why);
    printf("\n%s\n", mlt_args_why);
    return MLT_EXIT_FINE;
}

// A page as the job writes it.
static int show_page(const mlt_live_found *job, const char *page)
{
    for (bool shown = false;; shown = true) {
        mlt_text body = {0};
        bool fine = mlt_live_ask(job, page, &body);
        if (fine)
            fwrite(body.text, 1, body.length, stdout);
        mlt_text_free(&body);
        if (!fine)
            return shown ? MLT_EXIT_FINE : gone(false);
        if (top_asked.once || fflush(stdout) != 0)
            return MLT_EXIT_FINE;
        mlt_os_sleep((int64_t)(top_asked.interval_s * 1e9));
    }
}

// The looks of one interval; the last one is in *now.
static bool watch_interval(const mlt_live_found *job, mlt_screen_tally *t, mlt_screen_view *now)
{
    for (int i = 0; i < LOOKS; i++) {
        mlt_screen_view next;
        mlt_os_sleep((int64_t)(top_asked.interval_s / LOOKS * 1e9));
        if (!take_view(job, &next))
            return false;
        mlt_live_snap_fini(&now->snap);
        *now = next;
        mlt_screen_count(t, now);
    }
    return true;
}

static void show_on_terminal(const mlt_screen_view *now, const mlt_screen_view *before,
                             const mlt_screen_tally *t)
{
    struct winsize size = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col || !size.ws_row)
        size = (struct winsize){.ws_col = UINT16_MAX, .ws_row = UINT16_MAX}; // it does not tell
    fputs("\033[H\033[J", stdout);
    mlt_screen_print(now, before, t, out ? out : stdout);
    if (out) {
        fclose(out);
        mlt_screen_cut(text, length, size.ws_col, size.ws_row, stdout);
    }
    free(text);
}

static int show_screens(const mlt_live_found *job)
{
    mlt_screen_view before, now = {0};
    bool terminal = isatty(STDOUT_FILENO) && !top_asked.once, shown = false, fine = true;
    if (!take_view(job, &before))
        return gone(false);
    while (fine) {
        mlt_screen_tally t = {0};
        fine = watch_interval(job, &t, &now);
        if (fine) {
            if (terminal)
                show_on_terminal(&now, &before, &t);
            else {
                fputs(shown ? "\n" : "", stdout);
                mlt_screen_print(&now, &before, &t, stdout);
            }
            shown = true;
            mlt_live_snap_fini(&before.snap);
            before = now;
            now = (mlt_screen_view){0};
        }
        mlt_screen_tally_fini(&t);
        if (fine && (top_asked.once || fflush(stdout) != 0))
            break;
    }
    mlt_live_snap_fini(&before.snap);
    mlt_live_snap_fini(&now.snap);
    return fine ? MLT_EXIT_FINE : gone(shown);
}

static int top_run(const mlt_arg_texts *words)
{
    if (top_asked.json && top_asked.metrics)
        mlt_args_wrong("--json and --prometheus exclude each other");
    if (top_asked.interval_s < 0.1 || top_asked.interval_s > 86400)
        mlt_args_wrong("--interval should be 0.1 to 86400 seconds");
    mlt_live_found job = mlt_live_find(words->count ? words->items[0] : NULL);
    if (top_asked.json || top_asked.metrics)
        return show_page(&job, top_asked.json ? "/json" : "/metrics");
    return show_screens(&job);
}

static mlt_arg top_args[] = {
    {"once", '1', MLT_ARG_FLAG, &top_asked.once, NULL, .help = "show one screen and end"},
    {"interval", 'i', MLT_ARG_REAL, &top_asked.interval_s, "S",
     .help = "seconds between screens (1)"},
    {"json", 0, MLT_ARG_FLAG, &top_asked.json, NULL, .help = "print what is known as JSON"},
    {"prometheus", 0, MLT_ARG_FLAG, &top_asked.metrics, NULL,
     .help = "print it as Prometheus reads it; mpirun --live gives it to a scraper"},
};

const mlt_command mlt_top_command = {
    .name = "millet top",
    .help = "show what a running job does, like top; as JSON; for Prometheus",
    .words = "[JOB]",
    .most = 1,
    .purpose = "Shows what a running job does: ranks that compute and wait, where they wait, for "
               "whom, messages a second, memory. JOB is the process number of its mpirun, on "
               "whose host this command runs; without it, the only job of yours there is. The "
               "job needs no option, and looking costs its ranks nothing.",
    .groups = {{NULL, MLT_ARG_LIST(top_args)}},
    .run = top_run};
