// SPDX-License-Identifier: BSD-3-Clause
// Up to FEW_RANKS, every rank has a line. Above that, ranks that do the same thing share one: the
// same call, kinds, tags and communicators, and the same relation to their peers, which is either a
// distance (rank-1, modulo the size) or a rank number. Which of the two is chosen for a rank by
// what more others have in common with it.
//
// The wait-for graph has an edge from a blocked rank to each blocked peer. A rank in a barrier
// waits for all blocked ranks that are not in it; one extra node, the barrier, keeps these edges
// few:
//
//     rank in barrier -> barrier -> every blocked rank outside
//
// base/cycle.h finds a cycle.
#include "launch/watch/hang.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/cycle.h"
#include "base/memory.h"
#include "base/table.h"
#include "fiber/wait.h"
#include "launch/numbers.h"
#include "launch/watch/hang_procs.h"

enum {
    FEW_RANKS = 16,
    MOST_GROUPS = 32,
    MOST_RANGES = 6,
    MOST_OPERATIONS = 4, // named in one line
    MOST_MISMATCHES = 4,
    MOST_HELD = 1 << 16, // messages that match no receive
    MOST_HELD_TOLD = 8,
    MOST_FACTS = 4096, // ranks
    CYCLE_HEAD = 6,
    CYCLE_TAIL = 3,
    CONTEXTS = 8, // of a communicator
    PART = 2,     // the one in which some of its ranks meet (MPI_Comm_create_group)
    WORLD = 0,
    SELF = 1,
};

struct mlt_hang {
    uint32_t ranks;
    uint8_t *state; // [ranks] mlt_hang_state
    bool *moves;    // [ranks]
    mlt_ctl_wait *held;
    size_t held_count, held_room;
    mlt_ctl_wait *records;
    size_t count, room;
    // After sorting: the records of rank r are records[order[first[r]]] .. records[order[first[r +
    // 1] - 1]].
    size_t *first, *order;
    mlt_hang_procs procs;
    mlt_ctl_job *jobs; // other ones
    size_t job_count, job_room;
};

mlt_hang *mlt_hang_new(uint32_t ranks)
{
    mlt_hang *hang = mlt_take(1, sizeof *hang);
    hang->ranks = ranks;
    hang->state = mlt_take(ranks, sizeof *hang->state);
    hang->moves = mlt_take(ranks, sizeof *hang->moves);
    return hang;
}

void mlt_hang_free(mlt_hang *hang)
{
    if (!hang)
        return;
    free(hang->state);
    free(hang->moves);
    free(hang->held);
    free(hang->records);
    free(hang->first);
    free(hang->order);
    free(hang->jobs);
    mlt_hang_procs_fini(&hang->procs);
    free(hang);
}

void mlt_hang_set(mlt_hang *hang, uint32_t first_rank, uint32_t ranks, mlt_hang_state state)
{
    for (uint32_t r = first_rank; r - first_rank < ranks && r < hang->ranks; r++)
        hang->state[r] = (uint8_t)state;
}

void mlt_hang_moves(mlt_hang *hang, uint32_t first_rank, uint32_t ranks)
{
    for (uint32_t r = first_rank; r - first_rank < ranks && r < hang->ranks; r++)
        hang->moves[r] = true;
}

