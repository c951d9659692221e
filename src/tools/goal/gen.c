// SPDX-License-Identifier: BSD-3-Clause
// `millet goal gen`: a program as text, from an algorithm or a Lua script; or the list of
// algorithms.
#include <stdio.h>
#include <string.h>

#include "coll/alg/alg.h"
#include "tools/commands.h"
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

static bool gen_lists;

static int gen_run(const mlt_arg_texts *words)
{
    mlt_source_asked.scripts = true;
    if (gen_lists && (mlt_source_asked.algs.count || words->count))
        mlt_args_wrong("--list takes no program; leave out the file and --alg");
    if (gen_lists) {
        gen_list();
        return MLT_EXIT_FINE;
    }
    if (words->count && !mlt_source_is_script(words->items[0]))
        mlt_args_wrong(
            "'%s' is no script, whose name would end with .lua; `millet goal fmt` prints programs",
            words->items[0]);
    mlt_print_program(mlt_source_read_one(words));
    return MLT_EXIT_FINE;
}

static mlt_arg gen_args[] = {
    {"list", 'l', MLT_ARG_FLAG, &gen_lists, NULL, .help = "list all algorithms, a line each"},
};

const mlt_command mlt_goal_gen_command = {
    .name = "millet goal gen",
    .help = "write a program: from an algorithm or a Lua script",
    .words = "[FILE.lua]",
    .most = 1,
    .purpose = "Writes a program as GOAL text, from a Lua script that returns a function(g, "
               "rank, p) or has an algorithm { ... } as mpirun --coll takes it (FILE.lua:NAME "
               "chooses one of several), or with --alg from a built-in algorithm. As a file, - "
               "is standard input.",
    .groups = {{NULL, MLT_ARG_LIST(gen_args)},
               {NULL, MLT_ARG_LIST(mlt_source_args)},
               {NULL, MLT_ARG_LIST(mlt_print_args)}},
    .run = gen_run};
