// SPDX-License-Identifier: BSD-3-Clause
// Graphs: workers are filled one after the other. Each begins with a node that has few neighbours
// without a place, if possible one beside what the process has already, and takes next whichever
// node has most edges into it; of equals, the one that has been beside it longest, then the lowest.
// So a worker's nodes grow into a compact piece from all sides: squares, if the graph is a grid.
//
// Edges count in both directions, with their weights. If workers have one rank each, processes are
// filled instead.
#include <stdlib.h>

#include "base/memory.h"
#include "mpi/topo/reorder.h"

enum {
    REORDER_GRAPH_NOWHERE = -1,
    LOOKS = 1 << 24, // at nodes, for good places to begin; beyond it, the lowest node is taken
};

// A node that may come next, as it was when it was put into the heap.
typedef struct candidate {
    int64_t gain;
    int32_t since, node;
} candidate;

typedef struct growth {
    int32_t nodes;
    // Both directions of every edge: those of node v are at[v] .. at[v + 1].
    int64_t *at;
    int32_t *near, *weight;
    int32_t *place;       // of every node; NOWHERE
    int64_t *gain, *open; // weight of its edges into the piece that grows; to nodes without place
    int32_t *piece;       // that its gain is of
    int32_t *since;       // the place that was taken when it came beside that piece
    int32_t *beside;      // the last process that has a neighbour of it
    candidate *heap;
    int64_t heap_size;
    int32_t lowest; // no node below it is without a place
} growth;

static void growth_init(growth *g, int32_t nodes, const mlt_topo_edge *edges, int64_t count)
{
    *g = (growth){.nodes = nodes};
    g->at = mlt_take((size_t)nodes + 1, sizeof *g->at);
    g->near = mlt_take(2 * (size_t)count, sizeof *g->near);
    g->weight = mlt_take(2 * (size_t)count, sizeof *g->weight);
    g->place = mlt_take((size_t)nodes, sizeof *g->place);
    g->gain = mlt_take((size_t)nodes, sizeof *g->gain);
    g->open = mlt_take((size_t)nodes, sizeof *g->open);
    g->piece = mlt_take((size_t)nodes, sizeof *g->piece);
    g->since = mlt_take((size_t)nodes, sizeof *g->since);
    g->beside = mlt_take((size_t)nodes, sizeof *g->beside);
    g->heap = mlt_take(2 * (size_t)count, sizeof *g->heap);
    for (int64_t i = 0; i < count; i++) {
        g->at[edges[i].from + 1]++;
        g->at[edges[i].to + 1]++;
    }
    for (int32_t v = 0; v < nodes; v++) {
        g->at[v + 1] += g->at[v];
        g->place[v] = g->piece[v] = g->beside[v] = REORDER_GRAPH_NOWHERE;
        g->gain[v] = g->at[v]; // for now: where its next edge goes
    }
    for (int64_t i = 0; i < count; i++) {
        const mlt_topo_edge *e = &edges[i];
        int64_t out = g->gain[e->from]++, in = g->gain[e->to]++;
        g->near[out] = e->to;
        g->near[in] = e->from;
        g->weight[out] = g->weight[in] = e->weight;
        g->open[e->from] += e->weight;
        g->open[e->to] += e->weight;
    }
}

static void growth_fini(growth *g)
{
    free(g->at);
    free(g->near);
    free(g->weight);
    free(g->place);
    free(g->gain);
    free(g->open);
    free(g->piece);
    free(g->since);
    free(g->beside);
    free(g->heap);
}

static bool comes_before(const candidate *a, const candidate *b)
{
    if (a->gain != b->gain)
        return a->gain > b->gain;
    return a->since != b->since ? a->since < b->since : a->node < b->node;
}

static void heap_put(growth *g, candidate c)
{
    int64_t i = g->heap_size++;
    for (; i > 0 && comes_before(&c, &g->heap[(i - 1) / 2]); i = (i - 1) / 2)
        g->heap[i] = g->heap[(i - 1) / 2];
    g->heap[i] = c;
}

static candidate heap_take(growth *g)
{
    candidate first = g->heap[0], last = g->heap[--g->heap_size];
    int64_t i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= g->heap_size)
            break;
        if (child + 1 < g->heap_size && comes_before(&g->heap[child + 1], &g->heap[child]))
            child++;
        if (!comes_before(&g->heap[child], &last))
            break;
        g->heap[i] = g->heap[child];
        i = child;
    }
    g->heap[i] = last;
    return first;
}

static void reorder_graph_settle(growth *g, int32_t node, int32_t place, int32_t piece,
                                 int32_t process)
{
    g->place[node] = place;
    for (int64_t i = g->at[node]; i < g->at[node + 1]; i++) {
        int32_t u = g->near[i];
        if (g->place[u] != REORDER_GRAPH_NOWHERE)
            continue;
        if (g->piece[u] != piece) {
            g->piece[u] = piece;
            g->since[u] = place;
            g->gain[u] = 0;
        }
        g->beside[u] = process;
        g->gain[u] += g->weight[i];
        g->open[u] -= g->weight[i];
        heap_put(g, (candidate){g->gain[u], g->since[u], u});
    }
}

