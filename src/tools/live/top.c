// SPDX-License-Identifier: BSD-3-Clause
#include "tools/live/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/os.h"
#include "tools/args.h"
#include "tools/live/ask.h"
#include "tools/live/screen.h"

enum { LOOKS = 8 }; // of one interval

static bool take_view(const mlt_live_found *job, mlt_screen_view *v, char *why, size_t why_size)
{
    mlt_text body = {0};
    bool fine = mlt_live_ask(job, "/snapshot", &body, why, why_size);
    if (fine && !mlt_screen_read(v, body.text, body.length)) {
        snprintf(why, why_size, "its mpirun is of another version than this command");
        fine = false;
    }
    mlt_text_free(&body);
    return fine;
}

// ---- the command

typedef struct options {
    bool once, json, metrics;
    double interval_s;
} options;

static int gone(const mlt_arg_command *command, const char *why, bool shown)
{
    if (shown) {
        printf("\n%s\n", why);
        return MLT_EXIT_FINE;
    }
    return mlt_args_failed(command, "%s", why);
}

// A page as the job writes it.
static int show_page(const mlt_arg_command *command, const mlt_live_found *job, const char *page,
                     const options *o)
{
    char why[256];
    for (bool shown = false;; shown = true) {
        mlt_text body = {0};
        bool fine = mlt_live_ask(job, page, &body, why, sizeof why);
        if (fine)
            fwrite(body.text, 1, body.length, stdout);
        mlt_text_free(&body);
        if (!fine)
            return shown ? MLT_EXIT_FINE : gone(command, why, false);
        if (o->once || fflush(stdout) != 0)
            return MLT_EXIT_FINE;
        mlt_os_sleep((int64_t)(o->interval_s * 1e9));
    }
}

// The looks of one interval; the last one is in *now.
static bool watch_interval(const mlt_live_found *job, double seconds, mlt_screen_tally *t,
                           mlt_screen_view *now, char *why, size_t why_size)
{
    for (int i = 0; i < LOOKS; i++) {
        mlt_screen_view next;
        mlt_os_sleep((int64_t)(seconds / LOOKS * 1e9));
        if (!take_view(job, &next, why, why_size))
            return false;
        mlt_screen_view_fini(now);
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

static int show_screens(const mlt_arg_command *command, const mlt_live_found *job, const options *o)
{
    char why[256];
    mlt_screen_view before, now = {0};
    bool terminal = isatty(STDOUT_FILENO) && !o->once, shown = false, fine = true;
    if (!take_view(job, &before, why, sizeof why))
        return gone(command, why, false);
    while (fine) {
        mlt_screen_tally t = {0};
        fine = watch_interval(job, o->interval_s, &t, &now, why, sizeof why);
        if (fine) {
            if (terminal)
                show_on_terminal(&now, &before, &t);
            else {
                fputs(shown ? "\n" : "", stdout);
                mlt_screen_print(&now, &before, &t, stdout);
            }
            shown = true;
            mlt_screen_view_fini(&before);
            before = now;
            now = (mlt_screen_view){0};
        }
        mlt_screen_tally_fini(&t);
        if (fine && (o->once || fflush(stdout) != 0))
            break;
    }
    mlt_screen_view_fini(&before);
    mlt_screen_view_fini(&now);
    return fine ? MLT_EXIT_FINE : gone(command, why, shown);
}

int mlt_top_main(int argc, char **argv)
{
    options o = {.interval_s = 1};
    const mlt_arg args[] = {
        {"once", '1', MLT_ARG_FLAG, &o.once, NULL, .help = "show one screen and end"},
        {"interval", 'i', MLT_ARG_REAL, &o.interval_s, "S", .help = "seconds between screens (1)"},
        {"json", 0, MLT_ARG_FLAG, &o.json, NULL, .help = "print what is known as JSON"},
        {"prometheus", 0, MLT_ARG_FLAG, &o.metrics, NULL,
         .help = "print it as Prometheus reads it; mpirun --live gives it to a scraper"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args}};
    const mlt_arg_command command = {
        .name = "millet top",
        .words = "[JOB]",
        .most = 1,
        .purpose =
            "Shows what a running job does: ranks that compute and wait, where they wait, for "
            "whom, messages a second, memory. JOB is the process number of its mpirun, on "
            "whose host this command runs; without it, the only job of yours there is. The "
            "job needs no option, and looking costs its ranks nothing.",
        .groups = groups,
        .count = 1};
    mlt_arg_texts words = {NULL, 0};
    mlt_live_found job;
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    code = o.json && o.metrics
               ? mlt_args_wrong(&command, "--json and --prometheus exclude each other")
           : o.interval_s < 0.1 || o.interval_s > 86400
               ? mlt_args_wrong(&command, "--interval should be 0.1 to 86400 seconds")
               : mlt_live_find(&command, words.count ? words.items[0] : NULL, &job);
    mlt_arg_texts_free(&words);
    if (code != MLT_ARGS_GO)
        return code;
    if (o.json || o.metrics)
        return show_page(&command, &job, o.json ? "/json" : "/metrics", &o);
    return show_screens(&command, &job, &o);
}
