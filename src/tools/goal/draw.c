// SPDX-License-Identifier: BSD-3-Clause
// `millet goal draw`: which ranks, which of the two drawings, where to.
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "tools/commands.h"
#include "tools/draw/draw.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"

static struct {
    bool dag, timeline;
    const char *out, *some;
    double from_ns, to_ns; // of the timeline; to_ns below 0: to its end
} goal_draw_asked = {.to_ns = -1};

const char *mlt_draw_label(const mlt_goal_program *program, const mlt_goal_action *action)
{
    return action->label ? mlt_goal_name_text(program, action->label) : "";
}

// --only "3-7" or "3": the ranks to draw.
static void read_range(mlt_drawing *out)
{
    const char *some = goal_draw_asked.some;
    uint32_t from, to, ranks = out->program->ranks;
    int end = 0;
    out->last = ranks - 1;
    if (!some)
        return;
    if (sscanf(some, "%9" SCNu32 "-%9" SCNu32 "%n", &from, &to, &end) < 2 || some[end]) {
        end = 0;
        if (sscanf(some, "%9" SCNu32 "%n", &from, &end) < 1 || some[end])
            mlt_args_wrong("option --only is '%s', but should be ranks such as 0-31 or 5", some);
        to = from;
    }
    if (from > to || to >= ranks)
        mlt_args_wrong("option --only is '%s', but the ranks are 0 to %" PRIu32, some, ranks - 1);
    out->first = from;
    out->last = to;
}

// What nobody could look at is refused.
static void too_many_ranks(const mlt_drawing *d)
{
    char count[MLT_NUMBER_BYTES];
    uint32_t ranks = d->last - d->first + 1,
             limit = goal_draw_asked.timeline ? MLT_DRAW_TIMELINE_RANKS : MLT_DRAW_DAG_RANKS;
    if (ranks > limit)
        mlt_args_failed("%s ranks cannot be drawn, up to %" PRIu32
                        " can; --only 0-31 draws some of them",
                        mlt_number(count, ranks), limit);
}

static void too_many_actions(const mlt_drawing *d)
{
    char count[MLT_NUMBER_BYTES];
    uint64_t actions = 0;
    for (uint32_t r = d->first; r <= d->last; r++)
        for (uint32_t i = 0; i < d->program->rank[r].count; i++)
            actions += !goal_draw_asked.timeline || mlt_draw_is_shown(d, r, i);
    if (actions > MLT_DRAW_ACTIONS)
        mlt_args_failed(
            "%s actions cannot be drawn, up to %d can; --only draws some of the ranks%s",
            mlt_number(count, actions), MLT_DRAW_ACTIONS,
            goal_draw_asked.timeline ? ", --from and --to a part of the time" : "");
}

// --from and --to, after the simulation.
static void read_window(mlt_drawing *d)
{
    double total = (double)d->sim->total_ps / 1000, from = goal_draw_asked.from_ns,
           to = goal_draw_asked.to_ns;
    if (from > total || (from > 0 && from >= total))
        mlt_args_wrong("option --from is %.10g ns, but the program ends at %.10g", from, total);
    if (to >= 0 && to <= from)
        mlt_args_wrong("--from is %.10g ns, but should be less than --to, %.10g ns", from, to);
    d->from_ps = (uint64_t)(from * 1000);
    d->to_ps = to < 0 || to > total ? UINT64_MAX : (uint64_t)(to * 1000);
}

// The host of each rank. The simulation has tried that all have their places.
static uint32_t *goal_draw_hosts_of(const mlt_cluster *cluster, uint32_t ranks)
{
    uint32_t *host = mlt_xcalloc(ranks, sizeof *host);
    if (mlt_cluster_ranks(cluster, ranks, host, MLT_ARGS_WHY) == MLT_OK)
        for (uint32_t r = 0; r < ranks; r++)
            host[r] /= cluster->nics;
    return host;
}

static void goal_draw(const mlt_source *source)
{
    char title[192], some[64] = "", count[MLT_NUMBER_BYTES];
    bool timeline = goal_draw_asked.timeline;
    mlt_drawing d = {.program = source->program, .title = title};
    read_range(&d);
    too_many_ranks(&d);
    mlt_loggops machine = mlt_machine_read();
    mlt_cluster *cluster = mlt_machine_read_cluster();
    if (timeline)
        d.sim = mlt_machine_simulate(source, &machine, cluster, true, true);
    d.pairs = mlt_goal_pairs_new(source->program);
    d.machine = &machine;
    if (cluster) {
        d.host = goal_draw_hosts_of(cluster, source->program->ranks);
        d.machine = &cluster->between;
        d.within = &cluster->within;
    }
    if (timeline)
        read_window(&d);
    too_many_actions(&d);
    if (d.last - d.first + 1 < source->program->ranks)
        snprintf(some, sizeof some, ", ranks %" PRIu32 " to %" PRIu32 " of %s", d.first, d.last,
                 mlt_number(count, source->program->ranks));
    snprintf(title, sizeof title, "%s%s", source->name, some);
    mlt_sink sink = mlt_sink_open(goal_draw_asked.out);
    if (timeline)
        mlt_draw_timeline(&d, sink.to);
    else
        mlt_draw_dag(&d, sink.to);
    mlt_sink_close(&sink);
}

static int goal_draw_run(const mlt_arg_texts *words)
{
    if (goal_draw_asked.dag && goal_draw_asked.timeline)
        mlt_args_wrong("--dag and --timeline are two drawings; ask for one");
    if (!goal_draw_asked.timeline && mlt_machine_given())
        mlt_args_wrong("parameters of a machine need --timeline");
    if (!goal_draw_asked.timeline && (goal_draw_asked.from_ns > 0 || goal_draw_asked.to_ns >= 0))
        mlt_args_wrong("--from and --to are times of a --timeline");
    goal_draw(mlt_source_read_one(words));
    return MLT_EXIT_FINE;
}

static mlt_arg goal_draw_args[] = {
    {"output", 'o', MLT_ARG_TEXT, &goal_draw_asked.out, "OUT.svg",
     .help = "write to OUT.svg (standard output)"},
    {"dag", 0, MLT_ARG_FLAG, &goal_draw_asked.dag, NULL,
     .help = "draw actions as boxes, a column for each rank, and arrows for dependencies and "
             "messages (the default)"},
    {"timeline", 0, MLT_ARG_FLAG, &goal_draw_asked.timeline, NULL,
     .help = "simulate, and draw a row for each rank over time, with the critical path"},
    {"only", 0, MLT_ARG_TEXT, &goal_draw_asked.some, "A-B", .help = "draw these ranks alone"},
    {"from", 0, MLT_ARG_REAL, &goal_draw_asked.from_ns, "NS",
     .help = "begin the timeline at this time, in ns (its beginning)"},
    {"to", 0, MLT_ARG_REAL, &goal_draw_asked.to_ns, "NS",
     .help = "end the timeline at this time, in ns (its end)"},
    MLT_MACHINE_ARG,
};

const mlt_command mlt_goal_draw_command = {
    .name = "millet goal draw",
    .help = "draw a program, or its simulated timeline, as SVG",
    .words = "FILE",
    .most = 1,
    .purpose = "Draws a program as SVG, which every browser shows. A box or bar shows all "
               "about its action when the mouse is over it.",
    .groups = {{NULL, MLT_ARG_LIST(goal_draw_args)},
               {"The machine of the timeline", MLT_ARG_LIST(mlt_machine_args)},
               {"Programs without a file", MLT_ARG_LIST(mlt_source_args)}},
    .run = goal_draw_run};
