// SPDX-License-Identifier: BSD-3-Clause
// The `millet` command: one table of commands.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/args.h"
#include "tools/coll/tune.h"
#include "tools/commands.h"
#include "tools/goal/goal.h"
#include "tools/info.h"
#include "tools/live/paths.h"
#include "tools/live/top.h"
#include "tools/man.h"
#include "tools/trace/trace.h"
#include "tools/view/view.h"
#if MLT_WITH_CSP
#include "tools/names/names.h"
#endif
#if MLT_WITH_FLOW
#include "tools/flow/flow.h"
#endif

static const mlt_command main_millet_commands[] = {
    {"info", mlt_info_main,
     .help = "show version, settings, choices on this machine, coverage of MPI"},
    {"goal", .family = &mlt_goal_commands,
     .help = "check, run, simulate and draw collective operations"},
#if MLT_WITH_FLOW
    {"flow", .family = &mlt_flow_commands,
     .help = "check, build, run and draw programs of modules and wires"},
#endif
#if MLT_WITH_CSP
    {"names", .family = &mlt_names_commands,
     .help = "run the name server, by which programs find each other"},
#endif
    {"paths", .family = &mlt_paths_commands,
     .help = "change the rules and paths of a running job's collectives"},
    {"top", mlt_top_main,
     .help = "show what a running job does, like top; as JSON; for Prometheus"},
    {"trace", mlt_trace_main, .help = "show what mpirun --trace wrote: a summary, events, JSON"},
    {"tune", mlt_tune_main, .help = "measure or simulate collectives, and write rules for them"},
    {"view", mlt_view_main, .help = "make a page of a trace that shows why the run was slow"},
};

static const mlt_commands millet = {
    .name = "millet",
    .usage = "[options]",
    .purpose = "Tools for programs that are compiled with mpicc and started with mpirun. "
               "millet --version prints the version.",
    .codes = "0: all is well; 1: something was found, or the input is at fault; 2: wrong usage; "
             "70: memory is exhausted",
    .more = "What would mpirun use for an allreduce of 8 KiB between 64 ranks, and why?\n\n"
            "  millet info --coll allreduce --ranks 64 --bytes 8K",
    .all = main_millet_commands,
    .count = sizeof main_millet_commands / sizeof *main_millet_commands,
};

// `millet --help=man [mpirun]` (man.h).
static int main_millet_man(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[2], "mpirun") == 0)
        mlt_man_mpirun();
    else {
        mlt_man_begin(millet.name, "tools for programs that run on Millet");
        mlt_commands_man(&millet);
        mlt_man_see("mpirun", false);
        mlt_man_see("mpicc", true);
    }
    return MLT_EXIT_FINE;
}

static int main_millet_run(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], MLT_MAN_OPTION) == 0)
        return main_millet_man(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("Millet %s\n", MLT_VERSION);
        return MLT_EXIT_FINE;
    }
    return mlt_commands_run(&millet, argc, argv);
}

// Output that could not be written, on a full disk for instance, is an error.
int main(int argc, char **argv)
{
    int code = main_millet_run(argc, argv);
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (code == MLT_EXIT_FINE && failed) {
        fprintf(stderr, "millet: standard output cannot be written: %s\n", strerror(errno));
        code = MLT_EXIT_FOUND;
    }
    return code;
}
