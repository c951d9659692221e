// SPDX-License-Identifier: BSD-3-Clause
#include "judge/sim/sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "judge/sim/sim_int.h"
#include "os/os.h"

const mlt_loggops mlt_loggops_default = {
    .L = 2500, .o = 1500, .g = 1000, .G = 6, .O = 0, .S = 65535, .exec = 0};

// An eighth of what can be simulated, so that sums of a few stay exact.
static const double most_ns = (double)(MLT_SIM_MOST_TIME / 8) / 1000;

static mlt_sim_cost cost_of(const mlt_loggops *machine)
{
    return (mlt_sim_cost){.L = mlt_sim_price(machine->L * 1000),
                          .o = mlt_sim_price(machine->o * 1000),
                          .g = mlt_sim_price(machine->g * 1000),
                          .G = machine->G * 1000,
                          .O = machine->O * 1000};
}

static mlt_status check_machine(const mlt_loggops *machine, char *why, size_t why_size)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"L", machine->L}, {"o", machine->o}, {"g", machine->g},
               {"G", machine->G}, {"O", machine->O}, {"exec", machine->exec}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(all[i].value >= 0 && all[i].value <= most_ns))
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "%s is %g, but must be a number of ns from 0 to %g", all[i].name,
                            all[i].value, most_ns);
    return MLT_OK;
}

char *mlt_sim_describe(const mlt_sim *sim, mlt_goal_place place, char *text, size_t size)
{
    mlt_goal_program view = *sim->program;
    if (sim->part)
        view =
            mlt_goal_program_as_rank(sim->part(sim->part_arg, place.rank), place.rank, view.ranks);
    return mlt_goal_describe(&view, place.rank, place.action, text, size);
}

static void make_result(mlt_sim *sim, const mlt_sim_options *options)
{
    mlt_sim_result *result = sim->result;
    result->ranks = sim->program->ranks;
    result->actions = sim->count;
    result->rank_end_ps = mlt_xcalloc(result->ranks, sizeof *result->rank_end_ps);
    if (!options->keep_times)
        return;
    result->action_start_ps = mlt_xcalloc(sim->count, sizeof *result->action_start_ps);
    result->cpu_start_ps = mlt_xcalloc(sim->count, sizeof *result->cpu_start_ps);
    result->action_end_ps = mlt_xcalloc(sim->count, sizeof *result->action_end_ps);
}

static void collect_ends(const mlt_sim *sim)
{
    uint64_t *end = sim->result->rank_end_ps;
    for (uint32_t l = 0; l < sim->lanes_count; l++) {
        uint32_t rank = mlt_sim_rank(sim, l);
        end[rank] = sim->lanes[l].end > end[rank] ? sim->lanes[l].end : end[rank];
    }
}

// A message that came to a rank which never asked for it; only if they are matched as they come.
static mlt_status check_left_over(const mlt_sim *sim, char *why, size_t why_size)
{
    for (uint32_t r = 0; sim->lists && r < sim->program->ranks; r++)
        if (sim->lists[r].unexpected != MLT_SIM_NONE) {
            mlt_goal_place place = mlt_sim_place(sim, sim->lists[r].unexpected);
            char text[400];
            return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s is received by nobody",
                            mlt_sim_describe(sim, place, text, sizeof text));
        }
    return MLT_OK;
}

// All have met, or the run would have failed.
static void collect_others(mlt_sim *sim)
{
    sim->result->other = mlt_xcalloc(sim->count, sizeof *sim->result->other);
    for (uint32_t a = 0; a < sim->count; a++) {
        uint64_t kind = sim->actions[a].bits & MLT_SIM_KIND;
        if (kind == MLT_SIM_SEND || kind == MLT_SIM_RECV)
            sim->result->other[a] = mlt_sim_place(sim, sim->actions[a].partner);
    }
}

static mlt_status simulate(mlt_sim *sim, const mlt_sim_options *options, char *why, size_t why_size)
{
    mlt_status status = MLT_OK;
    if (options->cluster)
        status = mlt_sim_travel_begin(sim, options, why, why_size);
    if (status == MLT_OK)
        status = mlt_sim_build(sim, options, why, why_size);
    if (status != MLT_OK)
        return status;
    make_result(sim, options);
    if (options->cluster)
        mlt_sim_crowd_begin(sim, options->cluster);
    mlt_sim_run(sim, options);
    if (sim->late)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the simulated time goes beyond 2^62 ps (53 days)");
    if (sim->finished < sim->count) {
        mlt_sim_deadlock(sim, why, why_size);
        return MLT_ERR_INVALID;
    }
    status = check_left_over(sim, why, why_size);
    if (status != MLT_OK)
        return status;
    collect_ends(sim);
    if (options->keep_times)
        collect_others(sim);
    if (options->keep_path)
        mlt_sim_path(sim);
    if (sim->travel)
        mlt_sim_travel_end(sim);
    if (options->progress)
        options->progress(options->user, 1);
    return MLT_OK;
}

static void sim_fini(mlt_sim *sim)
{
    mlt_sim_travel_fini(sim);
    mlt_sim_crowd_fini(sim);
    mlt_sim_queue_fini(&sim->queue);
    free(sim->actions);
    free(sim->next);
    free(sim->lanes);
    free(sim->first);
    free(sim->sync_end);
    free(sim->lists);
    free(sim->envelopes);
    free(sim->lane_rank);
    free(sim->lane_next);
    free(sim->lane_key);
    free(sim->rank_lane);
    free(sim->nodes);
    free(sim->holders);
}

mlt_status mlt_sim_simulate(const mlt_goal_program *program, const mlt_sim_options *options,
                            mlt_sim_result **out, char *why, size_t why_size)
{
    const mlt_cluster *cluster = options->cluster;
    const mlt_loggops *machine = cluster ? &cluster->between : &options->machine;
    uint64_t began = mlt_os_now_ns();
    *out = NULL;
    mlt_status status = check_machine(machine, why, why_size);
    if (status == MLT_OK && cluster)
        status = check_machine(&cluster->within, why, why_size);
    if (status == MLT_OK && cluster)
        status = check_machine(&cluster->large, why, why_size);
    if (status != MLT_OK)
        return status;
    mlt_sim sim = {.program = program,
                   .part = options->part,
                   .part_arg = options->part_arg,
                   .cost = {cost_of(machine), cost_of(cluster ? &cluster->within : machine),
                            cost_of(cluster ? &cluster->large : machine)},
                   .exec = machine->exec * 1000,
                   .last_action = MLT_SIM_NONE,
                   .result = mlt_xcalloc(1, sizeof *sim.result)};
    status = simulate(&sim, options, why, why_size);
    if (status == MLT_OK)
        *out = sim.result;
    else
        mlt_sim_result_free(sim.result);
    sim_fini(&sim);
    if (*out)
        (*out)->seconds = (double)(mlt_os_now_ns() - began) / 1e9;
    return status;
}

void mlt_sim_result_free(mlt_sim_result *result)
{
    if (!result)
        return;
    free(result->rank_end_ps);
    free(result->action_start_ps);
    free(result->cpu_start_ps);
    free(result->action_end_ps);
    free(result->other);
    free(result->path);
    free(result->links);
    free(result);
}
