// SPDX-License-Identifier: BSD-3-Clause
// Up to FEW_RANKS, every rank has a line. Above that, ranks that do the same thing share one
// (hang_groups.c).
//
// The wait-for graph has an edge from a blocked rank to each blocked peer. A rank in a barrier
// waits for all blocked ranks that are not in it; one extra node, the barrier, keeps these edges
// few:
//
//     rank in barrier -> barrier -> every blocked rank outside
//
// base/cycle.h finds a cycle.
#include "launch/watch/hang.h"

#include <stdlib.h>
#include <string.h>

#include "base/cycle.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "launch/watch/hang_records.h"

enum {
    HANG_FEW_RANKS = 16,
    MOST_HELD_TOLD = 8,
    MOST_FACTS = 4096, // ranks
    CYCLE_HEAD = 6,
    CYCLE_TAIL = 3,
};

// ---- The cycle

// Another thread of the rank may go on though this one is blocked.
static bool has_choice(const mlt_hang *hang, uint32_t rank)
{
    size_t from = hang->first[rank], to = hang->first[rank + 1];
    return from < to &&
           mlt_hang_record(hang, from)->thread != mlt_hang_record(hang, to - 1)->thread;
}

static bool is_in_barrier(const mlt_hang *hang, uint32_t rank)
{
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++)
        if (mlt_hang_in_barrier(mlt_hang_record(hang, i)))
            return true;
    return false;
}

static bool stands(const mlt_hang *hang, uint32_t rank)
{
    return hang->state[rank] == MLT_HANG_BLOCKED && !hang->moves[rank];
}

typedef struct edges {
    mlt_edge *items;
    uint32_t count;
    bool either; // "one of them" waits are edges too
} edges;

static void add_edges(edges *e, const mlt_hang *hang, uint32_t rank)
{
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++) {
        const mlt_ctl_wait *own = mlt_hang_record(hang, i);
        if (own->ended || own->others > 0 ||
            (!e->either && ((!own->all && own->open > 1) || has_choice(hang, rank))))
            continue;
        if (mlt_hang_in_barrier(own))
            e->items[e->count++] = (mlt_edge){rank, hang->ranks};
        else if (mlt_hang_peer_exists(hang, own) && stands(hang, (uint32_t)own->peer))
            e->items[e->count++] = (mlt_edge){rank, (uint32_t)own->peer};
    }
}

// Ranks, and the barrier as the last node. The caller frees the graph.
static mlt_digraph waits_of(const mlt_hang *hang, bool either)
{
    edges e = {.items = mlt_xcalloc(hang->count + hang->ranks, sizeof *e.items), .either = either};
    for (uint32_t r = 0; r < hang->ranks; r++) {
        if (!stands(hang, r))
            continue;
        add_edges(&e, hang, r);
        if (!is_in_barrier(hang, r))
            e.items[e.count++] = (mlt_edge){hang->ranks, r};
    }
    mlt_digraph graph = mlt_digraph_of(hang->ranks + 1, e.items, e.count, MLT_FORWARDS);
    free(e.items);
    return graph;
}

// The cycle has a rank, and begins with its lowest; the barrier is not shown.
static void print_cycle(const mlt_hang *hang, uint32_t *cycle, uint32_t length, FILE *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < length; i++)
        if (cycle[i] < hang->ranks)
            cycle[n++] = cycle[i];
    char text[MLT_NUMBER_BYTES];
    bool all = n <= CYCLE_HEAD + CYCLE_TAIL + 3;
    if (all)
        fputs("cycle: ", out);
    else
        fprintf(out, "cycle of %s ranks: ", mlt_number(text, n));
    for (uint32_t i = 0; i < n; i++) {
        if (!all && i == CYCLE_HEAD) {
            fputs("... -> ", out);
            i = n - CYCLE_TAIL;
        }
        fprintf(out, "%u -> ", cycle[i]);
    }
    fprintf(out, "%u\n", cycle[0]);
}

// NULL: there is none. The caller frees it.
static uint32_t *find_cycle(const mlt_hang *hang, uint32_t *length)
{
    uint32_t *cycle = NULL;
    // Waits for all first: such a cycle alone explains the hang.
    for (int pass = 0; pass < 2 && !cycle; pass++) {
        mlt_digraph graph = waits_of(hang, pass);
        cycle = mlt_cycle_find(&graph, NULL, MLT_CYCLE_FIRST, length);
        mlt_digraph_free(&graph);
    }
    return cycle;
}

// ---- The report

static void print_each(const mlt_hang *hang, FILE *out)
{
    for (uint32_t r = 0; r < hang->ranks; r++) {
        fprintf(out, "rank %u: ", r);
        if (hang->state[r] == MLT_HANG_BLOCKED) {
            mlt_hang_say_blocked(hang, r, MLT_HANG_ABSOLUTE, true, out);
            mlt_hang_say_others(hang, r, out);
        } else {
            fputs(mlt_hang_state_text(hang->state[r]), out);
        }
        fputc('\n', out);
    }
}

// The first record of a rank whose peer has ended; NULL if there is none.
static const mlt_ctl_wait *waits_in_vain(const mlt_hang *hang, uint32_t rank)
{
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++)
        if (mlt_hang_peer_ended(hang, mlt_hang_record(hang, i)))
            return mlt_hang_record(hang, i);
    return NULL;
}

