// SPDX-License-Identifier: BSD-3-Clause
// `millet goal asm`: a program as a binary file: Millet's image of all ranks' schedules, the compressed
// form of regular programs, or LogGOPSim's.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "goal/regular/regular.h"
#include "goal/sched.h"
#include "goal/text/loggopsim.h"
#include "tools/commands.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"

enum { MILLET, LOGGOPSIM, COMPRESSED };

static struct {
    int format;
    uint64_t window;
    double exec_ns;
    const char *out;
} asm_asked = {.format = MILLET, .exec_ns = -1};

static void asm_summary(const mlt_goal_program *program, uint64_t bytes)
{
    char ranks[MLT_NUMBER_BYTES], actions[MLT_NUMBER_BYTES], size[MLT_NUMBER_BYTES];
    uint64_t count = 0;
    for (uint32_t r = 0; r < program->ranks; r++)
        count += program->rank[r].count;
    printf("%s: %s rank%s, %s action%s, %s\n", asm_asked.out, mlt_number(ranks, program->ranks),
           program->ranks == 1 ? "" : "s", mlt_number(actions, count), count == 1 ? "" : "s",
           mlt_bytes(size, bytes));
}

static void compressed_summary(const mlt_goal_regular_counts *counts)
{
    char classes[MLT_NUMBER_BYTES], sets[MLT_NUMBER_BYTES];
    printf("  %s class%s of ranks, in %s set%s\n", mlt_number(classes, counts->classes),
           counts->classes == 1 ? "" : "es", mlt_number(sets, counts->sets),
           counts->sets == 1 ? "" : "s");
}

static void assemble(const mlt_goal_program *program)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    mlt_goal_regular_counts counts = {0};
    mlt_goal_sched_options options = {.window = (uint32_t)asm_asked.window,
                                      .plain = mlt_goal_has_wildcards(program)};
    if (asm_asked.format == MILLET)
        mlt_args_must(mlt_goal_image_write(program, &options, &bytes, &size, MLT_ARGS_WHY));
    else if (asm_asked.format == COMPRESSED)
        mlt_args_must(mlt_goal_regular_write(program, &bytes, &size, &counts, MLT_ARGS_WHY));
    mlt_sink sink = mlt_sink_open(asm_asked.out);
    if (bytes)
        (void)!fwrite(bytes, 1, size, sink.to);
    else
        (void)mlt_goal_loggopsim_write(program, asm_asked.exec_ns > 0 ? asm_asked.exec_ns : 0,
                                       sink.to);
    long end = ftell(sink.to); // -1 for a pipe, which has no summary
    bool file = sink.path != NULL;
    mlt_sink_close(&sink);
    if (file && end >= 0)
        asm_summary(program, (uint64_t)end);
    if (file && counts.classes)
        compressed_summary(&counts);
}

static int asm_run(const mlt_arg_texts *words)
{
    if (!asm_asked.out)
        mlt_args_wrong("it needs -o OUT, the file to write");
    if (strcmp(asm_asked.out, "-") == 0 && isatty(STDOUT_FILENO))
        mlt_args_wrong("a binary file is nothing for a terminal; give -o a name");
    if (asm_asked.format != MILLET && asm_asked.window)
        mlt_args_wrong("--window is for Millet's format; %s has none",
                       asm_asked.format == LOGGOPSIM ? "LogGOPSim's" : "the compressed one");
    if (asm_asked.format != LOGGOPSIM && asm_asked.exec_ns >= 0)
        mlt_args_wrong("--exec is for --format loggopsim; Millet's has exec");
    assemble(mlt_source_read_one(words)->program);
    return MLT_EXIT_FINE;
}

static mlt_arg asm_args[] = {
    {"output", 'o', MLT_ARG_TEXT, &asm_asked.out, "OUT", .help = "the file to write"},
    {"format", 0, MLT_ARG_CHOICE, &asm_asked.format, "FORMAT",
     .choices = "millet|loggopsim|compressed",
     .help = "millet, loggopsim, or compressed: ranks that do the same once (millet)"},
    {"window", 0, MLT_ARG_NUMBER, &asm_asked.window, "N", .most = UINT32_MAX,
     .help = "let schedules look at no more than N actions at a time (no limit)"},
    {"exec", 0, MLT_ARG_REAL, &asm_asked.exec_ns, "NS",
     .help = "loggopsim has no exec: write it as a calc of NS a byte (0)"},
};

const mlt_command mlt_goal_asm_command = {
    .name = "millet goal asm",
    .help = "assemble a program into a binary file",
    .words = "FILE",
    .most = 1,
    .purpose = "Assembles a program: a header with version and checksum, then a schedule for "
               "each rank in the paper's binary layout. GOAL_Sched_load loads it.",
    .groups = {{NULL, MLT_ARG_LIST(asm_args)},
               {"Programs without a file", MLT_ARG_LIST(mlt_source_args)}},
    .run = asm_run};
