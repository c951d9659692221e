// SPDX-License-Identifier: BSD-3-Clause
// `millet paths JOB`, `millet paths set JOB BOOK`: which rule books a running job was given, and another one.
#include "tools/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/rulebook.h"
#include "os/os.h"
#include "tools/live/ask.h"

static const int64_t pause_ns = 20000000;
static double patience_s = 10;

static int paths_show(const mlt_arg_texts *words)
{
    mlt_live_found job = mlt_live_find(words->count ? words->items[0] : NULL);
    mlt_text body = {0};
    if (!mlt_live_ask(&job, "/map", &body))
        mlt_args_failed("%s", mlt_args_why);
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
static int await_change(const mlt_live_found *job, uint32_t number)
{
    uint64_t until = mlt_os_now_ns() + (uint64_t)(patience_s * 1e9);
    for (;;) {
        mlt_text body = {0};
        if (!mlt_live_ask(job, "/paths", &body))
            mlt_args_failed("%s", mlt_args_why);
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

static int paths_set(const mlt_arg_texts *words)
{
    const char *rulebook = words->items[1];
    mlt_live_found job = mlt_live_find(words->items[0]);
    mlt_text body = {0};
    char *file = strcmp(rulebook, "-") == 0 ? strdup("") : realpath(rulebook, NULL);
    if (!file)
        mlt_args_failed("%s: %s", rulebook, strerror(errno));
    if (*file && mlt_coll_rulebook_check(file, MLT_ARGS_WHY) != MLT_OK)
        mlt_args_failed("%s; nothing is changed", mlt_args_why);
    if (!mlt_live_post(&job, "/book", file, &body))
        mlt_args_failed("%s", mlt_args_why);
    uint32_t number = (uint32_t)strtoul(mlt_text_so_far(&body), NULL, 10);
    mlt_text_free(&body);
    free(file);
    return await_change(&job, number);
}

static const mlt_command show_command = {
    .name = "millet paths show",
    .help = "print a running job's map of paths, and its rule books",
    .words = "[JOB]",
    .most = 1,
    .purpose =
        "Prints the map of a running job's paths: what collective calls, messages, windows, files "
        "and channels have gone along the wrappers of its rule book so far, and how long that "
        "took, on "
        "all hosts; then the rule books that it was given by `millet paths set`, and which "
        "communicators have taken them. JOB is the process number of its mpirun; without it, "
        "the only job of yours on this host. `millet paths JOB` is short for it.",
    .run = paths_show};

static mlt_arg set_args[] = {
    {"patience", 0, MLT_ARG_REAL, &patience_s, "S",
     .help = "wait so many seconds until a communicator has taken it (10)"},
};

static const mlt_command set_command = {
    .name = "millet paths set",
    .help = "give a running job a rule book for its collectives",
    .words = "JOB BOOK",
    .least = 2,
    .most = 2,
    .purpose = "Gives a running job a rule book: rules, algorithms and paths for its collective "
               "operations, as mpirun --coll does at the start. BOOK `-` gives its own rules back. "
               "Each communicator takes it after an MPI_Barrier or MPI_Allreduce, between the same "
               "two calls of all its ranks. A wrong rule book is refused, and changes nothing. On "
               "other "
               "hosts the rule book must have the same name.",
    .groups = {{NULL, MLT_ARG_LIST(set_args)}},
    .run = paths_set};

static const mlt_command *const paths_commands[] = {&show_command, &set_command,
                                                    &mlt_paths_draw_command, NULL};

const mlt_command mlt_paths_commands = {
    .name = "millet paths",
    .help = "change the rules and paths of a running job; draw paths",
    .words = "[options] [JOB] ...",
    .purpose =
        "Shows the map of a job's paths while it runs, and changes the rules and paths of its "
        "collective operations; draws the paths of a rule book before anything runs.",
    .codes = "0: all is well; 1: the job is gone, or the rule book is refused; 2: wrong usage; "
             "70: memory is exhausted",
    .more = "Time all collective calls of a running job from now on:\n\n"
            "  echo 'path { \"count\", \"combine\" }' > count.lua\n"
            "  millet paths set 4711 count.lua",
    .all = paths_commands,
    .number = &show_command,
};