// A damaged rank shall not talk to the terminal.
static void keep_printable(char *text)
{
    for (char *c = text; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
}

static void add_held(mlt_hang *hang, const mlt_ctl_wait *held)
{
    if (hang->held_count == MOST_HELD)
        return;
    MLT_ARRAY_WANT(hang->held, hang->held_count + 1, hang->held_room);
    hang->held[hang->held_count++] = *held;
}

void mlt_hang_add(mlt_hang *hang, const mlt_ctl_wait *records, size_t count)
{
    MLT_ARRAY_WANT(hang->records, hang->count + count, hang->room);
    for (size_t i = 0; i < count; i++) {
        if (records[i].rank < 0 || (uint32_t)records[i].rank >= hang->ranks)
            continue;
        if (records[i].kind == MLT_WAIT_HELD) {
            add_held(hang, &records[i]);
            continue;
        }
        mlt_ctl_wait *own = &hang->records[hang->count++];
        *own = records[i];
        own->call[sizeof own->call - 1] = own->label[sizeof own->label - 1] = '\0';
        keep_printable(own->call);
        keep_printable(own->label);
    }
}

void mlt_hang_add_procs(mlt_hang *hang, uint32_t first_rank, uint32_t ranks, const char *text,
                        size_t length)
{
    if (first_rank < hang->ranks && ranks <= hang->ranks - first_rank)
        mlt_hang_procs_add(&hang->procs, first_rank, ranks, text, length);
}

// NULL: it is not known, or of this job.
static const mlt_ctl_job *job_of(const mlt_hang *hang, int32_t rank)
{
    for (size_t i = 0; i < hang->job_count; i++)
        if ((uint32_t)rank - hang->jobs[i].first_rank < hang->jobs[i].ranks)
            return &hang->jobs[i];
    return NULL;
}

void mlt_hang_add_jobs(mlt_hang *hang, const mlt_ctl_job *jobs, size_t count)
{
    enum { MOST = 64 };
    for (size_t i = 0; i < count && hang->job_count < MOST; i++) {
        mlt_ctl_job job = jobs[i];
        if (job.first_rank < hang->ranks || job_of(hang, (int32_t)job.first_rank))
            continue;
        job.name[sizeof job.name - 1] = '\0';
        for (char *c = job.name; *c; c++)
            if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
                *c = '?';
        MLT_ARRAY_WANT(hang->jobs, hang->job_count + 1, hang->job_room);
        hang->jobs[hang->job_count++] = job;
    }
}

bool mlt_hang_has_procs(const mlt_hang *hang)
{
    return hang->procs.count > 0;
}

// In a collective call, of which more is known (ctl.h).
static bool in_collective(const mlt_ctl_wait *w)
{
    return w->kind == MLT_WAIT_BARRIER && w->label[0];
}

static const mlt_ctl_wait *record(const mlt_hang *hang, size_t i)
{
    return &hang->records[hang->order[i]];
}

// Orders the records by rank, keeping their order within a rank, and sets the ranks' states.
static void sort_records(mlt_hang *hang)
{
    free(hang->first);
    free(hang->order);
    hang->first = mlt_take((size_t)hang->ranks + 2, sizeof *hang->first);
    hang->order = mlt_take(hang->count, sizeof *hang->order);
    for (size_t i = 0; i < hang->count; i++)
        hang->first[hang->records[i].rank + 2]++;
    for (uint32_t r = 0; r < hang->ranks; r++)
        hang->first[r + 2] += hang->first[r + 1];
    for (size_t i = 0; i < hang->count; i++)
        hang->order[hang->first[hang->records[i].rank + 1]++] = i;
    for (size_t i = 0; i < hang->count; i++) {
        const mlt_ctl_wait *w = &hang->records[i];
        hang->state[w->rank] = w->ended ? MLT_HANG_ENDED : MLT_HANG_BLOCKED;
    }
}

static bool peer_exists(const mlt_hang *hang, const mlt_ctl_wait *w)
{
    return w->peer >= 0 && (uint32_t)w->peer < hang->ranks;
}

static bool peer_ended(const mlt_hang *hang, const mlt_ctl_wait *w)
{
    return peer_exists(hang, w) && hang->state[w->peer] == MLT_HANG_ENDED;
}

// In a barrier of all, without a peer of its own. For whom a part of the ranks waits is not known.
static bool in_barrier(const mlt_ctl_wait *w)
{
    return w->kind == MLT_WAIT_BARRIER && w->peer < 0 && w->context / CONTEXTS == WORLD &&
           w->context % CONTEXTS != PART;
}

// ---- The cycle

// Another thread of the rank may go on though this one is blocked.
static bool has_choice(const mlt_hang *hang, uint32_t rank)
{
    size_t from = hang->first[rank], to = hang->first[rank + 1];
    return from < to && record(hang, from)->thread != record(hang, to - 1)->thread;
}

static bool is_in_barrier(const mlt_hang *hang, uint32_t rank)
{
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++)
        if (in_barrier(record(hang, i)))
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
        const mlt_ctl_wait *own = record(hang, i);
        if (own->ended || own->others > 0 ||
            (!e->either && ((!own->all && own->open > 1) || has_choice(hang, rank))))
            continue;
        if (in_barrier(own))
            e->items[e->count++] = (mlt_edge){rank, hang->ranks};
        else if (peer_exists(hang, own) && stands(hang, (uint32_t)own->peer))
            e->items[e->count++] = (mlt_edge){rank, (uint32_t)own->peer};
    }
}

