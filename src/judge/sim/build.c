// SPDX-License-Identifier: BSD-3-Clause
// From a program to the flat arrays of sim_int.h: one pass over the ranks, one over the messages.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/memory.h"
#include "judge/sim/sim_int.h"
#include "os/os.h"

// Whole cache lines, not zeroed. Large areas, which events visit all over, get huge pages if there
// are any: a fifth of the time at 2^20 ranks.
static void *take_lines(size_t count, size_t size)
{
    enum { LINE = 64, HUGE = 2 << 20 };
    size_t align = count * size < HUGE ? LINE : HUGE;
    size_t bytes = (count * size + align - 1) / align * align;
    void *memory = aligned_alloc(align, bytes);
    if (!memory)
        mlt_no_room("%zu bytes of a simulation", bytes);
    if (align == HUGE)
        mlt_os_want_huge(memory, bytes);
    return memory;
}

// What the passes below find out about the program.
typedef struct census {
    bool wildcards, several, sync; // several: CPUs or NICs of a rank
    uint32_t bad_rank;             // MLT_SIM_NONE: all are fine
} census;

// ---- actions

static const uint8_t kinds[MLT_GOAL_KINDS] = {
    [MLT_GOAL_SEND] = MLT_SIM_SEND,
    [MLT_GOAL_RECV] = MLT_SIM_RECV,
    [MLT_GOAL_EXEC] = MLT_SIM_EXEC,
    [MLT_GOAL_USER] = MLT_SIM_EXEC,
    [MLT_GOAL_CALC] = MLT_SIM_CALC,
    [MLT_GOAL_NOP] = MLT_SIM_NOP,
    [MLT_GOAL_RECV_EXEC] = MLT_SIM_RECV | MLT_SIM_THEN_EXEC,
    [MLT_GOAL_RECV_USER] = MLT_SIM_RECV | MLT_SIM_THEN_EXEC,
};

// Until messages are paired: partner is the peer, time is the tag. False: it is not valid.
static bool fill_action(mlt_sim_action *to, const mlt_goal_action *from, uint32_t ranks, uint64_t S,
                        census *found)
{
    if (MLT_UNLIKELY(from->kind < MLT_GOAL_SEND || from->kind >= MLT_GOAL_KINDS))
        return false;
    uint64_t bits = kinds[from->kind], size = mlt_goal_message_bytes(from);
    *to = (mlt_sim_action){.partner = MLT_SIM_NONE};
    if ((bits & MLT_SIM_KIND) <= MLT_SIM_RECV) {
        bool any = (bits & MLT_SIM_KIND) == MLT_SIM_RECV;
        if (MLT_UNLIKELY(from->peer < 0 || from->tag < 0)) {
            if (!any || from->peer < MLT_GOAL_ANY || from->tag < MLT_GOAL_ANY)
                return false;
            found->wildcards = true;
        }
        if (MLT_UNLIKELY(from->peer >= 0 && (uint32_t)from->peer >= ranks))
            return false;
        to->partner = (uint32_t)from->peer;
        to->time = (uint32_t)from->tag;
        if (!any && MLT_UNLIKELY(size > S || (from->flags & MLT_GOAL_SYNCHRONOUS))) {
            bits |= MLT_SIM_SYNC;
            found->sync = true;
        }
    } else {
        size = from->kind == MLT_GOAL_NOP ? 0 : from->size[0];
    }
    found->several |= from->cpu | from->nic;
    to->bits = bits | size << MLT_SIM_SIZE_SHIFT;
    return size <= MLT_SIM_MOST_BYTES;
}

// ---- dependents

// Sorts dependents by mlt_sim_order, then by the program.
static uint64_t key_of(const mlt_sim_action *actions, uint32_t dependent)
{
    uint32_t number = mlt_goal_plain(dependent);
    return (uint64_t)mlt_sim_order(actions[number].bits) << 33 | (uint64_t)number << 1 |
           (dependent != number);
}

