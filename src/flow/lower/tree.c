// SPDX-License-Identifier: BSD-3-Clause
// Tasks; and broadcasts: a relay on each worker with receivers, joined by lines in a tree.
//
//     root's worker ──> first of host B ──> others of B, a binomial tree
//          │    └─────> first of host C ...            one line into each host, from a binomial
//          └──> others of the root's host              tree over hosts
//
// A relay with one line out is left out: its line begins at the relay above.
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "flow/lower/lower_int.h"

typedef struct vertex {
    uint32_t worker, parent, outs;
    uint32_t wire; // one below it, for names
    uint32_t near; // node whose place it takes
    uint32_t task; // its own, or of the nearest above that has one
    bool is_own;
} vertex;

typedef struct tree {
    mlt_flow_lowerer *w;
    vertex *v; // parents before children
    uint32_t count;
} tree;

uint32_t mlt_flow_task_add(mlt_flow_lowerer *w, uint8_t kind, uint32_t node, uint32_t worker,
                           uint32_t near)
{
    mlt_flow_lowered *l = w->l;
    MLT_ARRAY_WANT(l->tasks, l->task_count + 1ull, w->task_room);
    bool there = mlt_flow_home(w, near) == worker;
    l->tasks[l->task_count] =
        (mlt_flow_task){.kind = kind,
                        .node = node,
                        .place = there ? w->placing->place_of[near] : w->first_place[worker],
                        .worker = worker,
                        .reduction = MLT_FLOW_NONE};
    return l->task_count++;
}

static void reach(tree *t, uint32_t worker, uint32_t parent)
{
    t->w->slot_of[worker] = t->count;
    t->v[t->count++] = (vertex){worker, parent, 0, MLT_FLOW_NONE, MLT_FLOW_NONE, 0, false};
}

// Workers with receivers, except the root's, each once, ascending.
static uint32_t workers_of(tree *t, uint32_t node, uint32_t root, uint32_t *workers)
{
    mlt_flow_lowerer *w = t->w;
    uint32_t count = 0;
    for (uint32_t i = w->out.first[node]; i < w->out.first[node + 1]; i++) {
        uint32_t at = mlt_flow_wire_to(w, &w->wires[w->out.list[i]]);
        if (at != root && w->slot_of[at] == MLT_FLOW_NONE) {
            w->slot_of[at] = 0;
            workers[count++] = at;
        }
    }
    qsort(workers, count, sizeof *workers, mlt_flow_by_number);
    return count;
}

// Binomial: the i-th hangs from i without its highest bit; `first` is the vertex that is the 0th.
static uint32_t above(uint32_t first, uint32_t others, uint32_t i)
{
    uint32_t parent = i & ~(1u << (31 - __builtin_clz(i)));
    return parent ? others + parent - 1 : first;
}

// First one worker of each host, beginning with the hosts after the root's; then the rest of each.
static void grow(tree *t, uint32_t root, const uint32_t *workers, uint32_t count)
{
    const uint32_t *host = t->w->sites->host_of;
    reach(t, root, 0);
    uint32_t start = 0, leaders = 0;
    while (start < count && host[workers[start]] <= host[root])
        start++;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = (start + k) % count, at = workers[i];
        bool first = k == 0 || i == 0 || host[workers[i - 1]] != host[at];
        if (host[at] != host[root] && first) {
            leaders++;
            reach(t, at, above(0, 1, leaders));
        }
    }
    for (uint32_t leader = 0; leader <= leaders; leader++) {
        uint32_t top = t->v[leader].worker, others = t->count, i = 0;
        for (uint32_t k = 0; k < count; k++)
            if (host[workers[k]] == host[top] && workers[k] != top) {
                i++;
                reach(t, workers[k], above(leader, others, i));
            }
    }
}

static void count_outs(tree *t, uint32_t node)
{
    mlt_flow_lowerer *w = t->w;
    for (uint32_t i = w->out.first[node]; i < w->out.first[node + 1]; i++) {
        const mlt_flow_wire *wire = &w->wires[w->out.list[i]];
        vertex *v = &t->v[w->slot_of[mlt_flow_wire_to(w, wire)]];
        v->outs++;
        if (v->wire == MLT_FLOW_NONE) {
            v->wire = w->out.list[i];
            v->near = wire->to;
        }
    }
    for (uint32_t i = t->count - 1; i > 0; i--) {
        vertex *parent = &t->v[t->v[i].parent];
        parent->outs++;
        if (parent->wire == MLT_FLOW_NONE)
            parent->wire = t->v[i].wire;
    }
}

static void tree_join(mlt_flow_lowerer *w, uint32_t from, uint32_t to, uint32_t wire)
{
    *MLT_ARRAY_ADD(w->tree, w->tree_count, w->tree_room) =
        (mlt_flow_line){.from = from,
                        .to = to,
                        .edge = w->wires[wire].edge,
                        .cap = w->wires[wire].cap,
                        .by_bytes = w->wires[wire].by_bytes};
}

// Tasks where they are needed, and lines between them. Returns where the tree begins.
static uint32_t tree_make_tasks(tree *t, uint32_t node, uint32_t root)
{
    mlt_flow_lowerer *w = t->w;
    uint32_t entry = root;
    for (uint32_t i = 0; i < t->count; i++) {
        vertex *v = &t->v[i];
        bool hands_on = v->outs == 1 && !w->how.keep;
        if (i == 0) // one that merges stays, and there must be one
            hands_on &= mlt_flow_index_count(w->in.first, node) == 1 &&
                        mlt_flow_index_count(w->out.first, node) > 1;
        v->is_own = (i == 0 && root != MLT_FLOW_NONE) || !hands_on;
        if (!v->is_own) {
            v->task = i ? t->v[v->parent].task : (uint32_t)MLT_FLOW_NONE;
            w->l->removed++;
            continue;
        }
        v->task = i == 0 && root != MLT_FLOW_NONE
                      ? root
                      : mlt_flow_task_add(w, MLT_FLOW_BROADCAST, node, v->worker,
                                          i == 0 || v->near == MLT_FLOW_NONE ? node : v->near);
        if (entry == MLT_FLOW_NONE)
            entry = v->task;
        else if (i)
            tree_join(w, t->v[v->parent].task, v->task, v->wire);
    }
    return entry;
}

uint32_t mlt_flow_tree_make(mlt_flow_lowerer *w, uint32_t node, uint32_t root, uint32_t worker)
{
    uint32_t most = mlt_flow_index_count(w->out.first, node) < w->sites->workers
                        ? mlt_flow_index_count(w->out.first, node)
                        : w->sites->workers;
    tree t = {.w = w, .v = mlt_xcalloc(most + 1ull, sizeof *t.v)};
    uint32_t *workers = mlt_xcalloc(most + 1ull, sizeof *workers);
    uint32_t count = workers_of(&t, node, worker, workers);
    grow(&t, worker, workers, count);
    count_outs(&t, node);
    uint32_t entry = tree_make_tasks(&t, node, root);
    for (uint32_t i = w->out.first[node]; i < w->out.first[node + 1]; i++) {
        mlt_flow_wire *wire = &w->wires[w->out.list[i]];
        wire->from_task = t.v[w->slot_of[mlt_flow_wire_to(w, wire)]].task;
    }
    for (uint32_t i = 0; i < t.count; i++)
        w->slot_of[t.v[i].worker] = MLT_FLOW_NONE;
    free(workers);
    free(t.v);
    return entry;
}