// Ranks, and the barrier as the last node. The caller frees the graph.
static mlt_digraph waits_of(const mlt_hang *hang, bool either)
{
    edges e = {.items = mlt_take(hang->count + hang->ranks, sizeof *e.items), .either = either};
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

// ---- What a rank does, in words

typedef enum relation { ABSOLUTE, DISTANCE, RELATIONS } relation;

// (peer - rank) modulo the size, from -size/2 to size/2.
static int64_t distance_of(const mlt_hang *hang, const mlt_ctl_wait *w)
{
    int64_t size = hang->ranks, d = ((int64_t)w->peer - w->rank) % size;
    if (d > size / 2)
        d -= size;
    if (d < -(size - 1) / 2)
        d += size;
    return d;
}

static void print_peer(const mlt_hang *hang, const mlt_ctl_wait *w, relation how, FILE *out)
{
    if (w->peer < 0)
        fputs("any rank", out);
    else if (how == DISTANCE && peer_exists(hang, w))
        fprintf(out, "rank%+lld", (long long)distance_of(hang, w));
    else if (job_of(hang, w->peer))
        fprintf(out, "rank %u of another job, %s,",
                (uint32_t)w->peer - job_of(hang, w->peer)->first_rank, job_of(hang, w->peer)->name);
    else
        fprintf(out, "rank %d", w->peer);
}

static void print_communicator(const mlt_ctl_wait *w, FILE *out)
{
    uint32_t number = w->context / CONTEXTS;
    if (number == WORLD)
        fputs("MPI_COMM_WORLD", out);
    else if (number == SELF)
        fputs("MPI_COMM_SELF", out);
    else
        fprintf(out, "communicator #%u", number);
}

static void print_envelope(const mlt_ctl_wait *w, bool with_bytes, FILE *out)
{
    if (w->tag == MLT_WAIT_ANY_TAG)
        fputs(", any tag", out);
    else
        fprintf(out, ", tag %d", w->tag);
    fputs(", ", out);
    print_communicator(w, out);
    if (with_bytes && w->kind != MLT_WAIT_PROBE)
        fprintf(out, " (%llu bytes)", (unsigned long long)w->bytes);
}

// Of a partitioned message (ctl.h).
static bool is_of_partitions(const mlt_ctl_wait *w)
{
    return (w->kind == MLT_WAIT_RECV || w->kind == MLT_WAIT_SEND) && !w->action && w->label[0];
}

// True if "MPI_Recv from rank 2" says it all, false if it must be "MPI_Wait for a receive from rank
// 2".
static bool name_tells(const mlt_ctl_wait *w)
{
    if (strcasestr(w->call, "sendrecv") || w->open > 1 || is_of_partitions(w))
        return false;
    switch (w->kind) {
    case MLT_WAIT_RECV:
        return strcasestr(w->call, "recv");
    case MLT_WAIT_SEND:
        return strcasestr(w->call, "send");
    case MLT_WAIT_PROBE:
        return strcasestr(w->call, "probe");
    default:
        return true;
    }
}

// An action of a schedule, as GOAL writes it: "recv 64 bytes from rank 3 (action 5, r2)".
static void print_action(const mlt_hang *hang, const mlt_ctl_wait *w, relation how, bool bytes,
                         FILE *out)
{
    bool receives = w->kind == MLT_WAIT_RECV;
    fputs(receives ? "recv" : "send", out);
    if (bytes)
        fprintf(out, " %llu byte%s", (unsigned long long)w->bytes, w->bytes == 1 ? "" : "s");
    fputs(receives ? " from " : " to ", out);
    print_peer(hang, w, how, out);
    if (w->context / CONTEXTS != WORLD) {
        fputs(", ", out);
        print_communicator(w, out);
    }
    if (bytes)
        fprintf(out, " (action %u%s%s)", w->action - 1, w->label[0] ? ", " : "", w->label);
    if (peer_ended(hang, w))
        fputs(how == DISTANCE ? ", which have ended" : ", which has ended", out);
}

// "partitions 3-7 of 16 from rank 2, tag 5, MPI_COMM_WORLD"; a sender that has not called MPI_Pready
// waits for itself.
static void print_partitions(const mlt_hang *hang, const mlt_ctl_wait *w, relation how, bool same,
                             FILE *out)
{
    bool unready = w->label[0] == MLT_CTL_UNREADY;
    fprintf(out, "%spartitions", unready ? "its own MPI_Pready of " : "");
    if (same)
        fprintf(out, " %s", w->label + unready);
    if (!unready) {
        fputs(w->kind == MLT_WAIT_RECV ? " from " : " to ", out);
        print_peer(hang, w, how, out);
    }
    print_envelope(w, false, out);
    if (!unready && peer_ended(hang, w))
        fputs(how == DISTANCE ? " (which have ended)" : " (which has ended)", out);
}

// The call that is blocked is another one: MPI_Wait, of a nonblocking collective.
static bool waits_for_it(const mlt_ctl_wait *w)
{
    return strncmp(w->call, "MPI_", 4) != 0 ||
           strncmp(w->call + 4, w->label, sizeof w->label - 1) != 0;
}

// " on MPI_COMM_WORLD (call 8), where 2 ranks of its worker have not come". The name of the call is
// told before, unless it is another one than the function that waits for it.
static void print_collective(const mlt_hang *hang, const mlt_ctl_wait *w, bool same, FILE *out)
{
    if (w->open > 1 || waits_for_it(w))
        fprintf(out, "MPI_%s", w->label);
    fputs(" on ", out);
    print_communicator(w, out);
    if (same) // for all whose line this is
        fprintf(out, " (call %llu)", (unsigned long long)w->number + 1);
    if (w->missing)
        fprintf(out, ", where %u rank%s of its worker ha%s not come", w->missing,
                w->missing > 1 ? "s" : "", w->missing > 1 ? "ve" : "s");
    else if (same && w->awaited)
        fprintf(out, ", which waits for rank %u", w->awaited - 1);
    if (!w->missing && same && w->awaited && w->awaited - 1 < hang->ranks &&
        hang->state[w->awaited - 1] == MLT_HANG_ENDED)
        fputs(", which has ended", out);
}

// " of rank 3 of window 'grid', which rank 1 holds".
static void print_window(const mlt_hang *hang, const mlt_ctl_wait *w, relation how, FILE *out)
{
    char window[sizeof w->label + 16] = "a window";
    if (w->label[0])
        snprintf(window, sizeof window, "window '%.*s'", (int)sizeof w->label - 1, w->label);
    switch ((mlt_ctl_window)w->about) {
    case MLT_WINDOW_LOCK:
    case MLT_WINDOW_LOCKS:
        if (w->target >= 0 && how != DISTANCE)
            fprintf(out, " of rank %d", w->target);
        fprintf(out, " of %s, ", window);
        fputs(w->about == MLT_WINDOW_LOCK ? "which " : "of which ", out);
        if (w->peer >= 0)
            print_peer(hang, w, how, out);
        fputs(w->peer < 0 ? "others hold" : " holds", out);
        fputs(w->about == MLT_WINDOW_LOCK ? "" : " locks", out);
        break;
    case MLT_WINDOW_POSTS:
        fputs(": ", out);
        print_peer(hang, w, how, out);
        fprintf(out, " has not called MPI_Win_post for it on %s", window);
        break;
    case MLT_WINDOW_COMPLETES:
        fprintf(out, ": %u rank%s not called MPI_Win_complete on %s", w->behind,
                w->behind == 1 ? " has" : "s have", window);
        break;
    default:
        fprintf(out, ": operations on %s are not answered", window);
    }
}

static void print_operation(const mlt_hang *hang, const mlt_ctl_wait *w, relation how, bool bytes,
                            FILE *out)
{
    bool tells = name_tells(w);
    if (in_collective(w)) {
        print_collective(hang, w, bytes, out);
        return;
    }
    if (w->action) {
        print_action(hang, w, how, bytes, out);
        return;
    }
    if (is_of_partitions(w)) {
        print_partitions(hang, w, how, bytes, out);
        return;
    }
    switch (w->kind) {
    case MLT_WAIT_RECV:
    case MLT_WAIT_PROBE:
        fputs(tells                      ? " from "
              : w->kind == MLT_WAIT_RECV ? "a receive from "
                                         : "a message from ",
              out);
        print_peer(hang, w, how, out);
        print_envelope(w, bytes, out);
        break;
    case MLT_WAIT_SEND:
        fputs(tells ? " to " : "a send to ", out);
        print_peer(hang, w, how, out);
        print_envelope(w, bytes, out);
        break;
    case MLT_WAIT_BARRIER:
        fputs(" on ", out);
        print_communicator(w, out);
        break;
    case MLT_WAIT_WINDOW:
        print_window(hang, w, how, out);
        break;
    case MLT_WAIT_TIME:
        fputs(": it sleeps", out);
        break;
    case MLT_WAIT_FD:
        if (w->tag >= 0)
            fprintf(out, " of descriptor %d", (int)w->tag);
        else
            fputs(" of descriptors", out);
        break;
    default:
        if (w->peer >= 0) {
            fputs(", which needs ", out);
            print_peer(hang, w, how, out);
        }
        break;
    }
    if (w->peer >= 0 && peer_ended(hang, w))
        fputs(how == DISTANCE ? " (which have ended)" : " (which has ended)", out);
}

// The first few of a call's operations.
static void print_list(const mlt_hang *hang, size_t from, size_t to, relation how, bool bytes,
                       FILE *out)
{
    char text[MLT_NUMBER_BYTES];
    size_t shown = to - from < MOST_OPERATIONS ? to - from : MOST_OPERATIONS;
    for (size_t i = 0; i < shown; i++) {
        if (i)
            fputs("; ", out);
        mlt_ctl_wait one = *record(hang, from + i);
        one.open = 2; // the call's name says nothing about this operation
        if (one.kind == MLT_WAIT_OTHER || (one.kind == MLT_WAIT_BARRIER && !in_collective(&one)))
            fputs(one.kind == MLT_WAIT_OTHER ? "something else" : "a barrier", out);
        print_operation(hang, &one, how, bytes, out);
    }
    if (record(hang, from)->open > shown)
        fprintf(out, "; and %s more", mlt_number(text, record(hang, from)->open - shown));
}

// It waits for one schedule: all of its operations are actions, and all are waited for.
static bool all_actions(const mlt_hang *hang, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (in_collective(record(hang, i)) || !record(hang, i)->action || !record(hang, i)->all)
            return false;
    return true;
}

// One thread's call: the records from `from` to `to`.
static void print_call(const mlt_hang *hang, size_t from, size_t to, relation how, bool bytes,
                       FILE *out)
{
    const mlt_ctl_wait *w = record(hang, from);
    fputs(w->call[0] ? w->call : "MPI", out);
    if (all_actions(hang, from, to)) {
        fputs(strncmp(w->call, "GOAL_", 5) == 0 ? ": " : " for a schedule: ", out);
        print_list(hang, from, to, how, bytes, out);
        return;
    }
    if (w->open <= 1 && to - from == 1) {
        if (!name_tells(w) || (in_collective(w) && waits_for_it(w)))
            fputs(" for ", out);
        print_operation(hang, w, how, bytes, out);
        return;
    }
    char text[MLT_NUMBER_BYTES];
    fprintf(out, " for %s %s%s open operations: ", w->all ? "all of" : "one of",
            mlt_number(text, w->open), w->open == UINT16_MAX ? " or more" : "");
    print_list(hang, from, to, how, bytes, out);
}

// The whole line of a blocked rank, after "rank 3: ". Several threads follow each other.
static void print_blocked(const mlt_hang *hang, uint32_t rank, relation how, bool bytes, FILE *out)
{
    size_t from = hang->first[rank], end = hang->first[rank + 1];
    const mlt_ctl_wait *first = record(hang, from);
    while (from < end) {
        const mlt_ctl_wait *w = record(hang, from);
        size_t to = from + 1;
        while (to < end && record(hang, to)->thread == w->thread)
            to++;
        if (w != first)
            fputs("; ", out);
        if (w->thread)
            fprintf(out, "thread %u in ", (unsigned)w->thread);
        print_call(hang, from, to, how, bytes, out);
        from = to;
    }
}

static void print_others(const mlt_hang *hang, uint32_t rank, FILE *out)
{
    const mlt_ctl_wait *first = record(hang, hang->first[rank]);
    if (first->thread && first->others)
        fprintf(out, "; %u other thread%s not blocked in MPI", (unsigned)first->others,
                first->others > 1 ? "s" : "");
}

static const char *state_text(uint8_t state)
{
    static const char *const texts[] = {
        [MLT_HANG_OUTSIDE] = "not in an MPI call",
        [MLT_HANG_COMPUTING] = "not in an MPI call: it computes",
        [MLT_HANG_BUSY] = "not known: a rank of its worker computes, outside of MPI",
        [MLT_HANG_STOPPED] = "stopped by a signal (SIGCONT lets it go on)",
        [MLT_HANG_TRACED] = "stopped by a debugger",
        [MLT_HANG_RUNNING] = "running, not blocked in MPI",
        [MLT_HANG_UNBORN] = "has not started MPI",
        [MLT_HANG_ENDED] = "has ended",
        [MLT_HANG_BLOCKED] = "blocked",
    };
    return texts[state];
}

// ---- Groups

typedef struct group {
    uint64_t hash;
    uint32_t leader;  // its first rank; the others do the same
    uint8_t how;      // relation
    bool bytes;       // all operations have the leader's sizes, and numbers of actions
    bool wraps;       // some distance passes the last rank
    uint32_t count;   // ranks that could belong to it
    uint32_t members; // ranks that do
    uint32_t ranges;  // of consecutive members
    struct {
        uint32_t first, last;
    } shown[MOST_RANGES], last;
} group;

typedef struct groups {
    const mlt_hang *hang;
    group *items;
    size_t count, room;
    mlt_table table; // of indices
} groups;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

// What a peer looks like under a relation. "Anyone" is like no distance.
static int64_t seen_peer(const mlt_hang *hang, const mlt_ctl_wait *w, relation how)
{
    if (!peer_exists(hang, w))
        return w->peer < 0 ? INT64_MIN : INT64_MIN + 1 + w->peer;
    return how == DISTANCE ? distance_of(hang, w) : w->peer;
}

// The tag of an action's message is the library's, and no two ranks' are alike.
static uint32_t seen_tag(const mlt_ctl_wait *w)
{
    if (in_collective(w))
        return w->missing;
    return w->action ? 0 : (uint32_t)w->tag;
}

static bool has_more(const mlt_ctl_wait *w)
{
    return in_collective(w) ? w->awaited : w->action;
}

static bool same_numbers(const mlt_ctl_wait *x, const mlt_ctl_wait *y)
{
    if (in_collective(x) && in_collective(y))
        return x->number == y->number && x->root == y->root && x->awaited == y->awaited;
    return x->bytes == y->bytes && x->action == y->action;
}

static uint64_t hash_of(const mlt_hang *hang, uint32_t rank, relation how)
{
    uint64_t hash = mix(hang->state[rank], how);
    if (hang->state[rank] != MLT_HANG_BLOCKED)
        return hash;
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++) {
        const mlt_ctl_wait *w = record(hang, i);
        hash = mix(hash, (uint64_t)seen_peer(hang, w, how));
        hash = mix(hash, ((uint64_t)seen_tag(w) << 32) | w->context / CONTEXTS);
        hash = mix(hash, ((uint64_t)w->open << 16) | ((uint64_t)w->all << 9) |
                             ((uint64_t)peer_ended(hang, w) << 8) | w->kind);
        hash = mix(hash, ((uint64_t)w->thread << 16) | w->others);
    }
    for (const char *c = record(hang, hang->first[rank])->call; *c; c++)
        hash = mix(hash, (unsigned char)*c);
    return hash;
}