static void sort_dependents(const mlt_sim_action *actions, uint32_t *list, uint32_t count)
{
    uint64_t few[32], *keys = few, before = 0;
    bool sorted = true;
    if (count > 32)
        keys = mlt_xcalloc(count, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = key_of(actions, list[i]);
        sorted &= keys[i] >= before;
        before = keys[i];
    }
    if (!sorted) {
        qsort(keys, count, sizeof *keys, mlt_compare_ascending);
        for (uint32_t i = 0; i < count; i++)
            list[i] = (uint32_t)(keys[i] >> 1) | (keys[i] & 1 ? (uint32_t)MLT_GOAL_STARTED : 0);
    }
    if (keys != few)
        free(keys);
}

// The dependents of a rank's actions, from next[at] on. False: a dependency is not valid.
static bool fill_dependents(mlt_sim *sim, const mlt_goal_rank *rank, uint32_t base, uint32_t at)
{
    mlt_sim_action *actions = sim->actions + base;
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep dep = rank->deps[d];
        uint32_t on = mlt_goal_plain(dep.on);
        if (MLT_UNLIKELY(dep.action >= rank->count || on >= rank->count))
            return false;
        actions[dep.action].link++;
        actions[on].next_at++;
        actions[on].bits |= on != dep.on ? MLT_SIM_STARTERS : 0;
    }
    for (uint32_t a = 0; a < rank->count; a++) { // to the end of each one's part ...
        at = actions[a].next_at += at;
        actions[a].bits |= actions[a].link ? 0 : MLT_SIM_FREE;
    }
    for (uint32_t d = rank->deps_count; d--;) { // ... and back to its beginning
        uint32_t on = rank->deps[d].on;
        sim->next[--actions[mlt_goal_plain(on)].next_at] =
            (base + rank->deps[d].action) | (on & MLT_GOAL_STARTED);
    }
    for (uint32_t a = 0; a < rank->count; a++) {
        uint32_t end = a + 1 < rank->count ? actions[a + 1].next_at : at;
        if (end - actions[a].next_at > 1)
            sort_dependents(sim->actions, sim->next + actions[a].next_at, end - actions[a].next_at);
    }
    return true;
}

static void fill(mlt_sim *sim, uint64_t S, census *found)
{
    uint32_t edges = 0;
    for (uint32_t r = 0; r < sim->program->ranks; r++) {
        const mlt_goal_rank *rank = mlt_sim_part(sim, r);
        uint32_t base = sim->first[r];
        bool good = true;
        for (uint32_t a = 0; a < rank->count; a++) {
            good &= fill_action(&sim->actions[base + a], &rank->actions[a], sim->program->ranks, S,
                                found);
            sim->actions[base + a].lane = r;
            if (MLT_UNLIKELY(sim->travel != NULL) && good &&
                rank->actions[a].kind == MLT_GOAL_SEND &&
                mlt_sim_is_near(sim, r, (uint32_t)rank->actions[a].peer))
                sim->actions[base + a].bits |=
                    MLT_SIM_NEAR | (mlt_sim_size(&sim->actions[base + a]) > S ? MLT_SIM_LARGE : 0);
        }
        if (!good || !fill_dependents(sim, rank, base, edges)) {
            found->bad_rank = r;
            return;
        }
        edges += rank->deps_count;
    }
    sim->actions[sim->count] = (mlt_sim_action){.next_at = edges};
}

// ---- lanes

static uint32_t lane_new(mlt_sim *sim, uint32_t rank, uint16_t key)
{
    if (sim->lanes_count == sim->lanes_room) {
        uint32_t room = sim->lanes_room = 2 * sim->lanes_room + 16;
        sim->lanes = mlt_xrealloc(sim->lanes, room, sizeof *sim->lanes);
        sim->lane_rank = mlt_xrealloc(sim->lane_rank, room, sizeof *sim->lane_rank);
        sim->lane_next = mlt_xrealloc(sim->lane_next, room, sizeof *sim->lane_next);
        sim->lane_key = mlt_xrealloc(sim->lane_key, room, sizeof *sim->lane_key);
    }
    uint32_t lane = sim->lanes_count++;
    sim->lane_rank[lane] = rank;
    sim->lane_key[lane] = key;
    sim->lane_next[lane] = MLT_SIM_NONE;
    return lane;
}

