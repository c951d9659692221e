// SPDX-License-Identifier: BSD-3-Clause
// Any text as a pattern of output files (first byte even) or as their directory (odd): what a
// rank's process opens in the end, and what a process with several ranks is told, are what one
// simple pass over the pattern gives.
#include "launch/stdio.h"

#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/loop.h"
#include "launch/plan/hosts.h"

enum { PROCS = 2, RANK = 0, SEVERAL = 1 };

typedef struct question {
    char *text;
    bool is_directory;
    char *path; // of rank 0, for its process to open
    char *told; // the pattern, for the process of ranks 1 to 4
} question;

static char *copy(const char *text)
{
    char *own = strdup(text);
    FUZZ_CHECK(own);
    return own;
}

static void ask(void *argument)
{
    static mlt_placement_proc procs[PROCS] = {{.first_rank = RANK, .ranks = 1, .workers = 1},
                                              {.first_rank = SEVERAL, .ranks = 4, .workers = 1}};
    static const mlt_placement plan = {
        .procs = procs, .proc_count = PROCS, .workers = 2, .ranks = 5};
    static int loop = -1;
    if (loop < 0)
        loop = mlt_loop_new();
    question *q = argument;
    mlt_options options = {.gdb = -1, .stdin_rank = MLT_STDIN_NONE};
    *(q->is_directory ? &options.output_directory : &options.outfile) = q->text;
    char why[256];
    mlt_spawn spawn;
    mlt_env env = {.items = NULL};
    mlt_stdio *io = mlt_stdio_new(&(mlt_stdio_conf){.options = &options, .plan = &plan});
    FUZZ_CHECK(mlt_stdio_prepare(io, 0, &spawn, why, sizeof why) && spawn.streams[1].file);
    q->path = copy(spawn.streams[1].file);
    mlt_stdio_started(io, 0);
    mlt_stdio_env(io, 1, &env);
    static const char name[] = "MILLET_OUTFILE=";
    size_t at = 0;
    while (at < env.common && strncmp(env.items[at], name, sizeof name - 1) != 0)
        at++;
    FUZZ_CHECK(at < env.common);
    q->told = copy(env.items[at] + sizeof name - 1);
    (void)mlt_stdio_finish(io, false);
}

// One pass: %r, %h, %p, %%, and nothing else means something. The caller frees it.
static char *expand(const char *pattern, int rank)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    FUZZ_CHECK(out);
    for (const char *at = pattern; *at; at++) {
        if (*at != '%' || !at[1] || !strchr("rhp%", at[1])) {
            fputc(*at, out);
            continue;
        }
        switch (*++at) {
        case 'r':
            fprintf(out, "%d", rank);
            break;
        case 'h':
            fputs(mlt_hosts_own(), out);
            break;
        case 'p':
            fprintf(out, "%d", (int)getpid());
            break;
        default:
            fputc('%', out);
        }
    }
    fclose(out);
    return text;
}

static char *wanted(const question *q, int rank)
{
    static const char suffix[] = ":nocopy";
    char here[4096], *whole;
    FUZZ_CHECK(getcwd(here, sizeof here));
    char *name = q->is_directory ? copy(q->text) : expand(q->text, rank);
    size_t n = strlen(name);
    if (q->is_directory && n >= sizeof suffix - 1 &&
        strcmp(name + n - (sizeof suffix - 1), suffix) == 0)
        name[n - (sizeof suffix - 1)] = '\0';
    bool inside = name[0] != '/';
    char rest[32] = "";
    if (q->is_directory)
        snprintf(rest, sizeof rest, "/1/rank.%d/stdout", rank);
    FUZZ_CHECK(asprintf(&whole, "%s%s%s%s", inside ? here : "", inside ? "/" : "", name, rest) > 0);
    free(name);
    return whole;
}

static void check_same(const question *q, int rank, const char *pattern)
{
    char *own = expand(pattern, rank), *right = wanted(q, rank);
    if (strcmp(own, right) != 0)
        fprintf(stderr, "pattern '%s', rank %d: '%s' instead of '%s'\n", q->text, rank, own, right);
    FUZZ_CHECK(strcmp(own, right) == 0);
    free(own);
    free(right);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t kind;
    fuzz_take(&data, &size, &kind, 1);
    char *text = fuzz_text(data, size);
    question q = {.text = text, .is_directory = kind % 2};
    FUZZ_CHECK(fuzz_run(ask, &q));
    fuzz_release();
    check_same(&q, RANK, q.path);
    for (int rank = SEVERAL; rank < SEVERAL + 2; rank++)
        check_same(&q, rank, q.told);
    free(q.path);
    free(q.told);
    free(text);
    return 0;
}