static bool same(const mlt_hang *hang, uint32_t a, uint32_t b, relation how)
{
    if (hang->state[a] != hang->state[b])
        return false;
    if (hang->state[a] != MLT_HANG_BLOCKED)
        return true;
    size_t n = hang->first[a + 1] - hang->first[a];
    if (hang->first[b + 1] - hang->first[b] != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const mlt_ctl_wait *x = record(hang, hang->first[a] + i);
        const mlt_ctl_wait *y = record(hang, hang->first[b] + i);
        if (x->kind != y->kind || seen_tag(x) != seen_tag(y) || has_more(x) != has_more(y) ||
            x->context / CONTEXTS != y->context / CONTEXTS || x->all != y->all ||
            x->open != y->open || x->thread != y->thread || x->others != y->others ||
            seen_peer(hang, x, how) != seen_peer(hang, y, how) ||
            peer_ended(hang, x) != peer_ended(hang, y) || strcmp(x->call, y->call) != 0)
            return false;
    }
    return true;
}

// The index of a rank's group under a relation; made if it is not there.
static uint32_t group_of(groups *g, uint32_t rank, relation how)
{
    uint64_t hash = hash_of(g->hang, rank, how);
    for (mlt_table_look at = mlt_table_look_for(&g->table, (uint32_t)hash); mlt_table_next(&at);) {
        const group *old = &g->items[at.word];
        if (old->hash == hash && old->how == how && same(g->hang, old->leader, rank, how))
            return (uint32_t)at.word;
    }
    MLT_ARRAY_WANT(g->items, g->count + 1, g->room);
    g->items[g->count] = (group){.hash = hash, .leader = rank, .how = (uint8_t)how, .bytes = true};
    mlt_table_add(&g->table, (uint32_t)hash, g->count);
    return (uint32_t)g->count++;
}

