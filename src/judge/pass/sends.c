// SPDX-License-Identifier: BSD-3-Clause
// Sends that are ready together, their order, and whether it pays. For the passes order and spread.
#include "judge/pass/pass_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"

typedef struct sends_ready {
    const mlt_goal_graph *graph; // its rows are sorted
    uint32_t send;
    uint16_t lane; // CPU and NIC
} sends_ready;

static int compare_wait(const sends_ready *a, const sends_ready *b)
{
    const mlt_goal_graph *graph = a->graph;
    const uint32_t *at = graph->before_at;
    uint32_t count_a = at[a->send + 1] - at[a->send], count_b = at[b->send + 1] - at[b->send];
    int order =
        mlt_compare_words((uint64_t[]){a->lane, count_a}, (uint64_t[]){b->lane, count_b}, 2);
    for (uint32_t i = 0; i < count_a && !order; i++)
        order = mlt_compare(graph->before[at[a->send] + i], graph->before[at[b->send] + i]);
    return order;
}

static int compare_ready(const void *pa, const void *pb)
{
    const sends_ready *a = pa, *b = pb;
    int wait = compare_wait(a, b);
    return wait ? wait : a->send < b->send ? -1 : a->send > b->send;
}

mlt_pass_group *mlt_pass_groups_new(const mlt_goal_rank *rank, uint32_t *out)
{
    mlt_goal_graph *graph = mlt_goal_graph_new(rank);
    sends_ready *all = mlt_xcalloc(rank->count, sizeof *all);
    uint32_t count = 0, groups_count = 0;
    for (uint32_t a = 0; a < rank->count; a++) {
        const mlt_goal_action *action = &rank->actions[a];
        if (action->kind != MLT_GOAL_SEND)
            continue;
        qsort(graph->before + graph->before_at[a], graph->before_at[a + 1] - graph->before_at[a],
              sizeof *graph->before, mlt_compare_ascending32);
        all[count++] = (sends_ready){graph, a, (uint16_t)(action->cpu << 8 | action->nic)};
    }
    qsort(all, count, sizeof *all, compare_ready);
    mlt_pass_group *groups = mlt_xcalloc((size_t)count / 2 + 1, sizeof *groups);
    uint32_t *sends = mlt_xcalloc(count, sizeof *sends);
    for (uint32_t i = 0; i < count; i++)
        sends[i] = all[i].send;
    for (uint32_t i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && compare_wait(&all[i], &all[end]) == 0)
            end++;
        if (end - i > 1)
            groups[groups_count++] = (mlt_pass_group){sends + i, end - i};
    }
    groups[groups_count].sends = sends; // to be freed
    free(all);
    mlt_goal_graph_free(graph);
    *out = groups_count;
    return groups;
}

void mlt_pass_groups_free(mlt_pass_group *groups, uint32_t count)
{
    free(groups[count].sends);
    free(groups);
}

typedef struct keyed {
    double key;
    uint32_t send;
} keyed;

static int compare_keyed(const void *pa, const void *pb)
{
    const keyed *a = pa, *b = pb;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return a->send < b->send ? -1 : a->send > b->send;
}

// `key` is the rank's. Nothing is done if the sends stand in that order. How many dependencies were
// added.
static uint32_t order_group(mlt_goal_program *program, uint32_t rank, const mlt_pass_group *group,
                            const double *key)
{
    keyed *sorted = mlt_xcalloc(group->count, sizeof *sorted);
    bool moved = false;
    for (uint32_t i = 0; i < group->count; i++)
        sorted[i] = (keyed){key[group->sends[i]], group->sends[i]};
    qsort(sorted, group->count, sizeof *sorted, compare_keyed);
    for (uint32_t i = 0; i < group->count; i++)
        moved |= sorted[i].send != group->sends[i];
    for (uint32_t i = 1; i < group->count && moved; i++)
        mlt_goal_require(program, rank, sorted[i].send, sorted[i - 1].send | MLT_GOAL_STARTED);
    free(sorted);
    return moved ? group->count - 1 : 0;
}

static uint64_t order_rank(mlt_goal_program *program, uint32_t rank, const double *key)
{
    uint32_t count;
    uint64_t added = 0;
    mlt_pass_group *groups = mlt_pass_groups_new(&program->rank[rank], &count);
    for (uint32_t g = 0; g < count; g++)
        added += order_group(program, rank, &groups[g], key);
    mlt_pass_groups_free(groups, count);
    return added;
}

// The simulated time of a program, or 0.
static uint64_t time_of(const mlt_goal_program *program, const mlt_loggops *machine)
{
    mlt_sim_options options = {.machine = *machine};
    mlt_sim_result *result;
    char why[400];
    if (mlt_sim_simulate(program, &options, &result, why, sizeof why) != MLT_OK)
        return 0;
    uint64_t time = result->total_ps;
    mlt_sim_result_free(result);
    return time;
}

// Puts `ordered`, which has `added` dependencies more, in the program's place if it pays; says so.
// Frees the other one.
static void take_if_faster(mlt_goal_program *program, mlt_goal_program *ordered, uint64_t added,
                           const mlt_loggops *machine, mlt_pass_report *report)
{
    uint64_t before = 0, after = 0;
    bool prices = machine->L + machine->o + machine->g + machine->G + machine->O > 0;
    if (added && prices) {
        before = time_of(program, machine);
        after = time_of(ordered, machine);
    }
    if (before && after >= before) {
        snprintf(report->text, sizeof report->text,
                 "left alone: another order of sends would not be faster");
    } else if (!added) {
        snprintf(report->text, sizeof report->text, "left alone: sends are in order");
    } else {
        mlt_goal_program old = *program;
        *program = *ordered;
        *ordered = old;
        report->changed = added;
        snprintf(report->text, sizeof report->text,
                 "added %" PRIu64 " dependencies that order sends", added);
    }
    mlt_goal_program_free(ordered);
}

mlt_status mlt_pass_order_sends(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                                const mlt_pass_options *options, mlt_pass_keys *keys,
                                mlt_pass_report *report, char *why, size_t why_size)
{
    mlt_status status = MLT_OK;
    if (!pairs) {
        snprintf(report->text, sizeof report->text, "left alone: a receive takes what comes");
        return MLT_OK;
    }
    mlt_waits events;
    if (mlt_waits_of(&events, program, pairs, false, NULL)) {
        double *key = keys(program, pairs, &events, &options->machine);
        mlt_goal_program *ordered = mlt_goal_program_copy(program);
        uint64_t added = 0;
        for (uint32_t r = 0; r < program->ranks; r++)
            added += order_rank(ordered, r, key + pairs->first[r]);
        take_if_faster(program, ordered, added, &options->machine, report);
        free(key);
    } else
        status = mlt_fail(MLT_ERR_INVALID, why, why_size,
                          "the program never ends: some of its ranks wait for each other");
    mlt_waits_fini(&events);
    return status;
}
