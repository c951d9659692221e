// SPDX-License-Identifier: BSD-3-Clause
// The `millet` command: one table of commands.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/man.h"

static const mlt_command *const main_millet_commands[] = {
    &mlt_info_command,
    &mlt_goal_commands,
#if MLT_WITH_FLOW
    &mlt_flow_commands,
#endif
#if MLT_WITH_CSP
    &mlt_names_commands,
#endif
    &mlt_papers_command,
    &mlt_paths_commands,
    &mlt_top_command,
    &mlt_trace_command,
    &mlt_tune_command,
    &mlt_view_command,
    NULL,
};

static const mlt_command millet = {
    .name = "millet",
    .words = "[options]",
    .purpose = "Tools for programs that are compiled with mpicc and started with mpirun. "
               "millet --version prints the version.",
    .codes = "0: all is well; 1: something was found, or the input is at fault; 2: wrong usage; "
             "70: memory is exhausted",
    .more = "What would mpirun use for an allreduce of 8 KiB between 64 ranks, and why?\n\n"
            "  millet info --coll allreduce --ranks 64 --bytes 8K",
    .all = main_millet_commands,
};

// `millet --help=man [mpirun]` (man.h).
static int main_millet_man(const char *page)
{
    if (page && strcmp(page, "mpirun") == 0)
        mlt_man_mpirun();
    else {
        mlt_man_begin(millet.name, "tools for programs that run on Millet");
        mlt_command_man(&millet);
        mlt_man_see("mpirun", false);
        mlt_man_see("mpicc", true);
    }
    return MLT_EXIT_FINE;
}

static int main_millet_run(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], MLT_MAN_OPTION) == 0)
        return main_millet_man(argv[2]);
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("Millet %s\n", MLT_VERSION);
        return MLT_EXIT_FINE;
    }
    return mlt_command_run(&millet, argv);
}

// Output that could not be written, on a full disk for instance, is an error.
int main(int argc, char **argv)
{
    int code = main_millet_run(argc, argv);
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (failed)
        fprintf(stderr, "%s: standard output cannot be written: %s\n", mlt_args_command(),
                strerror(errno));
    return failed ? MLT_EXIT_FOUND : code;
}