static void join(group *own, const mlt_hang *hang, uint32_t rank)
{
    if (own->members == 0)
        own->leader = rank;
    own->members++;
    if (own->ranges > 0 && own->last.last + 1 == rank) {
        own->last.last = rank;
    } else {
        own->ranges++;
        own->last.first = own->last.last = rank;
    }
    if (own->ranges <= MOST_RANGES) {
        own->shown[own->ranges - 1].first = own->last.first;
        own->shown[own->ranges - 1].last = own->last.last;
    }
    if (hang->state[rank] != MLT_HANG_BLOCKED)
        return;
    for (size_t i = 0; i < hang->first[rank + 1] - hang->first[rank]; i++) {
        const mlt_ctl_wait *w = record(hang, hang->first[rank] + i);
        const mlt_ctl_wait *leaders = record(hang, hang->first[own->leader] + i);
        own->bytes &= same_numbers(w, leaders) && strcmp(w->label, leaders->label) == 0;
        if (own->how == DISTANCE && peer_exists(hang, w))
            own->wraps |= w->rank + distance_of(hang, w) != w->peer;
    }
}

static int by_size(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->members != y->members)
        return x->members < y->members ? 1 : -1;
    return x->leader < y->leader ? -1 : x->leader > y->leader;
}

static int by_rank(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return x->leader < y->leader ? -1 : x->leader > y->leader;
}