// The lane of a rank's CPU and NIC; a new one if it must be.
static uint32_t lane_find(mlt_sim *sim, uint32_t rank, uint8_t cpu, uint8_t nic)
{
    uint16_t key = (uint16_t)(cpu << 8 | nic);
    uint32_t cpu_home = MLT_SIM_NONE, nic_home = MLT_SIM_NONE, last = MLT_SIM_NONE;
    for (uint32_t l = sim->rank_lane[rank]; l != MLT_SIM_NONE; l = sim->lane_next[l]) {
        if (sim->lane_key[l] == key)
            return l;
        if (cpu_home == MLT_SIM_NONE && sim->lane_key[l] >> 8 == cpu)
            cpu_home = l;
        if (nic_home == MLT_SIM_NONE && (sim->lane_key[l] & 0xff) == nic)
            nic_home = l;
        last = l;
    }
    uint32_t lane = lane_new(sim, rank, key);
    if (last == MLT_SIM_NONE)
        sim->rank_lane[rank] = lane;
    else
        sim->lane_next[last] = lane;
    sim->lanes[lane] = (mlt_sim_lane){.cpu = cpu_home == MLT_SIM_NONE ? lane : cpu_home,
                                      .nic = nic_home == MLT_SIM_NONE ? lane : nic_home};
    return lane;
}

static void make_lanes(mlt_sim *sim, const census *found)
{
    uint32_t ranks = sim->program->ranks;
    if (!found->several) {
        sim->lanes_count = ranks;
        sim->lanes = take_lines((size_t)ranks + 1, sizeof *sim->lanes);
        for (uint32_t r = 0; r < ranks; r++)
            sim->lanes[r] = (mlt_sim_lane){.cpu = r, .nic = r};
        return;
    }
    sim->rank_lane = mlt_xcalloc(ranks, sizeof *sim->rank_lane);
    memset(sim->rank_lane, 0xff, ranks * sizeof *sim->rank_lane);
    for (uint32_t r = 0; r < ranks; r++) {
        const mlt_goal_action *from = mlt_sim_part(sim, r)->actions;
        for (uint32_t a = sim->first[r]; a < sim->first[r + 1]; a++, from++)
            sim->actions[a].lane = lane_find(sim, r, from->cpu, from->nic);
    }
}

// ---- messages as they come: where a message goes is all that is known

static void aim_messages(mlt_sim *sim)
{
    uint32_t ranks = sim->program->ranks;
    sim->envelopes = mlt_xcalloc(sim->count, sizeof *sim->envelopes);
    for (uint32_t r = 0; r < ranks; r++) {
        const mlt_goal_action *from = mlt_sim_part(sim, r)->actions;
        for (uint32_t a = sim->first[r]; a < sim->first[r + 1]; a++, from++) {
            mlt_sim_action *action = &sim->actions[a];
            sim->envelopes[a] = (mlt_sim_envelope){from->peer, from->tag};
            action->time = 0;
            if ((action->bits & MLT_SIM_KIND) == MLT_SIM_RECV)
                action->partner = MLT_SIM_NONE;
            else if ((action->bits & MLT_SIM_KIND) == MLT_SIM_SEND)
                action->partner = sim->rank_lane
                                      ? lane_find(sim, (uint32_t)from->peer, from->cpu, from->nic)
                                      : (uint32_t)from->peer;
        }
    }
    sim->lists = mlt_xcalloc(ranks, sizeof *sim->lists);
    memset(sim->lists, 0xff, ranks * sizeof *sim->lists);
}

// ---- messages with fixed partners: sends are counted and laid out by their receivers; then each
// receiver's receives and the sends to it, both by source, tag and order, are merged

