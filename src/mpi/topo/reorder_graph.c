// SPDX-License-Identifier: BSD-3-Clause
// Graphs: workers are filled one after the other. Each begins with a node that has few neighbours
// without a place, if possible one beside what the unit has already, and takes next whichever
// node has most edges into it; of equals, the one that has been beside it longest, then the lowest.
// So a worker's nodes grow into a compact piece from all sides: squares, if the graph is a grid.
//
// Edges count in both directions, with their weights. If workers have one rank each, units are
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

// Of a node.
typedef struct spot {
    int64_t at;         // its edges are from here to the next one's
    int64_t gain, open; // weight of its edges into the piece that grows; to nodes without place
    int32_t place;      // NOWHERE: none yet
    int32_t piece;      // that its gain is of
    int32_t since;      // the place that was taken when it came beside that piece
    int32_t beside;     // the last unit that has a neighbour of it
} spot;

typedef struct growth {
    int32_t nodes;
    spot *spot; // [nodes + 1]
    struct {
        int32_t to, weight;
    } * edge; // both directions of every edge
    candidate *heap;
    int64_t heap_size;
    int32_t lowest; // no node below it is without a place
} growth;

static void growth_init(growth *g, int32_t nodes, const mlt_topo_edge *edges, int64_t count)
{
    *g = (growth){.nodes = nodes};
    g->spot = mlt_xcalloc((size_t)nodes + 1, sizeof *g->spot);
    g->edge = mlt_xcalloc(2 * (size_t)count, sizeof *g->edge);
    g->heap = mlt_xcalloc(2 * (size_t)count, sizeof *g->heap);
    for (int64_t i = 0; i < count; i++) {
        g->spot[edges[i].from + 1].at++;
        g->spot[edges[i].to + 1].at++;
    }
    for (int32_t v = 0; v < nodes; v++) {
        spot *s = &g->spot[v];
        s[1].at += s->at;
        s->place = s->piece = s->beside = REORDER_GRAPH_NOWHERE;
        s->gain = s->at; // for now: where its next edge goes
    }
    for (int64_t i = 0; i < count; i++) {
        const mlt_topo_edge *e = &edges[i];
        spot *from = &g->spot[e->from], *to = &g->spot[e->to];
        int64_t out = from->gain++, in = to->gain++;
        g->edge[out].to = e->to;
        g->edge[in].to = e->from;
        g->edge[out].weight = g->edge[in].weight = e->weight;
        from->open += e->weight;
        to->open += e->weight;
    }
}

static void growth_fini(growth *g)
{
    free(g->spot);
    free(g->edge);
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
                                 int32_t unit)
{
    g->spot[node].place = place;
    for (int64_t i = g->spot[node].at; i < g->spot[node + 1].at; i++) {
        spot *s = &g->spot[g->edge[i].to];
        if (s->place != REORDER_GRAPH_NOWHERE)
            continue;
        if (s->piece != piece) {
            s->piece = piece;
            s->since = place;
            s->gain = 0;
        }
        s->beside = unit;
        s->gain += g->edge[i].weight;
        s->open -= g->edge[i].weight;
        heap_put(g, (candidate){s->gain, s->since, g->edge[i].to});
    }
}

static int32_t reorder_graph_lowest(growth *g)
{
    while (g->spot[g->lowest].place != REORDER_GRAPH_NOWHERE)
        g->lowest++;
    return g->lowest;
}

// Where a piece begins.
static int32_t beginning(growth *g, int32_t unit)
{
    int32_t best = reorder_graph_lowest(g);
    for (int32_t v = best + 1; v < g->nodes; v++) {
        const spot *s = &g->spot[v], *b = &g->spot[best];
        if (s->place != REORDER_GRAPH_NOWHERE)
            continue;
        bool here = s->beside == unit, there = b->beside == unit;
        if (here != there ? here : s->open < b->open)
            best = v;
    }
    return best;
}

static int32_t next_node(growth *g)
{
    while (g->heap_size > 0) {
        candidate c = heap_take(g);
        const spot *s = &g->spot[c.node];
        if (s->place == REORDER_GRAPH_NOWHERE && s->gain == c.gain)
            return c.node;
    }
    return reorder_graph_lowest(g);
}

static void reorder_graph_grow(growth *g, const mlt_topo_layout *layout)
{
    bool single = layout->workers == layout->count;
    int32_t pieces = single ? layout->units : layout->workers, unit = 0, place = 0;
    const int32_t *ends = single ? layout->unit_end : layout->worker_end;
    bool look = (int64_t)pieces * g->nodes <= LOOKS;
    for (int32_t piece = 0; piece < pieces; piece++) {
        while (layout->unit_end[unit] <= place)
            unit++;
        g->heap_size = 0;
        int32_t node = look ? beginning(g, unit) : reorder_graph_lowest(g);
        reorder_graph_settle(g, node, place++, piece, unit);
        while (place < ends[piece])
            reorder_graph_settle(g, next_node(g), place++, piece, unit);
    }
}

// ---- what is separated

static int32_t *homes(const mlt_topo_layout *layout, const int32_t *ends)
{
    int32_t *home = mlt_xcalloc((size_t)layout->count, sizeof *home);
    for (int32_t place = 0, run = 0; place < layout->count; place++) {
        run += place >= ends[run];
        home[place] = run;
    }
    return home;
}

// place: of every node; NULL: its own number.
static mlt_topo_cut count_cut(const mlt_topo_layout *layout, const mlt_topo_edge *edges,
                              int64_t count, const int32_t *place)
{
    mlt_topo_cut cut = {0};
    int32_t *worker = homes(layout, layout->worker_end);
    int32_t *unit = homes(layout, layout->unit_end);
    for (int64_t i = 0; i < count; i++) {
        int32_t a = place ? place[edges[i].from] : edges[i].from;
        int32_t b = place ? place[edges[i].to] : edges[i].to;
        cut.workers += worker[a] == worker[b] ? 0 : edges[i].weight;
        cut.units += unit[a] == unit[b] ? 0 : edges[i].weight;
    }
    free(worker);
    free(unit);
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
    int32_t *place = mlt_xcalloc(2 * (size_t)layout.count, sizeof *place);
    int32_t *node_at = place + layout.count;
    for (int32_t v = 0; v < layout.count; v++) {
        place[v] = g.spot[v].place;
        node_at[place[v]] = v;
    }
    mlt_topo_cut before = count_cut(&layout, edges, count, layout.position);
    mlt_topo_cut after = count_cut(&layout, edges, count, place);
    bool better = mlt_topo_cut_is_less(after, before);
    for (int32_t r = 0; better && r < layout.count; r++)
        newrank[r] = node_at[layout.position ? layout.position[r] : r];
    free(place);
    growth_fini(&g);
    mlt_topo_layout_fini(&layout);
    return better;
}