static void print_group(const mlt_hang *hang, const group *own, FILE *out)
{
    char text[MLT_NUMBER_BYTES];
    fputs(own->members == 1 ? "rank " : "ranks ", out);
    for (uint32_t i = 0; i < own->ranges && i < MOST_RANGES; i++) {
        fprintf(out, i ? ",%u" : "%u", own->shown[i].first);
        if (own->shown[i].last > own->shown[i].first)
            fprintf(out, "-%u", own->shown[i].last);
    }
    if (own->ranges > MOST_RANGES)
        fputs(",...", out);
    if (own->members > 1)
        fprintf(out, " (%s)", mlt_number(text, own->members));
    fputs(": ", out);
    if (hang->state[own->leader] != MLT_HANG_BLOCKED) {
        const char *words = state_text(hang->state[own->leader]);
        fprintf(out, "%s\n",
                own->members > 1 && strncmp(words, "has ", 4) == 0
                    ? (fputs("have ", out), words + 4)
                    : words);
        return;
    }
    print_blocked(hang, own->leader, own->members > 1 ? (relation)own->how : ABSOLUTE, own->bytes,
                  out);
    if (own->wraps && own->members > 1)
        fprintf(out, ", modulo %u", hang->ranks);
    print_others(hang, own->leader, out);
    fputc('\n', out);
}