// Names those who wait for ranks that have ended.
static void print_complaints(const mlt_hang *hang, FILE *out)
{
    uint32_t count = 0, first = UINT32_MAX, ended = UINT32_MAX, barrier = UINT32_MAX;
    bool same_peer = true;
    for (uint32_t r = 0; r < hang->ranks; r++) {
        if (hang->state[r] == MLT_HANG_ENDED && ended == UINT32_MAX)
            ended = r;
        if (hang->state[r] != MLT_HANG_BLOCKED)
            continue;
        if (barrier == UINT32_MAX && is_in_barrier(hang, r))
            barrier = r;
        const mlt_ctl_wait *w = waits_in_vain(hang, r);
        if (!w)
            continue;
        if (count++ == 0)
            first = r;
        same_peer &= w->peer == waits_in_vain(hang, first)->peer;
        if (hang->ranks <= HANG_FEW_RANKS)
            fprintf(out, "rank %u waits for rank %d, which has ended\n", r, w->peer);
    }
    char text[MLT_NUMBER_BYTES];
    if (hang->ranks > HANG_FEW_RANKS && count > 0)
        fprintf(out, "%s rank%s for rank%s %s%d, which ha%s ended\n", mlt_number(text, count),
                count == 1 ? " waits" : "s wait", same_peer ? "" : "s", same_peer ? "" : "such as ",
                waits_in_vain(hang, first)->peer, same_peer ? "s" : "ve");
    if (ended != UINT32_MAX && barrier != UINT32_MAX)
        fprintf(out, "rank %u waits in a barrier for rank %u, which has ended\n", barrier, ended);
}

// ---- Messages that no receive takes

// The first record of a rank that waits for a message; NULL if there is none.
static const mlt_ctl_wait *receives(const mlt_hang *hang, uint32_t rank)
{
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++)
        if (mlt_hang_record(hang, i)->kind == MLT_WAIT_RECV ||
            mlt_hang_record(hang, i)->kind == MLT_WAIT_PROBE)
            return mlt_hang_record(hang, i);
    return NULL;
}

static bool ends_mpi(const mlt_hang *hang, const mlt_ctl_wait *held)
{
    if (!held->all || !mlt_hang_peer_exists(hang, held) ||
        hang->first[held->peer] == hang->first[held->peer + 1])
        return false;
    return strcasestr(mlt_hang_record(hang, hang->first[held->peer])->call, "finalize");
}

static bool print_held(const mlt_hang *hang, const mlt_ctl_wait *held, FILE *out)
{
    const mlt_ctl_wait *own = receives(hang, (uint32_t)held->rank);
    if (hang->moves[held->rank])
        return false; // it may take the message yet
    if (ends_mpi(hang, held)) {
        fprintf(out, "rank %d waits in %s for its send to rank %d", held->peer,
                mlt_hang_record(hang, hang->first[held->peer])->call, held->rank);
        mlt_hang_say_envelope(held, true, out);
        fputs(", which nobody receives\n", out);
        return true;
    }
    if (!own || !mlt_hang_peer_exists(hang, held))
        return false;
    fprintf(out, "rank %d holds a message from rank %d", held->rank, held->peer);
    mlt_hang_say_envelope(held, true, out);
    fprintf(out, ", which its %s does not take\n", own->call[0] ? own->call : "receive");
    return true;
}

static void print_all_held(const mlt_hang *hang, FILE *out)
{
    size_t told = 0, at = 0;
    for (; at < hang->held_count && told < MOST_HELD_TOLD; at++)
        told += print_held(hang, &hang->held[at], out);
    char text[MLT_NUMBER_BYTES];
    if (at < hang->held_count)
        fprintf(out, "and there are %s more messages that no receive takes\n",
                mlt_number(text, hang->held_count - at));
}

void mlt_hang_print(mlt_hang *hang, FILE *out)
{
    mlt_hang_sort(hang);
    if (hang->ranks <= HANG_FEW_RANKS)
        print_each(hang, out);
    else
        mlt_hang_print_groups(hang, out);
    print_complaints(hang, out);
    print_all_held(hang, out);
    mlt_hang_print_mismatches(hang, out);
    uint32_t length, *cycle = find_cycle(hang, &length);
    if (cycle)
        print_cycle(hang, cycle, length, out);
    free(cycle);
    mlt_hang_procs_print(&hang->procs, out);
}

// ---- Facts for a trace

// "2,5": the ranks that it waits for; "*": those that are not in the barrier; "-": not known.
static void put_awaited(const mlt_hang *hang, uint32_t rank, FILE *out)
{
    unsigned told = 0;
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++) {
        const mlt_ctl_wait *w = mlt_hang_record(hang, i);
        int64_t peer = mlt_hang_in_collective(w) && w->awaited ? (int64_t)w->awaited - 1 : w->peer;
        if (peer >= 0 && peer < hang->ranks)
            fprintf(out, "%s%lld", told++ ? "," : "", (long long)peer);
        else if (mlt_hang_in_barrier(w))
            fputs(told++ ? ",*" : "*", out);
    }
    if (!told)
        fputc('-', out);
}

void mlt_hang_facts(mlt_hang *hang, const char *why, FILE *out)
{
    uint32_t length, *cycle, told = 0;
    mlt_hang_sort(hang);
    fprintf(out, "hang\t%s\n", why);
    for (uint32_t r = 0; r < hang->ranks && told < MOST_FACTS; r++) {
        if (hang->state[r] != MLT_HANG_BLOCKED)
            continue;
        fprintf(out, "stuck\t%u\t", r);
        put_awaited(hang, r, out);
        fputc('\t', out);
        mlt_hang_say_blocked(hang, r, MLT_HANG_ABSOLUTE, true, out);
        fputc('\n', out);
        told++;
    }
    if (!(cycle = find_cycle(hang, &length)))
        return;
    fputs("cycle\t", out);
    for (uint32_t i = 0, n = 0; i < length && n < MOST_FACTS; i++)
        if (cycle[i] < hang->ranks) // else the barrier
            fprintf(out, n++ ? ",%u" : "%u", cycle[i]);
    fputc('\n', out);
    free(cycle);
}
