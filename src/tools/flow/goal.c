// SPDX-License-Identifier: BSD-3-Clause
// `millet flow goal`: what a placed program sends in some rounds, for `millet goal`.
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "goal/text/text.h"
#include "tools/commands.h"
#include "tools/flow/input.h"
#include "tools/flow/rounds.h"
#include "tools/flow/site.h"
#include "tools/goal/sink.h"

static mlt_flow_rounds goal_rounds = {.bytes = 8, .count = 1};
static const char *goal_out;

static int flow_goal_run(const mlt_arg_texts *words)
{
    mlt_flow_input input = mlt_flow_input_read(words->items[0]);
    mlt_flow_site site = mlt_flow_site_make(input.graph, words->items[0], false);
    mlt_goal_program *program = mlt_flow_rounds_new(site.lowered, &goal_rounds, MLT_ARGS_WHY);
    if (!program)
        mlt_args_failed("%s: %s", words->items[0], mlt_args_why);
    mlt_sink sink = mlt_sink_open(goal_out);
    const mlt_flow_site_options *o = &mlt_flow_site_asked;
    fprintf(sink.to,
            "# %s on %" PRIu64 " worker%s, %" PRIu64 " round%s, elements of %" PRIu64
            " bytes%s%s\n",
            words->items[0], o->workers, o->workers == 1 ? "" : "s", goal_rounds.count,
            goal_rounds.count == 1 ? "" : "s", goal_rounds.bytes,
            o->unbalanced ? ", unbalanced" : "", o->reproducible ? ", reproducible" : "");
    // That writing failed is told by the stream, at the end.
    (void)mlt_goal_print(program, MLT_GOAL_PAPER, 0, sink.to);
    mlt_sink_close(&sink);
    mlt_goal_program_free(program);
    return MLT_EXIT_FINE;
}

static mlt_arg flow_goal_args[] = {
    {"output", 'o', MLT_ARG_TEXT, &goal_out, "OUT.goal",
     .help = "write to OUT.goal (standard output)"},
    MLT_FLOW_DEFINE_ARG,
    {"bytes", 0, MLT_ARG_SIZE, &goal_rounds.bytes, "BYTES", .help = "bytes of each element (8)",
     .least = 1, .most = UINT64_C(1) << 32},
    {"rounds", 0, MLT_ARG_NUMBER, &goal_rounds.count, "N", .help = "rounds (1)", .least = 1,
     .most = 1 << 20},
    {"compute", 0, MLT_ARG_NUMBER, &goal_rounds.compute_ns, "NS",
     .help = "ns that an instance of weight 1 computes in a round, before it sends (0)",
     .most = UINT64_C(1) << 40},
};

const mlt_command mlt_flow_goal_command = {
    .name = "millet flow goal",
    .help = "write what a program sends as a GOAL program",
    .words = "FILE.flow",
    .least = 1,
    .most = 1,
    .purpose =
        "Writes what the program sends between its workers in a round, as a GOAL program with a "
        "rank for each worker, which millet goal checks, draws and simulates: wires that lead to "
        "other workers, and the schedules of reductions as they run. In a round each module "
        "sends one element on each output.",
    .groups = {{NULL, MLT_ARG_LIST(flow_goal_args)},
               {"The machine", MLT_ARG_LIST(mlt_flow_site_args)}},
    .run = flow_goal_run};
