// SPDX-License-Identifier: BSD-3-Clause
// Taking actions out of a rank. The actions that stay keep their order, and with it the messages
// that they meet.
#include "judge/pass/pass_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

// What an action that is gone waited for, to be passed on. Rows may be shared.
typedef struct row {
    uint32_t *on, count, room;
    bool shared;
} row;

static void row_add(row *r, uint32_t on)
{
    *MLT_ARRAY_ADD(r->on, r->count, r->room) = on;
}

static int edit_compare(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    uint32_t x = mlt_goal_plain(a), y = mlt_goal_plain(b);
    return x != y ? (x < y ? -1 : 1) : a < b ? -1 : a > b;
}

// One dependency on each action: on its end if there is one, which sorts first.
static void row_unique(row *r)
{
    uint32_t kept = 0;
    if (r->count > 1)
        qsort(r->on, r->count, sizeof *r->on, edit_compare);
    for (uint32_t i = 0; i < r->count; i++)
        if (!kept || mlt_goal_plain(r->on[kept - 1]) != mlt_goal_plain(r->on[i]))
            r->on[kept++] = r->on[i];
    r->count = kept;
}

// What `a` waits for once those before it are gone. `passes[b]`: b is gone, rows[b] is what it
// passes on.
static row resolve(const mlt_goal_graph *graph, uint32_t a, const bool *passes, const row *rows)
{
    row out = {0};
    uint32_t begin = graph->before_at[a], end = graph->before_at[a + 1];
    if (end - begin == 1 && passes[mlt_goal_plain(graph->before[begin])]) {
        out = rows[mlt_goal_plain(graph->before[begin])];
        out.shared = true;
        return out;
    }
    for (uint32_t e = begin; e < end; e++) {
        uint32_t b = mlt_goal_plain(graph->before[e]);
        if (!passes[b])
            row_add(&out, graph->before[e]);
        else
            for (uint32_t i = 0; i < rows[b].count; i++)
                row_add(&out, rows[b].on[i]);
    }
    row_unique(&out);
    return out;
}

// Actions that stay, moved together; to[a] is the new index.
static uint32_t compact(mlt_goal_rank *rank, const bool *gone, uint32_t *to)
{
    uint32_t kept = 0;
    for (uint32_t a = 0; a < rank->count; a++) {
        to[a] = kept;
        if (!gone[a])
            rank->actions[kept++] = rank->actions[a];
    }
    uint32_t removed = rank->count - kept;
    rank->count = kept;
    return removed;
}

enum { INHERITED = 64 };

// Whether an action that is gone passes on what it waited for to those that wait for it. That must
// cost no more dependencies. And a long chain of actions that are gone must not hand on ever longer
// rows, each a copy of the one before: one that has inherited much stays, as a no-op.
static bool passes_on(const mlt_goal_graph *graph, uint32_t a, const row *waits)
{
    uint64_t in = waits->count, out = graph->next_at[a + 1] - graph->next_at[a];
    uint64_t own = graph->before_at[a + 1] - graph->before_at[a];
    return in * out <= in + out && (waits->shared || in <= own + INHERITED);
}

uint32_t mlt_pass_remove(mlt_goal_rank *rank, const bool *gone)
{
    mlt_goal_graph *graph = mlt_goal_graph_new(rank);
    uint32_t n = rank->count;
    bool *passes = mlt_xcalloc(n, sizeof *passes);
    row *rows = mlt_xcalloc(n, sizeof *rows), deps = {0}, actions = {0};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = graph->order[i];
        rows[a] = resolve(graph, a, passes, rows);
        passes[a] = gone[a] && passes_on(graph, a, &rows[a]);
        if (passes[a])
            continue;
        if (gone[a])
            rank->actions[a] = (mlt_goal_action){.kind = MLT_GOAL_NOP,
                                                 .cpu = rank->actions[a].cpu,
                                                 .label = rank->actions[a].label,
                                                 .line = rank->actions[a].line};
        for (uint32_t k = 0; k < rows[a].count; k++) {
            row_add(&actions, a);
            row_add(&deps, rows[a].on[k]);
        }
    }
    uint32_t *to = mlt_xcalloc(n, sizeof *to), removed = compact(rank, passes, to);
    rank->deps = mlt_xrealloc(rank->deps, deps.count, sizeof *rank->deps);
    rank->deps_count = rank->deps_room = deps.count;
    for (uint32_t d = 0; d < deps.count; d++)
        rank->deps[d] = (mlt_goal_dep){to[actions.on[d]], to[mlt_goal_plain(deps.on[d])] |
                                                              (deps.on[d] & MLT_GOAL_STARTED)};
    for (uint32_t a = 0; a < n; a++)
        if (!rows[a].shared)
            free(rows[a].on);
    free(to);
    free(deps.on);
    free(actions.on);
    free(rows);
    free(passes);
    mlt_goal_graph_free(graph);
    return removed;
}

void mlt_pass_merge(mlt_goal_rank *rank, const uint32_t *into)
{
    uint32_t n = rank->count, kept = 0;
    bool *gone = mlt_xcalloc(n, sizeof *gone);
    uint32_t *to = mlt_xcalloc(n, sizeof *to);
    for (uint32_t a = 0; a < n; a++)
        gone[a] = into[a] != a;
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep dep = rank->deps[d];
        uint32_t on = mlt_goal_plain(dep.on);
        dep.action = into[dep.action];
        if (into[on] != on)
            dep.on = into[on]; // its start was after the other's end
        if (dep.action != mlt_goal_plain(dep.on))
            rank->deps[kept++] = dep;
    }
    rank->deps_count = kept;
    compact(rank, gone, to);
    for (uint32_t d = 0; d < kept; d++) {
        mlt_goal_dep *dep = &rank->deps[d];
        dep->action = to[dep->action];
        dep->on = to[mlt_goal_plain(dep->on)] | (dep->on & MLT_GOAL_STARTED);
    }
    free(gone);
    free(to);
}