typedef struct end {
    uint64_t flow; // source, tag
    uint32_t number;
} end;

typedef struct ends {
    end *list;
    uint32_t count, room;
} ends;

static void ends_add(ends *to, uint64_t flow, uint32_t number)
{
    *MLT_ARRAY_ADD(to->list, to->count, to->room) = (end){flow, number};
}

static int compare_ends(const void *pa, const void *pb)
{
    const end *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->flow, a->number}, (uint64_t[]){b->flow, b->number}, 2);
}

static void ends_sort(ends *list)
{
    for (uint32_t i = 1; i < list->count; i++)
        if (compare_ends(&list->list[i - 1], &list->list[i]) > 0) {
            qsort(list->list, list->count, sizeof *list->list, compare_ends);
            return;
        }
}

static bool has_equal(const ends *list)
{
    for (uint32_t i = 1; i < list->count; i++)
        if (list->list[i - 1].flow == list->list[i].flow)
            return true;
    return false;
}

// The first send without a receive, or MLT_SIM_NONE.
static uint32_t merge_ends(mlt_sim *sim, const ends *sends, const ends *recvs)
{
    uint32_t lonely = MLT_SIM_NONE, r = 0;
    for (uint32_t s = 0; s < sends->count; s++) {
        const end *send = &sends->list[s];
        while (r < recvs->count && recvs->list[r].flow < send->flow)
            r++;
        if (r == recvs->count || recvs->list[r].flow != send->flow) {
            lonely = send->number < lonely ? send->number : lonely;
            continue;
        }
        mlt_sim_action *from = &sim->actions[send->number];
        mlt_sim_action *to = &sim->actions[recvs->list[r].number];
        from->partner = recvs->list[r++].number;
        to->partner = send->number;
        mlt_sim_receives(to, from);
    }
    return lonely;
}

// at[r .. r + 1]: the sends to r in `order`. The caller frees both.
static void sends_by_receiver(const mlt_sim *sim, uint32_t **at, uint32_t **order)
{
    uint32_t ranks = sim->program->ranks, sends = 0;
    uint32_t *to = mlt_xcalloc((size_t)ranks + 2, sizeof *to);
    for (uint32_t a = 0; a < sim->count; a++)
        if ((sim->actions[a].bits & MLT_SIM_KIND) == MLT_SIM_SEND) {
            to[sim->actions[a].partner + 2]++;
            sends++;
        }
    for (uint32_t r = 1; r < ranks; r++)
        to[r + 1] += to[r];
    *order = mlt_xcalloc(sends, sizeof **order);
    for (uint32_t a = 0; a < sim->count; a++)
        if ((sim->actions[a].bits & MLT_SIM_KIND) == MLT_SIM_SEND)
            (*order)[to[sim->actions[a].partner + 1]++] = a;
    *at = to;
}

// The number of a send that nobody receives, or MLT_SIM_NONE. *equal: several messages have the
// same source, tag and receiver.
static uint32_t pair_messages(mlt_sim *sim, bool *equal)
{
    uint32_t *at, *order, lonely = MLT_SIM_NONE;
    ends sends = {0}, recvs = {0};
    sends_by_receiver(sim, &at, &order);
    for (uint32_t r = 0; r < sim->program->ranks; r++) {
        sends.count = recvs.count = 0;
        for (uint32_t a = sim->first[r]; a < sim->first[r + 1]; a++) {
            mlt_sim_action *action = &sim->actions[a];
            if ((action->bits & MLT_SIM_KIND) == MLT_SIM_RECV) {
                ends_add(&recvs, (uint64_t)action->partner << 32 | action->time, a);
                action->time = 0;
                action->partner = MLT_SIM_NONE;
            }
        }
        for (uint32_t i = at[r]; i < at[r + 1]; i++) {
            mlt_sim_action *action = &sim->actions[order[i]];
            ends_add(&sends, (uint64_t)mlt_sim_rank(sim, action->lane) << 32 | action->time,
                     order[i]);
            action->time = 0;
        }
        ends_sort(&sends);
        ends_sort(&recvs);
        *equal |= has_equal(&sends);
        uint32_t found = merge_ends(sim, &sends, &recvs);
        lonely = found < lonely ? found : lonely;
    }
    free(sends.list);
    free(recvs.list);
    free(order);
    free(at);
    return lonely;
}

