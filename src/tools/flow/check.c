// SPDX-License-Identifier: BSD-3-Clause
// `millet flow check`: what is wrong with a file, or what it says.
#include <stdio.h>

#include "base/numbers.h"
#include "tools/commands.h"
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

static bool check_verbose, check_quiet;

static int flow_check_run(const mlt_arg_texts *words)
{
    mlt_flow_input input = mlt_flow_input_read(words->items[0]);
    if (check_verbose)
        mlt_flow_print(input.graph, stdout);
    else if (!check_quiet)
        sum_up(input.file->path, input.graph);
    return MLT_EXIT_FINE;
}

static mlt_arg flow_check_args[] = {
    MLT_FLOW_DEFINE_ARG,
    {"verbose", 'v', MLT_ARG_FLAG, &check_verbose, NULL,
     .help = "print the graph: constants, instances, wires"},
    {"quiet", 'q', MLT_ARG_FLAG, &check_quiet, NULL, .help = "say nothing if all is well"},
};

const mlt_command mlt_flow_check_command = {
    .name = "millet flow check",
    .help = "report what is wrong with a file",
    .words = "FILE.flow",
    .least = 1,
    .most = 1,
    .purpose = "Reads a file as the program would ('-' is standard input) and reports what is "
               "wrong with it, each fault with its line.",
    .groups = {{NULL, MLT_ARG_LIST(flow_check_args)}},
    .run = flow_check_run};
