// SPDX-License-Identifier: BSD-3-Clause
// `millet goal draw`: which ranks, which of the two drawings, where to.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "tools/args.h"
#include "tools/draw/draw.h"
#include "tools/goal/goal.h"
#include "tools/goal/machine.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"
#include "tools/progress.h"

enum { GOAL_DRAW_WHY_BYTES = 4096 };

typedef struct goal_draw_asked {
    mlt_source_options source;
    mlt_machine_options machine;
    bool dag, timeline;
    const char *out, *some, *described;
    double from_ns, to_ns; // of the timeline; to_ns below 0: to its end
} goal_draw_asked;

const char *mlt_draw_label(const mlt_goal_program *program, const mlt_goal_action *action)
{
    return action->label ? mlt_goal_name_text(program, action->label) : "";
}

// "3-7" or "3": the ranks to draw.
static int read_range(const mlt_arg_command *command, const goal_draw_asked *a, uint32_t ranks,
                      mlt_drawing *out)
{
    out->first = 0;
    out->last = ranks - 1;
    if (!a->some)
        return MLT_ARGS_GO;
    uint32_t from, to;
    int end = 0;
    if (sscanf(a->some, "%9" SCNu32 "-%9" SCNu32 "%n", &from, &to, &end) < 2 || a->some[end]) {
        end = 0;
        if (sscanf(a->some, "%9" SCNu32 "%n", &from, &end) < 1 || a->some[end])
            return mlt_args_wrong(
                command, "option --only is '%s', but should be ranks such as 0-31 or 5", a->some);
        to = from;
    }
    if (from > to || to >= ranks)
        return mlt_args_wrong(command, "option --only is '%s', but the ranks are 0 to %" PRIu32,
                              a->some, ranks - 1);
    out->first = from;
    out->last = to;
    return MLT_ARGS_GO;
}

// What nobody could look at is refused.
static int too_many_ranks(const mlt_arg_command *command, const goal_draw_asked *a,
                          const mlt_drawing *d)
{
    char count[MLT_NUMBER_BYTES];
    uint32_t ranks = d->last - d->first + 1, limit;
    limit = a->timeline ? MLT_DRAW_TIMELINE_RANKS : MLT_DRAW_DAG_RANKS;
    if (ranks > limit)
        return mlt_args_failed(command,
                               "%s ranks cannot be drawn, up to %" PRIu32
                               " can; --only 0-31 draws some of them",
                               mlt_number(count, ranks), limit);
    return MLT_ARGS_GO;
}

static int too_many_actions(const mlt_arg_command *command, const goal_draw_asked *a,
                            const mlt_drawing *d)
{
    char count[MLT_NUMBER_BYTES];
    uint64_t actions = 0;
    for (uint32_t r = d->first; r <= d->last; r++)
        for (uint32_t i = 0; i < d->program->rank[r].count; i++)
            actions += !a->timeline || mlt_draw_shows(d, r, i);
    if (actions > MLT_DRAW_ACTIONS)
        return mlt_args_failed(command,
                               "%s actions cannot be drawn, up to %d can; --only draws "
                               "some of the ranks%s",
                               mlt_number(count, actions), MLT_DRAW_ACTIONS,
                               a->timeline ? ", --from and --to a part of the time" : "");
    return MLT_ARGS_GO;
}

// --from and --to, after the simulation.
static int read_window(const mlt_arg_command *command, const goal_draw_asked *a, mlt_drawing *d)
{
    double total = (double)d->sim->total_ps / 1000;
    if (a->from_ns > total || (a->from_ns > 0 && a->from_ns >= total))
        return mlt_args_wrong(command, "option --from is %.10g ns, but the program ends at %.10g",
                              a->from_ns, total);
    if (a->to_ns >= 0 && a->to_ns <= a->from_ns)
        return mlt_args_wrong(command, "--from is %.10g ns, but should be less than --to, %.10g ns",
                              a->from_ns, a->to_ns);
    d->from_ps = (uint64_t)(a->from_ns * 1000);
    d->to_ps = a->to_ns < 0 || a->to_ns > total ? UINT64_MAX : (uint64_t)(a->to_ns * 1000);
    return MLT_ARGS_GO;
}

static int goal_draw_simulate(const mlt_arg_command *command, const mlt_source *source,
                              const mlt_loggops *machine, const mlt_cluster *cluster,
                              mlt_sim_result **out)
{
    char why[GOAL_DRAW_WHY_BYTES];
    mlt_progress progress;
    mlt_sim_options options = {.machine = *machine,
                               .cluster = cluster,
                               .keep_times = true,
                               .keep_path = true,
                               .by_arrival = mlt_source_is_loggopsim(source),
                               .progress = mlt_progress_step,
                               .user = &progress};
    mlt_progress_begin(&progress, "simulating");
    mlt_status status = mlt_goal_simulate(source->program, &options, out, why, sizeof why);
    mlt_progress_end(&progress);
    return status == MLT_OK ? MLT_ARGS_GO : mlt_args_failed(command, "%s", why);
}

// The host of each rank; the caller frees it. The simulation has tried that all have their places.
static uint32_t *goal_draw_hosts_of(const mlt_cluster *cluster, uint32_t ranks)
{
    char why[GOAL_DRAW_WHY_BYTES];
    uint32_t *host = mlt_take(ranks, sizeof *host);
    if (mlt_cluster_ranks(cluster, ranks, host, why, sizeof why) == MLT_OK)
        for (uint32_t r = 0; r < ranks; r++)
            host[r] /= cluster->nics;
    return host;
}

