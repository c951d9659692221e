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
#include "tools/commands.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"
#include "tools/mpirun.h"
#include "tools/progress.h"

enum { MOST_TEXT = 4096 };

static struct {
    int workers;
    bool quick, machine;
    const char *out;
} measure_asked;

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
static mlt_loggops check_text(const char *text)
{
    mlt_loggops machine = {-1, -1, -1, -1, -1, UINT64_MAX, -1};
    mlt_machine_parse("goalmeasure", text, &machine);
    if (machine.L < 0 || machine.o < 0 || machine.g < 0 || machine.G < 0 || machine.O < 0 ||
        machine.S == UINT64_MAX || machine.exec < 0)
        mlt_args_failed("goalmeasure ended before all parameters were measured");
    return machine;
}

// Runs goalmeasure with so many ranks; what it prints comes into text.
static void run_ranks(uint32_t ranks, char text[MOST_TEXT])
{
    mlt_mpirun mpirun = mlt_mpirun_find("goalmeasure");
    char *how = measure_asked.workers ? "thread" : "process", count[16];
    snprintf(count, sizeof count, "%" PRIu32, ranks);
    char *argv[] = {mpirun.path, "-n",         count, "--workers",
                    how,         mpirun.ranks, how,   measure_asked.quick ? "--quick" : NULL,
                    NULL};
    text[0] = '\0';
    mlt_mpirun_run("the measurement", argv, measure_hear, text);
}

// The machine as a file for --machine. The comments that the parameters came with go first.
static void write_machine(const mlt_loggops *m, const char *text, FILE *to)
{
    uint32_t count = (uint32_t)mlt_os_cores(), ranks = 4 * count, pairs = ranks / 2;
    char lines[MOST_TEXT];
    double hop = -1, busy = -1;
    run_ranks(ranks, lines);
    if (sscanf(lines, "hop %lf\nbusy %lf", &hop, &busy) != 2 || !(hop > 0) || !(busy > 0))
        mlt_args_failed("goalmeasure ended before a change of ranks was measured");
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
}

static int measure_run(const mlt_arg_texts *words)
{
    char text[MOST_TEXT];
    mlt_sink sink = mlt_sink_open(measure_asked.out); // before the work, not after it
    run_ranks(2, text);
    mlt_loggops found = check_text(text);
    if (measure_asked.machine)
        write_machine(&found, text, sink.to);
    else
        fputs(text, sink.to);
    mlt_sink_close(&sink);
    return MLT_EXIT_FINE;
}

static mlt_arg measure_args[] = {
    {"workers", 0, MLT_ARG_CHOICE, &measure_asked.workers, "HOW", .choices = "process|thread",
     .help = "what the two ranks are: process or thread (process)"},
    {"output", 'o', MLT_ARG_TEXT, &measure_asked.out, "FILE",
     .help = "write to FILE (standard output)"},
    {"quick", 0, MLT_ARG_FLAG, &measure_asked.quick, NULL, .help = "do an eighth of the work"},
    {"machine", 0, MLT_ARG_FLAG, &measure_asked.machine, NULL,
     .help = "also measure what it costs to run more ranks than processors, and write a "
             "described machine, for `millet goal sim --machine FILE`"},
};

const mlt_command mlt_goal_measure_command = {
    .name = "millet goal measure",
    .help = "measure LogGOPS's parameters on this machine",
    .purpose = "Measures L, o, g, G, O, S and the price of a local operation between two ranks "
               "of this machine, in a few seconds, and prints them for `millet goal sim "
               "--params FILE`. Let nothing else run meanwhile.",
    .groups = {{NULL, MLT_ARG_LIST(measure_args)}},
    .run = measure_run};
