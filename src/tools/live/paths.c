// SPDX-License-Identifier: BSD-3-Clause
#include "tools/live/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/rulebook.h"
#include "os/os.h"
#include "tools/args.h"
#include "tools/live/ask.h"

enum { WHY = 4096 };
static const int64_t pause_ns = 20000000;

static int show_main(int argc, char **argv)
{
    const mlt_arg_command command = {
        .name = "millet paths show",
        .words = "[JOB]",
        .most = 1,
        .purpose =
            "Prints the map of a running job's paths: what collective calls, messages, windows and "
            "channels have gone along the wrappers of its rule book so far, and how long that "
            "took, on "
            "all hosts; then the rule books that it was given by `millet paths set`, and which "
            "communicators have taken them. JOB is the process number of its mpirun; without it, "
            "the only job of yours on this host. `millet paths JOB` is short for it."};
    mlt_arg_texts words = {NULL, 0};
    mlt_live_found job;
    mlt_text body = {0};
    char why[WHY];
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    code = mlt_live_find(&command, words.count ? words.items[0] : NULL, &job);
    mlt_arg_texts_free(&words);
    if (code != MLT_ARGS_GO)
        return code;
    if (!mlt_live_ask(&job, "/map", &body, why, sizeof why))
        return mlt_args_failed(&command, "%s", why);
    fputs(mlt_text_so_far(&body), stdout);
    mlt_text_free(&body);
    return MLT_EXIT_FINE;
}

// What has become of the change: its line of /paths, without the end; the caller frees it. NULL: it is
// not there any more.
static char *line_of(const char *text, uint32_t number)
{
    char begin[32];
    size_t n = (size_t)snprintf(begin, sizeof begin, "change %u: ", number);
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strncmp(text, begin, n) == 0)
            return strndup(text, strcspn(text, "\n"));
    return NULL;
}

// Waits until a communicator has taken it, or refused it, or for so long.
static int await_change(const mlt_arg_command *command, const mlt_live_found *job, uint32_t number,
                        double patience_s)
{
    uint64_t until = mlt_os_now_ns() + (uint64_t)(patience_s * 1e9);
    char why[WHY];
    for (;;) {
        mlt_text body = {0};
        if (!mlt_live_ask(job, "/paths", &body, why, sizeof why))
            return mlt_args_failed(command, "%s", why);
        char *line = line_of(mlt_text_so_far(&body), number);
        mlt_text_free(&body);
        bool waits = line && strstr(line, ": waits for "),
             refused = line && strstr(line, ": refused: ");
        if (!waits || mlt_os_now_ns() >= until) {
            fprintf(refused ? stderr : stdout, "%s\n",
                    line ? line : "later changes have replaced it");
            free(line);
            return refused ? MLT_EXIT_FOUND : MLT_EXIT_FINE;
        }
        free(line);
        mlt_os_sleep(pause_ns);
    }
}

// The whole name of a rule book that is right; NULL: it is not, and a message was printed.
static char *check_rulebook(const mlt_arg_command *command, const char *word)
{
    char why[WHY];
    char *file = realpath(word, NULL);
    if (!file)
        (void)mlt_args_failed(command, "%s: %s", word, strerror(errno));
    else if (mlt_coll_rulebook_check(file, why, sizeof why) != MLT_OK) {
        (void)mlt_args_failed(command, "%s; nothing is changed", why);
        free(file);
        file = NULL;
    }
    return file;
}

static int set_main(int argc, char **argv)
{
    double patience_s = 10;
    const mlt_arg args[] = {
        {"patience", 0, MLT_ARG_REAL, &patience_s, "S",
         .help = "wait so many seconds until a communicator has taken it (10)"}};
    const mlt_arg_group groups[] = {{NULL, args, 1}};
    const mlt_arg_command command = {
        .name = "millet paths set",
        .words = "JOB BOOK",
        .least = 2,
        .most = 2,
        .purpose =
            "Gives a running job a rule book: rules, algorithms and paths for its collective "
            "operations, as mpirun --coll does at the start. BOOK `-` gives its own rules back. "
            "Each communicator takes it after an MPI_Barrier or MPI_Allreduce, between the same "
            "two calls of all its ranks. A wrong rule book is refused, and changes nothing. On "
            "other "
            "hosts the rule book must have the same name.",
        .groups = groups,
        .count = 1};
    mlt_arg_texts words = {NULL, 0};
    mlt_live_found job;
    char why[WHY];
    uint32_t number;
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    code = mlt_live_find(&command, words.items[0], &job);
    bool none = strcmp(words.items[1], "-") == 0;
    char *file = code != MLT_ARGS_GO ? NULL
                 : none              ? strdup("")
                                     : check_rulebook(&command, words.items[1]);
    mlt_arg_texts_free(&words);
    if (code != MLT_ARGS_GO)
        return code;
    if (!file)
        return MLT_EXIT_FOUND;
    code = mlt_live_give(&job, file, &number, why, sizeof why)
               ? await_change(&command, &job, number, patience_s)
               : mlt_args_failed(&command, "%s", why);
    free(file);
    return code;
}

static const mlt_command paths_commands[] = {
    {"show", show_main, .help = "print a running job's map of paths, and its rule books"},
    {"set", set_main, .help = "give a running job a rule book for its collectives"},
};

const mlt_commands mlt_paths_commands = {
    .name = "millet paths",
    .usage = "[options] [JOB] ...",
    .purpose =
        "Shows the map of a job's paths while it runs, and changes the rules and paths of its "
        "collective operations.",
    .codes = "0: all is well; 1: the job is gone, or the rule book is refused; 2: wrong usage; "
             "70: memory is exhausted",
    .more = "Time all collective calls of a running job from now on:\n\n"
            "  echo 'path { \"count\", \"combine\" }' > count.lua\n"
            "  millet paths set 4711 count.lua",
    .all = paths_commands,
    .count = sizeof paths_commands / sizeof *paths_commands,
    .number = show_main,
};
