// SPDX-License-Identifier: BSD-3-Clause
// A walk in depth finds a cycle if there is one. From some of its nodes a walk in breadth then
// finds the shortest way back to themselves, until a budget of edges is used up: in a graph of a
// million nodes the shortest of all cycles would take too long, and any explains the matter.
#include "csp/hang/knot.h"

#include <stdlib.h>
#include <string.h>

enum { NEW, OPEN, DONE };
enum { TRIES = 64 };
static const uint64_t budget_edges = 4 << 20;
static const uint32_t nobody = UINT32_MAX;

typedef struct walk {
    const mlt_knot *knot;
    uint8_t *colour; // [nodes]
    uint32_t *stack; // [nodes]; the queue of a walk in breadth
    uint32_t *edge;  // [nodes] the next edge; whence it was reached, in breadth
    uint64_t budget;
} walk;

static bool is_out(const mlt_knot *knot, uint32_t node)
{
    return knot->out && knot->out[node];
}

// Walks from `start`; returns how many nodes are on the stack, *from the one where the cycle
// begins. 0: there is none from here.
static uint32_t walk_in_depth(walk *w, uint32_t start, uint32_t *from)
{
    const mlt_knot *knot = w->knot;
    uint32_t depth = 0;
    w->colour[start] = OPEN;
    w->edge[start] = knot->first[start];
    w->stack[depth++] = start;
    while (depth > 0) {
        uint32_t node = w->stack[depth - 1];
        if (w->edge[node] == knot->first[node + 1]) {
            w->colour[node] = DONE;
            depth--;
            continue;
        }
        uint32_t next = knot->to[w->edge[node]++];
        if (is_out(knot, next) || w->colour[next] == DONE)
            continue;
        if (w->colour[next] == OPEN) {
            *from = depth - 1;
            while (w->stack[*from] != next)
                --*from;
            return depth;
        }
        w->colour[next] = OPEN;
        w->edge[next] = knot->first[next];
        w->stack[depth++] = next;
    }
    return 0;
}

// The shortest way from `start` back to it, in `cycle`; 0: it is not shorter than `most`, or the
// budget is used up.
static uint32_t walk_in_breadth(walk *w, uint32_t start, uint32_t *cycle, uint32_t most)
{
    const mlt_knot *knot = w->knot;
    uint32_t head = 0, tail = 0, last = nobody;
    memset(w->colour, NEW, knot->nodes);
    w->stack[tail++] = start;
    w->edge[start] = nobody;
    w->colour[start] = DONE;
    while (head < tail && last == nobody) {
        uint32_t node = w->stack[head++];
        for (uint32_t e = knot->first[node]; e < knot->first[node + 1]; e++) {
            uint32_t next = knot->to[e];
            if (w->budget == 0)
                return 0;
            w->budget--;
            if (next == start) {
                last = node;
                break;
            }
            if (is_out(knot, next) || w->colour[next] != NEW)
                continue;
            w->colour[next] = DONE;
            w->edge[next] = node;
            w->stack[tail++] = next;
        }
    }
    uint32_t length = 0;
    for (uint32_t at = last; at != nobody; at = w->edge[at])
        length++;
    if (length == 0 || length >= most)
        return 0;
    for (uint32_t at = last, i = length; at != nobody; at = w->edge[at])
        cycle[--i] = at;
    return length;
}

static uint32_t *search(walk *w, uint32_t *length)
{
    const mlt_knot *knot = w->knot;
    uint32_t depth = 0, from = 0;
    for (uint32_t i = 0; i < knot->nodes && depth == 0; i++)
        if (!is_out(knot, i) && w->colour[i] == NEW)
            depth = walk_in_depth(w, i, &from);
    if (depth == 0)
        return NULL;
    uint32_t n = depth - from;
    uint32_t *cycle = malloc(2 * n * sizeof *cycle), *starts = cycle + n;
    if (!cycle)
        return NULL;
    memcpy(cycle, w->stack + from, n * sizeof *cycle);
    memcpy(starts, cycle, n * sizeof *cycle);
    uint32_t step = n > TRIES ? n / TRIES : 1, tries = n;
    for (uint32_t i = 0; i < tries && w->budget > knot->nodes; i += step) {
        w->budget -= knot->nodes; // the colours
        uint32_t shorter = walk_in_breadth(w, starts[i], cycle, n);
        n = shorter ? shorter : n;
    }
    *length = n;
    return cycle;
}

static void turn(uint32_t *cycle, uint32_t length)
{
    uint32_t low = 0;
    for (uint32_t i = 1; i < length; i++)
        low = cycle[i] < cycle[low] ? i : low;
    uint32_t *whole = malloc(length * sizeof *whole);
    if (!whole)
        return; // it is a cycle as it is
    for (uint32_t i = 0; i < length; i++)
        whole[i] = cycle[(low + i) % length];
    memcpy(cycle, whole, length * sizeof *whole);
    free(whole);
}

uint32_t *mlt_knot_find(const mlt_knot *knot, uint32_t *length)
{
    size_t n = knot->nodes ? knot->nodes : 1;
    walk w = {.knot = knot,
              .colour = calloc(n, sizeof *w.colour),
              .stack = malloc(n * sizeof *w.stack),
              .edge = malloc(n * sizeof *w.edge),
              .budget = budget_edges + 2 * (uint64_t)n};
    *length = 0;
    uint32_t *cycle = w.colour && w.stack && w.edge ? search(&w, length) : NULL;
    if (cycle)
        turn(cycle, *length);
    free(w.colour);
    free(w.stack);
    free(w.edge);
    return cycle;
}
