// SPDX-License-Identifier: BSD-3-Clause
// `millet goal measure`: LogGOPS's parameters between two ranks of this machine. It starts mpirun,
// found beside itself, with the program goalmeasure, which does the measuring and prints a file of
// parameters; lines with '@' tell how far it is. With --machine a second job, of more ranks than
// processors, measures what it costs to pass a processor on.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"
#include "tools/mpirun.h"
#include "tools/progress.h"

enum { MOST_TEXT = 4096, MEASURE_WHY_BYTES = 512 };

static const char *const worker_names[] = {"process", "thread"};

// The job's lines until it ends: how far it is to the progress bar, all others into text.
static void measure_hear(FILE *from, void *user)
{
    char *text = user; // [MOST_TEXT]
    mlt_progress progress;
    char line[256];
    size_t length = 0;
    mlt_progress_begin(&progress, "measuring");
    while (fgets(line, sizeof line, from)) {
        size_t n = strlen(line);
        if (line[0] == '@')
            mlt_progress_step(&progress, strtod(line + 1, NULL));
        else if (length + n < MOST_TEXT) {
            memcpy(text + length, line, n + 1);
            length += n;
        }
    }
    mlt_progress_end(&progress);
}

// What came must be whole: a parameter that is not there would silently be LogGOPSim's.
static int check_text(const mlt_arg_command *command, const char *text, mlt_loggops *machine)
{
    char why[MEASURE_WHY_BYTES];
    *machine = (mlt_loggops){-1, -1, -1, -1, -1, UINT64_MAX, -1};
    if (!mlt_machine_parse("goalmeasure", text, machine, why, sizeof why))
        return mlt_args_failed(command, "%s", why);
    if (machine->L < 0 || machine->o < 0 || machine->g < 0 || machine->G < 0 || machine->O < 0 ||
        machine->S == UINT64_MAX || machine->exec < 0)
        return mlt_args_failed(command, "goalmeasure ended before all parameters were measured");
    return MLT_ARGS_GO;
}

// Runs goalmeasure with so many ranks; what it prints comes into text.
static int run_ranks(const mlt_arg_command *command, uint32_t ranks, const char *workers,
                     bool quick, char text[MOST_TEXT])
{
    mlt_mpirun mpirun;
    char how[16], count[16];
    text[0] = '\0';
    int code = mlt_mpirun_find(command, "goalmeasure", &mpirun);
    if (code != MLT_ARGS_GO)
        return code;
    snprintf(how, sizeof how, "%s", workers);
    snprintf(count, sizeof count, "%" PRIu32, ranks);
    char *argv[] = {mpirun.path, "-n",         count, "--workers",
                    how,         mpirun.ranks, how,   quick ? "--quick" : NULL,
                    NULL};
    return mlt_mpirun_run(command, "the measurement", argv, measure_hear, text);
}

// The machine as a file for --machine. The comments that the parameters came with go first.
static int write_machine(const mlt_arg_command *command, const mlt_loggops *m, const char *text,
                         const char *workers, bool quick, FILE *to)
{
    uint32_t count = (uint32_t)mlt_os_cores(), ranks = 4 * count, pairs = ranks / 2;
    char lines[MOST_TEXT];
    double hop = -1, busy = -1;
    int code = run_ranks(command, ranks, workers, quick, lines);
    if (code != MLT_ARGS_GO)
        return code;
    if (sscanf(lines, "hop %lf\nbusy %lf", &hop, &busy) != 2 || !(hop > 0) || !(busy > 0))
        return mlt_args_failed(command, "goalmeasure ended before a change of ranks was measured");
    busy = busy * count / pairs; // what a processor takes for a message
    double wake = hop - m->L - 2 * m->o, change = busy - 2 * m->o;
    for (const char *line = text; *line == '#'; line = strchr(line, '\n') + 1)
        fprintf(to, "%.*s", (int)(strchr(line, '\n') + 1 - line), line);
    fprintf(to,
            "# a message to one of %" PRIu32
            " ranks: where the others wait %.1f; of a processor that all share %.1f\n"
            "hosts 1\ncores %d\nprocessors %" PRIu32 " switch %.6g wake %.6g\n"
            "within-host L %.6g o %.6g g %.6g G %.6g O %.6g\nS %" PRIu64 "\nexec %.6g\n"
            "network crossbar\n",
            ranks, hop, busy, MLT_CLUSTER_CORES, count, change > 0 ? change : 0,
            wake > 0 ? wake : 0, m->L, m->o, m->g, m->G, m->O, m->S, m->exec);
    return MLT_ARGS_GO;
}

static int measure(const mlt_arg_command *command, const char *workers, bool quick, bool machine,
                   const char *out)
{
    char text[MOST_TEXT];
    mlt_sink sink;
    mlt_loggops found;
    int code = mlt_sink_open(&sink, command, out); // before the work, not after it
    if (code != MLT_ARGS_GO)
        return code;
    code = run_ranks(command, 2, workers, quick, text);
    if (code == MLT_ARGS_GO)
        code = check_text(command, text, &found);
    if (code == MLT_ARGS_GO && machine)
        code = write_machine(command, &found, text, workers, quick, sink.to);
    else if (code == MLT_ARGS_GO)
        fputs(text, sink.to);
    int closed = mlt_sink_close(&sink, command, code == MLT_ARGS_GO);
    return code == MLT_ARGS_GO ? closed : code;
}

int mlt_goal_measure_main(int argc, char **argv)
{
    int workers = 0;
    bool quick = false, machine = false;
    const char *out = NULL;
    const mlt_arg args[] = {
        {.name = "workers",
         .kind = MLT_ARG_CHOICE,
         .value = &workers,
         .word = "HOW",
         .choices = "process|thread",
         .help = "what the two ranks are: process or thread (process)"},
        {.name = "output",
         .letter = 'o',
         .kind = MLT_ARG_TEXT,
         .value = &out,
         .word = "FILE",
         .help = "write to FILE (standard output)"},
        {.name = "quick",
         .kind = MLT_ARG_FLAG,
         .value = &quick,
         .help = "do an eighth of the work"},
        {.name = "machine",
         .kind = MLT_ARG_FLAG,
         .value = &machine,
         .help = "also measure what it costs to run more ranks than processors, and write a "
                 "described machine, for `millet goal sim --machine FILE`"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args}};
    const mlt_arg_command command = {
        .name = "millet goal measure",
        .words = "",
        .purpose = "Measures L, o, g, G, O, S and the price of a local operation between two ranks "
                   "of this machine, in a few seconds, and prints them for `millet goal sim "
                   "--params FILE`. Let nothing else run meanwhile.",
        .groups = groups,
        .count = 1};
    mlt_arg_texts words = {NULL, 0}; // it takes none
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    return code == MLT_ARGS_GO ? measure(&command, worker_names[workers], quick, machine, out)
                               : code;
}