// ---- all of it

static mlt_status refuse(const mlt_sim *sim, uint32_t bad_rank, char *why, size_t why_size)
{
    if (sim->part || mlt_goal_program_valid(sim->program, why, why_size) == MLT_OK)
        snprintf(why, why_size,
                 "an action of rank %u has more than %" PRIu64
                 " bytes or ns, the most that can be simulated",
                 bad_rank, MLT_SIM_MOST_BYTES);
    return MLT_ERR_INVALID;
}

static mlt_status number_actions(mlt_sim *sim, uint32_t *edges, char *why, size_t why_size)
{
    const mlt_goal_program *program = sim->program;
    uint64_t count = 0, deps = 0;
    uint32_t most = sim->travel ? MLT_SIM_MOST_ACTIONS / 2 : MLT_SIM_MOST_ACTIONS;
    sim->first = mlt_xcalloc((size_t)program->ranks + 1, sizeof *sim->first);
    for (uint32_t r = 0; r < program->ranks; r++) {
        sim->first[r] = (uint32_t)count;
        const mlt_goal_rank *rank = mlt_sim_part(sim, r);
        count += rank->count;
        deps += rank->deps_count;
        if (count > most || deps > UINT32_MAX)
            return mlt_fail(
                MLT_ERR_INVALID, why, why_size,
                "the program has more than %u actions or %u dependencies, the most that can "
                "be simulated",
                most, UINT32_MAX);
    }
    sim->first[program->ranks] = sim->count = (uint32_t)count;
    *edges = (uint32_t)deps;
    return MLT_OK;
}

static void make_room(mlt_sim *sim, const mlt_sim_options *options, const census *found)
{
    if (found->sync)
        sim->sync_end = mlt_xcalloc(sim->count, sizeof *sim->sync_end);
    if (options->keep_path) {
        sim->nodes = mlt_xcalloc(2 * (size_t)sim->count, sizeof *sim->nodes);
        sim->holders = mlt_xcalloc(sim->lanes_count, sizeof *sim->holders);
    }
    for (uint32_t l = 0; l < sim->lanes_count; l++)
        for (int w = 0; w < MLT_SIM_WAITS; w++)
            sim->lanes[l].wait[w] = (mlt_sim_waiters){MLT_SIM_NONE, MLT_SIM_NONE};
}

mlt_status mlt_sim_build(mlt_sim *sim, const mlt_sim_options *options, char *why, size_t why_size)
{
    census found = {.bad_rank = MLT_SIM_NONE};
    uint32_t edges = 0;
    mlt_status status = number_actions(sim, &edges, why, why_size);
    if (status != MLT_OK)
        return status;
    sim->actions = take_lines((size_t)sim->count + 1, sizeof *sim->actions);
    sim->next = mlt_xcalloc(edges, sizeof *sim->next);
    fill(sim, options->cluster ? options->cluster->between.S : options->machine.S, &found);
    if (found.bad_rank != MLT_SIM_NONE)
        return refuse(sim, found.bad_rank, why, why_size);
    make_lanes(sim, &found);
    sim->fixed = !found.wildcards;
    if (sim->fixed) {
        bool equal = false;
        uint32_t lonely = pair_messages(sim, &equal);
        if (lonely != MLT_SIM_NONE) {
            mlt_goal_place place = mlt_sim_place(sim, lonely);
            char text[400];
            return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s is received by nobody",
                            mlt_sim_describe(sim, place, text, sizeof text));
        }
        sim->fixed = !(options->by_arrival && equal);
    }
    if (!sim->fixed)
        aim_messages(sim);
    make_room(sim, options, &found);
    return MLT_OK;
}
