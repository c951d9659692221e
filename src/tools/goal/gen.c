// SPDX-License-Identifier: BSD-3-Clause
// `millet goal gen`: a program as text, from an algorithm or a Lua script; or the list of
// algorithms.
#include <stdio.h>
#include <string.h>

#include "coll/alg/alg.h"
#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/source.h"
#include "tools/print.h"

// One line each: name, what options it takes, what it is.
static void gen_list(void)
{
    int widest = 0;
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const mlt_coll_alg *alg = mlt_coll_algs[i];
        int width = (int)(strlen(mlt_collective_names[alg->collective]) + strlen(alg->name)) + 1;
        if (width > widest)
            widest = width;
    }
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const mlt_coll_alg *alg = mlt_coll_algs[i];
        int width = printf("%s.%s", mlt_collective_names[alg->collective], alg->name);
        printf("%*s  %-4s%c%c%c %s%s\n", widest - width, "",
               alg->uses_segment  ? "seg"
               : alg->uses_radix  ? "rad"
               : alg->uses_window ? "thr"
                                  : "",
               alg->in_place ? 'i' : ' ', alg->uneven ? 'b' : ' ', alg->uses_hosts ? 'h' : ' ',
               alg->help, alg->in_order ? " [in order]" : "");
    }
    printf(
        "\nseg: takes --segment; rad: takes --radix; thr: takes --throttle; i: takes --in-place; "
        "b: takes --blocks; h: needs --hosts;\n[in order]: operands in the order of ranks, so the "
        "operation need not "
        "commute\n");
}

int mlt_goal_gen_main(int argc, char **argv)
{
    mlt_source_options from;
    mlt_print_options to;
    bool lists = false;
    mlt_arg from_args[MLT_SOURCE_ARGS], to_args[MLT_PRINT_ARGS];
    mlt_source_args(&from, from_args);
    from.scripts = true;
    mlt_print_args(&to, to_args);
    const mlt_arg args[] = {
        {"list", 'l', MLT_ARG_FLAG, &lists, NULL, .help = "list all algorithms, a line each"},
    };
    const mlt_arg_group groups[] = {
        {NULL, args, 1}, {NULL, from_args, MLT_SOURCE_ARGS}, {NULL, to_args, MLT_PRINT_ARGS}};
    const mlt_arg_command command = {
        .name = "millet goal gen",
        .words = "[FILE.lua]",
        .most = 1,
        .purpose = "Writes a program as GOAL text, from a Lua script that returns a function(g, "
                   "rank, p) or has an algorithm { ... } as mpirun --coll takes it (FILE.lua:NAME "
                   "chooses one of several), or with --alg from a built-in algorithm. As a file, - "
                   "is standard input.",
        .groups = groups,
        .count = 3};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_source source = {0};
    if (lists && (from.alg || words.count))
        code = mlt_args_wrong(&command, "--list takes no program; leave out the file and --alg");
    else if (lists) {
        gen_list();
        code = MLT_EXIT_FINE;
    } else if (words.count && !mlt_source_is_script(&from, words.items[0])) {
        code = mlt_args_wrong(&command,
                              "'%s' is no script, whose name would end with .lua; `millet goal "
                              "fmt` prints programs",
                              words.items[0]);
    } else
        code = mlt_source_read_one(&command, &from, &words, &source);
    if (code == MLT_ARGS_GO)
        code = mlt_print_program(&command, &to, &source);
    mlt_source_free(&source);
    mlt_arg_texts_free(&from.set);
    mlt_arg_texts_free(&words);
    return code;
}
