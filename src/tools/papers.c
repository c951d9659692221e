// SPDX-License-Identifier: BSD-3-Clause
// `millet papers`: finds share/millet/papers, and becomes the Python program there, which has the experiments.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "tools/commands.h"
#include "tools/mpirun.h"

static mlt_arg_texts only;
static const char *output = "build/papers";
static bool quick, again, list;

static mlt_arg papers_args[] = {
    {"only", 0, MLT_ARG_TEXTS, &only, "ID",
     .help = "these experiments, with commas between, or all of fine, "
             "goal, aspen, csp or cpp; may be repeated"},
    {"quick", 0, MLT_ARG_FLAG, &quick, NULL,
     .help = "one round and small sizes: five minutes at most in place of forty"},
    {"again", 0, MLT_ARG_FLAG, &again, NULL,
     .help = "begin anew where an earlier run was interrupted"},
    {"output", 'o', MLT_ARG_TEXT, &output, "FOLDER",
     .help = "write index.html and papers.json there (build/papers)"},
    {"list", 0, MLT_ARG_FLAG, &list, NULL, .help = "name the experiments, with what each claims"},
};

static int papers_run(const mlt_arg_texts *words)
{
    (void)words;
    char bin[PATH_MAX], script[PATH_MAX];
    mlt_mpirun_beside("mpirun", bin);
    *strrchr(bin, '/') = '\0';
    mlt_mpirun_beside("../share/millet/papers/papers.py", script);
    const char **argv = mlt_xcalloc(12 + 2 * only.count, sizeof *argv);
    size_t n = 0;
    argv[n++] = "python3";
    argv[n++] = "-B"; // leaves no compiled files beside the program
    argv[n++] = script;
    argv[n++] = "--bin";
    argv[n++] = bin;
    argv[n++] = "--output";
    argv[n++] = output;
    if (quick)
        argv[n++] = "--quick";
    if (again)
        argv[n++] = "--again";
    if (list)
        argv[n++] = "--list";
    for (size_t i = 0; i < only.count; i++) {
        argv[n++] = "--only";
        argv[n++] = only.items[i];
    }
    fflush(NULL);
    execvp(argv[0], (char *const *)argv);
    mlt_args_failed("python3 cannot be started, which runs the experiments: %s", strerror(errno));
}

const mlt_command mlt_papers_command = {
    .name = "millet papers",
    .help = "repeat the experiments of the five papers",
    .purpose = "Runs every experiment of the five papers that Millet stands on, on this machine, "
               "and writes a page "
               "that shows each claim confirmed, not confirmed or not judged. A run that was "
               "interrupted goes on "
               "where it stopped.",
    .groups = {{NULL, MLT_ARG_LIST(papers_args)}},
    .run = papers_run,
    .codes = "0: the experiments ran, whatever they found; 1: they could not; 2: wrong usage; 130: "
             "interrupted",
    .more = "  millet papers\n  millet papers --quick --only fg6,cpp3",
};
