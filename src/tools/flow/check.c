// SPDX-License-Identifier: BSD-3-Clause
// `millet flow check`: what is wrong with a file, or what it says.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "tools/args.h"
#include "tools/flow/flow.h"
#include "tools/flow/input.h"
#include "tools/flow/print.h"

static void sum_up(const char *path, const mlt_flow_graph *g)
{
    char instances[MLT_NUMBER_BYTES], wires[MLT_NUMBER_BYTES], more[MLT_NUMBER_BYTES];
    uint32_t modules = 0;
    for (uint32_t v = 0; v < g->vector_count; v++)
        if (g->vectors[v].kind == MLT_FLOW_MODULE)
            modules += g->vectors[v].count;
    uint32_t others = g->node_count - modules;
    printf("%s: %s instance%s of modules, %s collective%s, %s wire%s\n", path,
           mlt_number(instances, modules), modules == 1 ? "" : "s", mlt_number(more, others),
           others == 1 ? "" : "s", mlt_number(wires, g->edge_count), g->edge_count == 1 ? "" : "s");
}

int mlt_flow_check_main(int argc, char **argv)
{
    mlt_arg_texts defines = {NULL, 0}, words = {NULL, 0};
    bool verbose = false, quiet = false;
    const mlt_arg args[] = {
        {"define", 'D', MLT_ARG_TEXTS, &defines, "NAME=N", .help = "give a constant another value"},
        {"verbose", 'v', MLT_ARG_FLAG, &verbose, NULL,
         .help = "print the graph: constants, instances, wires"},
        {"quiet", 'q', MLT_ARG_FLAG, &quiet, NULL, .help = "say nothing if all is well"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args}};
    const mlt_arg_command command = {
        .name = "millet flow check",
        .words = "FILE.flow",
        .least = 1,
        .most = 1,
        .purpose = "Reads a file as the program would ('-' is standard input) and reports what is "
                   "wrong with it, each fault with its line.",
        .groups = groups,
        .count = 1};
    char **own = mlt_flow_argv(&argc, argv);
    int code = mlt_args_read(&command, argc, own, &words, NULL);
    if (code == MLT_ARGS_GO) {
        mlt_flow_input input;
        code = mlt_flow_input_read(&command, words.items[0], &defines, &input);
        if (code == MLT_ARGS_GO) {
            if (verbose)
                mlt_flow_print(input.graph, stdout);
            else if (!quiet)
                sum_up(input.file->path, input.graph);
            code = MLT_EXIT_FINE;
        }
        mlt_flow_input_free(&input);
        mlt_arg_texts_free(&defines);
        mlt_arg_texts_free(&words);
    }
    free(own);
    return code;
}