static int goal_draw(const mlt_arg_command *command, const goal_draw_asked *a,
                     const mlt_source *source)
{
    char title[192], some[64] = "", count[MLT_NUMBER_BYTES];
    mlt_loggops machine;
    mlt_cluster *cluster = NULL;
    uint32_t *host = NULL;
    mlt_sim_result *sim = NULL;
    mlt_drawing d = {.program = source->program, .title = title, .machine = &machine};
    int code = read_range(command, a, source->program->ranks, &d);
    if (code == MLT_ARGS_GO)
        code = too_many_ranks(command, a, &d);
    if (code == MLT_ARGS_GO)
        code = mlt_machine_read(&a->machine, command, &machine);
    if (code == MLT_ARGS_GO)
        code = mlt_machine_read_cluster(&a->machine, a->described, command, &cluster);
    if (code == MLT_ARGS_GO && a->timeline)
        code = goal_draw_simulate(command, source, &machine, cluster, &sim);
    if (code != MLT_ARGS_GO) {
        mlt_cluster_free(cluster);
        return code;
    }
    if (cluster) {
        d.host = host = goal_draw_hosts_of(cluster, source->program->ranks);
        d.machine = &cluster->between;
        d.within = &cluster->within;
    }
    mlt_goal_pairs *pairs = mlt_goal_pairs_new(source->program);
    d.pairs = pairs;
    d.sim = sim;
    if (a->timeline)
        code = read_window(command, a, &d);
    if (code == MLT_ARGS_GO)
        code = too_many_actions(command, a, &d);
    if (d.last - d.first + 1 < source->program->ranks)
        snprintf(some, sizeof some, ", ranks %" PRIu32 " to %" PRIu32 " of %s", d.first, d.last,
                 mlt_number(count, source->program->ranks));
    snprintf(title, sizeof title, "%s%s", source->name, some);
    mlt_sink sink;
    if (code == MLT_ARGS_GO)
        code = mlt_sink_open(&sink, command, a->out);
    if (code == MLT_ARGS_GO) {
        if (a->timeline)
            mlt_draw_timeline(&d, sink.to);
        else
            mlt_draw_dag(&d, sink.to);
        code = mlt_sink_close(&sink, command, true);
    }
    mlt_goal_pairs_free(pairs);
    mlt_sim_result_free(sim);
    mlt_cluster_free(cluster);
    free(host);
    return code;
}

static int goal_draw_start(const mlt_arg_command *command, goal_draw_asked *a,
                           const mlt_arg_texts *words)
{
    if (a->dag && a->timeline)
        return mlt_args_wrong(command, "--dag and --timeline are two drawings; ask for one");
    if (!a->timeline && (a->described || mlt_machine_given(&a->machine)))
        return mlt_args_wrong(command, "parameters of a machine need --timeline");
    if (!a->timeline && (a->from_ns > 0 || a->to_ns >= 0))
        return mlt_args_wrong(command, "--from and --to are times of a --timeline");
    mlt_source source;
    int code = mlt_source_read_one(command, &a->source, words, &source);
    if (code == MLT_ARGS_GO)
        code = goal_draw(command, a, &source);
    mlt_source_free(&source);
    return code;
}

int mlt_goal_draw_main(int argc, char **argv)
{
    goal_draw_asked a = {.to_ns = -1};
    mlt_arg from[MLT_SOURCE_ARGS], machine[MLT_MACHINE_ARGS];
    mlt_source_args(&a.source, from);
    mlt_machine_args(&a.machine, machine);
    const mlt_arg args[] = {
        {"output", 'o', MLT_ARG_TEXT, &a.out, "OUT.svg",
         .help = "write to OUT.svg (standard output)"},
        {"dag", 0, MLT_ARG_FLAG, &a.dag, NULL,
         .help = "draw actions as boxes, a column for each rank, and arrows for dependencies and "
                 "messages (the default)"},
        {"timeline", 0, MLT_ARG_FLAG, &a.timeline, NULL,
         .help = "simulate, and draw a row for each rank over time, with the critical path"},
        {"only", 0, MLT_ARG_TEXT, &a.some, "A-B", .help = "draw these ranks alone"},
        {"from", 0, MLT_ARG_REAL, &a.from_ns, "NS",
         .help = "begin the timeline at this time, in ns (its beginning)"},
        {"to", 0, MLT_ARG_REAL, &a.to_ns, "NS",
         .help = "end the timeline at this time, in ns (its end)"},
        {"machine", 0, MLT_ARG_TEXT, &a.described, "FILE", .help = mlt_machine_file_help},
    };
    const mlt_arg_group groups[] = {
        {NULL, args, sizeof args / sizeof *args},
        {"The machine of the timeline", machine, MLT_MACHINE_ARGS},
        {"Programs without a file", from, MLT_SOURCE_ARGS},
    };
    const mlt_arg_command command = {
        .name = "millet goal draw",
        .words = "FILE",
        .most = 1,
        .purpose = "Draws a program as SVG, which every browser shows. A box or bar shows all "
                   "about its action when the mouse is over it.",
        .groups = groups,
        .count = sizeof groups / sizeof *groups};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    code = goal_draw_start(&command, &a, &words);
    mlt_arg_texts_free(&a.source.set);
    mlt_arg_texts_free(&words);
    return code;
}
