// SPDX-License-Identifier: BSD-3-Clause
// A walk in depth finds a cycle if there is one. From some of its nodes a walk in breadth then
// finds the shortest way back to themselves, until a budget of edges is used up: in a graph of a
// million nodes the shortest of all cycles would take too long, and any explains the matter.
#include "base/cycle.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { NEW, OPEN, DONE };
enum { TRIES = 64 };
static const uint64_t budget_edges = 4 << 20;
static const uint32_t nobody = UINT32_MAX;

// ---- graphs

mlt_digraph mlt_digraph_of(uint32_t nodes, const mlt_edge *edges, uint32_t count,
                           mlt_direction direction)
{
    bool back = direction == MLT_BACKWARDS;
    // first[n + 1] is where the next edge of n goes; in the end, where those of n + 1 begin.
    mlt_digraph g = {nodes, mlt_xcalloc(nodes + (size_t)2, sizeof *g.first),
                     mlt_xcalloc(count, sizeof *g.to)};
    for (uint32_t i = 0; i < count; i++)
        g.first[(back ? edges[i].to : edges[i].from) + (size_t)2]++;
    for (size_t n = 2; n <= nodes; n++)
        g.first[n] += g.first[n - 1];
    for (uint32_t i = 0; i < count; i++)
        g.to[g.first[(back ? edges[i].to : edges[i].from) + (size_t)1]++] =
            back ? edges[i].from : edges[i].to;
    return g;
}

void mlt_digraph_free(mlt_digraph *graph)
{
    free(graph->first);
    free(graph->to);
    *graph = (mlt_digraph){0};
}

// ---- cycles

typedef struct walk {
    const mlt_digraph *graph;
    const bool *out;
    uint8_t *colour; // [nodes]
    uint32_t *stack; // [nodes]; the queue of a walk in breadth
    uint64_t *edge;  // [nodes] the next edge; in breadth, the node from which it was reached
    uint64_t budget;
} walk;

static bool is_out(const walk *w, uint32_t node)
{
    return w->out && w->out[node];
}

// Walks from `start`; returns how many nodes are on the stack, *from the one where the cycle
// begins. 0: there is none from here.
static uint32_t walk_in_depth(walk *w, uint32_t start, uint32_t *from)
{
    const mlt_digraph *graph = w->graph;
    uint32_t depth = 0;
    w->colour[start] = OPEN;
    w->edge[start] = graph->first[start];
    w->stack[depth++] = start;
    while (depth > 0) {
        uint32_t node = w->stack[depth - 1];
        if (w->edge[node] == graph->first[node + 1]) {
            w->colour[node] = DONE;
            depth--;
            continue;
        }
        uint32_t next = graph->to[w->edge[node]++];
        if (is_out(w, next) || w->colour[next] == DONE)
            continue;
        if (w->colour[next] == OPEN) {
            *from = depth - 1;
            while (w->stack[*from] != next)
                --*from;
            return depth;
        }
        w->colour[next] = OPEN;
        w->edge[next] = graph->first[next];
        w->stack[depth++] = next;
    }
    return 0;
}

// The shortest way from `start` back to it, in `cycle`; 0: it is not shorter than `most`, or the
// budget is used up.
static uint32_t walk_in_breadth(walk *w, uint32_t start, uint32_t *cycle, uint32_t most)
{
    const mlt_digraph *graph = w->graph;
    uint32_t head = 0, tail = 0, last = nobody;
    memset(w->colour, NEW, graph->nodes);
    w->stack[tail++] = start;
    w->edge[start] = nobody;
    w->colour[start] = DONE;
    while (head < tail && last == nobody) {
        uint32_t node = w->stack[head++];
        for (uint64_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
            uint32_t next = graph->to[e];
            if (w->budget == 0)
                return 0;
            w->budget--;
            if (next == start) {
                last = node;
                break;
            }
            if (is_out(w, next) || w->colour[next] != NEW)
                continue;
            w->colour[next] = DONE;
            w->edge[next] = node;
            w->stack[tail++] = next;
        }
    }
    uint32_t length = 0;
    for (uint32_t at = last; at != nobody; at = (uint32_t)w->edge[at])
        length++;
    if (length == 0 || length >= most)
        return 0;
    for (uint32_t at = last, i = length; at != nobody; at = (uint32_t)w->edge[at])
        cycle[--i] = at;
    return length;
}

// Looks for a shorter cycle than this one of n nodes; returns how many nodes it has then.
static uint32_t shorten(walk *w, uint32_t *cycle, uint32_t n)
{
    uint32_t *starts = mlt_xcalloc(n, sizeof *starts), count = n;
    uint32_t step = n > TRIES ? n / TRIES : 1;
    memcpy(starts, cycle, n * sizeof *cycle);
    for (uint32_t i = 0; i < count && w->budget > w->graph->nodes; i += step) {
        w->budget -= w->graph->nodes; // the colours
        uint32_t shorter = walk_in_breadth(w, starts[i], cycle, n);
        n = shorter ? shorter : n;
    }
    free(starts);
    return n;
}

static void copy_turned(uint32_t *to, const uint32_t *cycle, uint32_t length)
{
    uint32_t low = 0;
    for (uint32_t i = 1; i < length; i++)
        low = cycle[i] < cycle[low] ? i : low;
    for (uint32_t i = 0; i < length; i++)
        to[i] = cycle[(low + i) % length];
}

static uint32_t *search(walk *w, mlt_cycle_kind kind, uint32_t *length)
{
    uint32_t depth = 0, from = 0;
    for (uint32_t i = 0; i < w->graph->nodes && depth == 0; i++)
        if (!is_out(w, i) && w->colour[i] == NEW)
            depth = walk_in_depth(w, i, &from);
    if (depth == 0)
        return NULL;
    uint32_t n = depth - from;
    uint32_t *found = mlt_xcalloc(n, sizeof *found), *cycle = mlt_xcalloc(n, sizeof *cycle);
    memcpy(found, w->stack + from, n * sizeof *found);
    *length = kind == MLT_CYCLE_SHORT ? shorten(w, found, n) : n;
    copy_turned(cycle, found, *length);
    free(found);
    return cycle;
}

static walk walk_begin(const mlt_digraph *graph, const bool *out)
{
    size_t n = graph->nodes;
    return (walk){.graph = graph,
                  .out = out,
                  .colour = mlt_xcalloc(n, sizeof(uint8_t)),
                  .stack = mlt_xcalloc(n, sizeof(uint32_t)),
                  .edge = mlt_xcalloc(n, sizeof(uint64_t)),
                  .budget = budget_edges + 2 * (uint64_t)n};
}

static void walk_end(walk *w)
{
    free(w->colour);
    free(w->stack);
    free(w->edge);
}

uint32_t *mlt_cycle_find(const mlt_digraph *graph, const bool *out, mlt_cycle_kind kind,
                         uint32_t *length)
{
    walk w = walk_begin(graph, out);
    *length = 0;
    uint32_t *cycle = search(&w, kind, length);
    walk_end(&w);
    return cycle;
}

uint32_t mlt_cycle_shorten(const mlt_digraph *graph, const bool *out, uint32_t *cycle,
                           uint32_t length)
{
    walk w = walk_begin(graph, out);
    length = shorten(&w, cycle, length);
    walk_end(&w);
    return length;
}