static void print_groups(const mlt_hang *hang, FILE *out)
{
    groups g = {.hang = hang};
    uint32_t *own[RELATIONS];
    for (int how = 0; how < RELATIONS; how++) {
        own[how] = mlt_take(hang->ranks, sizeof *own[how]);
        for (uint32_t r = 0; r < hang->ranks; r++) {
            own[how][r] = group_of(&g, r, (relation)how);
            g.items[own[how][r]].count++;
        }
    }
    for (uint32_t r = 0; r < hang->ranks; r++) {
        group *absolute = &g.items[own[ABSOLUTE][r]], *distance = &g.items[own[DISTANCE][r]];
        join(distance->count > absolute->count ? distance : absolute, hang, r);
    }
    for (int how = 0; how < RELATIONS; how++)
        free(own[how]);
    size_t used = 0;
    for (size_t i = 0; i < g.count; i++)
        if (g.items[i].members)
            g.items[used++] = g.items[i];
    qsort(g.items, used, sizeof *g.items, by_size);
    size_t shown = used < MOST_GROUPS ? used : MOST_GROUPS;
    qsort(g.items, shown, sizeof *g.items, by_rank);
    for (size_t i = 0; i < shown; i++)
        print_group(hang, &g.items[i], out);
    uint64_t left = 0;
    for (size_t i = shown; i < used; i++)
        left += g.items[i].members;
    char text[2][MLT_NUMBER_BYTES];
    if (left)
        fprintf(out, "and %s ranks in %s more groups\n", mlt_number(text[0], left),
                mlt_number(text[1], used - shown));
    free(g.items);
    mlt_table_free(&g.table);
}

// ---- The report

static void print_each(const mlt_hang *hang, FILE *out)
{
    for (uint32_t r = 0; r < hang->ranks; r++) {
        fprintf(out, "rank %u: ", r);
        if (hang->state[r] == MLT_HANG_BLOCKED) {
            print_blocked(hang, r, ABSOLUTE, true, out);
            print_others(hang, r, out);
        } else {
            fputs(state_text(hang->state[r]), out);
        }
        fputc('\n', out);
    }
}

// The first record of a rank whose peer has ended; NULL if there is none.
static const mlt_ctl_wait *waits_in_vain(const mlt_hang *hang, uint32_t rank)
{
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++)
        if (peer_ended(hang, record(hang, i)))
            return record(hang, i);
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
        if (hang->ranks <= FEW_RANKS)
            fprintf(out, "rank %u waits for rank %d, which has ended\n", r, w->peer);
    }
    char text[MLT_NUMBER_BYTES];
    if (hang->ranks > FEW_RANKS && count > 0)
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
        if (record(hang, i)->kind == MLT_WAIT_RECV || record(hang, i)->kind == MLT_WAIT_PROBE)
            return record(hang, i);
    return NULL;
}

static bool ends_mpi(const mlt_hang *hang, const mlt_ctl_wait *held)
{
    if (!held->all || !peer_exists(hang, held) ||
        hang->first[held->peer] == hang->first[held->peer + 1])
        return false;
    return strcasestr(record(hang, hang->first[held->peer])->call, "finalize");
}