static int32_t reorder_graph_lowest(growth *g)
{
    while (g->place[g->lowest] != REORDER_GRAPH_NOWHERE)
        g->lowest++;
    return g->lowest;
}

// Where a piece begins.
static int32_t beginning(growth *g, int32_t process)
{
    int32_t best = reorder_graph_lowest(g);
    for (int32_t v = best + 1; v < g->nodes; v++) {
        if (g->place[v] != REORDER_GRAPH_NOWHERE)
            continue;
        bool here = g->beside[v] == process, there = g->beside[best] == process;
        if (here != there ? here : g->open[v] < g->open[best])
            best = v;
    }
    return best;
}

static int32_t next_node(growth *g)
{
    while (g->heap_size > 0) {
        candidate c = heap_take(g);
        if (g->place[c.node] == REORDER_GRAPH_NOWHERE && g->gain[c.node] == c.gain)
            return c.node;
    }
    return reorder_graph_lowest(g);
}

static void reorder_graph_grow(growth *g, const mlt_topo_layout *layout)
{
    bool single = layout->workers == layout->count;
    int32_t pieces = single ? layout->processes : layout->workers, process = 0, place = 0;
    const int32_t *ends = single ? layout->process_end : layout->worker_end;
    bool look = (int64_t)pieces * g->nodes <= LOOKS;
    for (int32_t piece = 0; piece < pieces; piece++) {
        while (layout->process_end[process] <= place)
            process++;
        g->heap_size = 0;
        int32_t node = look ? beginning(g, process) : reorder_graph_lowest(g);
        reorder_graph_settle(g, node, place++, piece, process);
        while (place < ends[piece])
            reorder_graph_settle(g, next_node(g), place++, piece, process);
    }
}

// ---- what is separated

static int32_t *homes(const mlt_topo_layout *layout, const int32_t *ends)
{
    int32_t *home = mlt_take((size_t)layout->count, sizeof *home);
    for (int32_t place = 0, run = 0; place < layout->count; place++) {
        run += place >= ends[run];
        home[place] = run;
    }
    return home;
}

static mlt_topo_cut count_cut(const mlt_topo_layout *layout, const mlt_topo_edge *edges,
                              int64_t count, const int32_t *place)
{
    mlt_topo_cut cut = {0};
    int32_t *worker = homes(layout, layout->worker_end);
    int32_t *process = homes(layout, layout->process_end);
    for (int64_t i = 0; i < count; i++) {
        int32_t a = place ? place[edges[i].from] : edges[i].from;
        int32_t b = place ? place[edges[i].to] : edges[i].to;
        cut.workers += worker[a] == worker[b] ? 0 : edges[i].weight;
        cut.processes += process[a] == process[b] ? 0 : edges[i].weight;
    }
    free(worker);
    free(process);
    return cut;
}

mlt_topo_cut mlt_reorder_graph_cut(const mlt_topo_where *where, const mlt_topo_edge *edges,
                                   int64_t count, const int32_t *newrank)
{
    mlt_topo_layout layout;
    mlt_topo_layout_init(&layout, where);
    int32_t *place = mlt_take((size_t)layout.count, sizeof *place);
    for (int32_t r = 0; r < layout.count; r++)
        place[newrank ? newrank[r] : r] = layout.position ? layout.position[r] : r;
    mlt_topo_cut cut = count_cut(&layout, edges, count, place);
    free(place);
    mlt_topo_layout_fini(&layout);
    return cut;
}

bool mlt_reorder_graph(const mlt_topo_where *where, const mlt_topo_edge *edges, int64_t count,
                       int32_t *newrank)
{
    if (mlt_topo_where_together(where))
        return false;
    mlt_topo_layout layout;
    growth g;
    mlt_topo_layout_init(&layout, where);
    growth_init(&g, layout.count, edges, count);
    reorder_graph_grow(&g, &layout);
    mlt_topo_cut before = count_cut(&layout, edges, count, layout.position);
    mlt_topo_cut after = count_cut(&layout, edges, count, g.place);
    bool better = after.workers < before.workers ||
                  (after.workers == before.workers && after.processes < before.processes);
    if (better) {
        int32_t *node_at = mlt_take((size_t)layout.count, sizeof *node_at);
        for (int32_t v = 0; v < layout.count; v++)
            node_at[g.place[v]] = v;
        for (int32_t r = 0; r < layout.count; r++)
            newrank[r] = node_at[layout.position ? layout.position[r] : r];
        free(node_at);
    }
    growth_fini(&g);
    mlt_topo_layout_fini(&layout);
    return better;
}