static bool print_held(const mlt_hang *hang, const mlt_ctl_wait *held, FILE *out)
{
    const mlt_ctl_wait *own = receives(hang, (uint32_t)held->rank);
    if (hang->moves[held->rank])
        return false; // it may take the message yet
    if (ends_mpi(hang, held)) {
        fprintf(out, "rank %d waits in %s for its send to rank %d", held->peer,
                record(hang, hang->first[held->peer])->call, held->rank);
        print_envelope(held, true, out);
        fputs(", which nobody receives\n", out);
        return true;
    }
    if (!own || !peer_exists(hang, held))
        return false;
    fprintf(out, "rank %d holds a message from rank %d", held->rank, held->peer);
    print_envelope(held, true, out);
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

// ---- Ranks that are in different collectives, but meet

typedef struct meeting {
    uint32_t comm, rank;
    uint64_t number;
    const char *call; // without "MPI_"
    uint32_t root;    // 1 and it; 0: none, or not known
} meeting;

// Blocking, nonblocking and persistent calls of one collective meet: "Ibcast" and "Bcast_init" are
// "bcast".
static size_t stem_of(const char **call)
{
    *call += (*call)[0] == 'I' && islower((unsigned char)(*call)[1]);
    const char *end = strstr(*call, "_init");
    return end ? (size_t)(end - *call) : strlen(*call);
}

static int compare_calls(const char *a, const char *b)
{
    size_t n = stem_of(&a), m = stem_of(&b);
    int order = strncasecmp(a, b, n < m ? n : m);
    return order ? order : n < m ? -1 : n > m;
}

static int compare_sides(const meeting *x, const meeting *y)
{
    int order = compare_calls(x->call, y->call);
    return order ? order : x->root < y->root ? -1 : x->root > y->root;
}

static int by_meeting(const void *a, const void *b)
{
    const meeting *x = a, *y = b;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    int order = compare_sides(x, y);
    return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool same_meeting(const meeting *a, const meeting *b)
{
    return a->comm == b->comm && a->number == b->number;
}

// "ranks 0-2,5 are in MPI_Allreduce": those from *i on that are in the same call; *i goes behind.
static void print_side(const meeting *m, size_t count, size_t *i, FILE *out)
{
    size_t from = *i, shown = 0;
    while (*i < count && same_meeting(&m[*i], &m[from]) && compare_sides(&m[*i], &m[from]) == 0)
        ++*i;
    fputs(*i - from == 1 ? "rank " : "ranks ", out);
    for (size_t at = from; at < *i; shown++) {
        size_t last = at;
        while (last + 1 < *i && m[last + 1].rank == m[last].rank + 1)
            last++;
        if (shown == MOST_RANGES) {
            fputs(",...", out);
            break;
        }
        fprintf(out, shown ? ",%u" : "%u", m[at].rank);
        if (last > at)
            fprintf(out, "-%u", m[last].rank);
        at = last + 1;
    }
    fprintf(out, " %s in MPI_%s", *i - from == 1 ? "is" : "are", m[from].call);
    if (m[from].root)
        fprintf(out, " with root %u", m[from].root - 1);
}

// Of some that meet, sorted. A root that is not known, before all ranks of a worker have come, is
// as all others.
static bool differ(const meeting *m, size_t count)
{
    const meeting *last = &m[count - 1];
    size_t known = 0;
    while (known < count - 1 && !m[known].root)
        known++;
    return compare_calls(m->call, last->call) != 0 || m[known].root != last->root;
}

static void print_mismatches(const mlt_hang *hang, FILE *out)
{
    meeting *m = mlt_take(hang->count, sizeof *m);
    size_t count = 0, told = 0;
    for (size_t i = 0; i < hang->count; i++) {
        const mlt_ctl_wait *w = &hang->records[i];
        if (!w->ended && in_collective(w))
            m[count++] =
                (meeting){w->context / CONTEXTS, (uint32_t)w->rank, w->number, w->label, w->root};
    }
    if (count)
        qsort(m, count, sizeof *m, by_meeting);
    for (size_t i = 0, end; i < count && told < MOST_MISMATCHES; i = end) {
        for (end = i + 1; end < count && same_meeting(&m[end], &m[i]);)
            end++;
        if (!differ(m + i, end - i))
            continue;
        fprintf(out, "call %llu on ", (unsigned long long)m[i].number + 1);
        print_communicator(&(mlt_ctl_wait){.context = m[i].comm * CONTEXTS}, out);
        fputs(" is not the same everywhere: ", out);
        for (size_t at = i; at < end;) {
            print_side(m, end, &at, out);
            fputs(at < end ? ", " : "\n", out);
        }
        told++;
    }
    free(m);
}

void mlt_hang_print(mlt_hang *hang, FILE *out)
{
    sort_records(hang);
    if (hang->ranks <= FEW_RANKS)
        print_each(hang, out);
    else
        print_groups(hang, out);
    print_complaints(hang, out);
    print_all_held(hang, out);
    print_mismatches(hang, out);
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
        const mlt_ctl_wait *w = record(hang, i);
        int64_t peer = in_collective(w) && w->awaited ? (int64_t)w->awaited - 1 : w->peer;
        if (peer >= 0 && peer < hang->ranks)
            fprintf(out, "%s%lld", told++ ? "," : "", (long long)peer);
        else if (in_barrier(w))
            fputs(told++ ? ",*" : "*", out);
    }
    if (!told)
        fputc('-', out);
}

void mlt_hang_facts(mlt_hang *hang, const char *why, FILE *out)
{
    uint32_t length, *cycle, told = 0;
    sort_records(hang);
    fprintf(out, "hang\t%s\n", why);
    for (uint32_t r = 0; r < hang->ranks && told < MOST_FACTS; r++) {
        if (hang->state[r] != MLT_HANG_BLOCKED)
            continue;
        fprintf(out, "stuck\t%u\t", r);
        put_awaited(hang, r, out);
        fputc('\t', out);
        print_blocked(hang, r, ABSOLUTE, true, out);
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
