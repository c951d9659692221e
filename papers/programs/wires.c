// SPDX-License-Identifier: BSD-3-Clause
// MPI as a C++ library, experiment IV: routes wires of a chip by simulated annealing.
//
//     wires WIRES GRID ITERATIONS
//
// A wire joins two points of a GRID x GRID chip by a route with at most two bends. A cell costs the square of the wires that
// cross it. In each iteration each wire takes the cheapest of its routes, or, with one chance in ten, any of them. Ranks own
// equal parts of the wires and have the whole chip. Every so often they tell each other which routes changed: the more ranks
// there are, the fewer wires each has routed since, so that all work with nearly the same chip. Prints `seconds T`,
// `cost C` (the sum of squares) and `most M` (wires of the fullest cell).
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "by_hand.h"

enum { BATCH = 256 }; // wires of all ranks together between two exchanges, at least

typedef struct wire {
    int x1, y1, x2, y2;
    int bend; // route: 0 to dx - 1: along x to x1 + (bend + 1) steps, along y, along x; from dx on: the same, y first
} wire;

typedef struct change {
    int wire, bend;
} change;

typedef struct chip {
    int grid;
    int *cells;
} chip;

static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static int distance(int a, int b)
{
    return a < b ? b - a : a - b;
}

static int routes_of(const wire *w)
{
    int routes = distance(w->x1, w->x2) + distance(w->y1, w->y2);
    return routes ? routes : 1;
}

// Each cell from (x1, y1) up to, but without, (x2, y2), which lie on one line.
static int64_t leg(chip *c, int x1, int y1, int x2, int y2, int add)
{
    int64_t cost = 0;
    int dx = (x2 > x1) - (x2 < x1), dy = (y2 > y1) - (y2 < y1);
    for (; x1 != x2 || y1 != y2; x1 += dx, y1 += dy) {
        int *cell = &c->cells[(size_t)y1 * (size_t)c->grid + (size_t)x1];
        cost += 2 * (int64_t)*cell + 1; // what one wire more adds to the square
        *cell += add;
    }
    return cost;
}

// The route's cost; its cells change by `add`.
static int64_t route(chip *c, const wire *w, int bend, int add)
{
    int dx = distance(w->x1, w->x2), sx = w->x2 < w->x1 ? -1 : 1, sy = w->y2 < w->y1 ? -1 : 1;
    int64_t cost;
    if (bend < dx) {
        int x = w->x1 + sx * (bend + 1);
        cost = leg(c, w->x1, w->y1, x, w->y1, add) + leg(c, x, w->y1, x, w->y2, add) + leg(c, x, w->y2, w->x2, w->y2, add);
    } else {
        int y = w->y1 + sy * (bend - dx + (w->y1 != w->y2));
        cost = leg(c, w->x1, w->y1, w->x1, y, add) + leg(c, w->x1, y, w->x2, y, add) + leg(c, w->x2, y, w->x2, w->y2, add);
    }
    int *last = &c->cells[(size_t)w->y2 * (size_t)c->grid + (size_t)w->x2];
    cost += 2 * (int64_t)*last + 1;
    *last += add;
    return cost;
}

static int best(chip *c, const wire *w, uint32_t chance)
{
    int routes = routes_of(w), found = 0;
    if (chance % 10 == 0)
        return (int)(chance / 10 % (uint32_t)routes);
    int64_t least = INT64_MAX;
    for (int bend = 0; bend < routes; bend++) {
        int64_t cost = route(c, w, bend, 0);
        if (cost < least) {
            least = cost;
            found = bend;
        }
    }
    return found;
}

static void move(chip *c, wire *w, int bend)
{
    route(c, w, w->bend, -1);
    w->bend = bend;
    route(c, w, w->bend, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, count = argc > 1 ? atoi(argv[1]) : 4096, grid = argc > 2 ? atoi(argv[2]) : 512, iterations = argc > 3 ? atoi(argv[3]) : 3;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    chip c = {grid, calloc((size_t)grid * (size_t)grid, sizeof *c.cells)};
    wire *wires = calloc((size_t)count, sizeof *wires);
    int64_t cells = 0;
    for (int i = 0; i < count; i++) {
        uint32_t seed = (uint32_t)i * 4;
        int reach = grid / 4;
        wire *w = &wires[i];
        w->x1 = (int)(mix(seed) % (uint32_t)(grid - reach));
        w->y1 = (int)(mix(seed + 1) % (uint32_t)(grid - reach));
        w->x2 = w->x1 + (int)(mix(seed + 2) % (uint32_t)reach);
        w->y2 = w->y1 + (int)(mix(seed + 3) % (uint32_t)reach);
        route(&c, w, 0, 1);
        cells += distance(w->x1, w->x2) + distance(w->y1, w->y2) + 1;
    }
    int each = BATCH / size > 1 ? BATCH / size : 1, turns = (count + each * size - 1) / (each * size);
    change *mine = malloc((size_t)each * sizeof *mine), *all = malloc((size_t)each * (size_t)size * sizeof *all);
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int iteration = 0; iteration < iterations; iteration++)
        for (int turn = 0; turn < turns; turn++) {
            for (int k = 0; k < each; k++) {
                int i = (turn * size + rank) * each + k;
                mine[k] = (change){-1, 0};
                if (i >= count)
                    continue;
                wire *w = &wires[i];
                route(&c, w, w->bend, -1);
                mine[k] = (change){i, best(&c, w, mix((uint32_t)(iteration * count + i)))};
                route(&c, w, w->bend, 1);
                move(&c, w, mine[k].bend);
            }
            gather_all(mine, all, each * (int)sizeof *mine, rank, size);
            for (int k = 0; k < each * size; k++)
                if (all[k].wire >= 0 && k / each != rank)
                    move(&c, &wires[all[k].wire], all[k].bend);
        }
    double seconds = MPI_Wtime() - began;
    int64_t cost = 0, sum = 0;
    int most = 0;
    for (size_t i = 0; i < (size_t)grid * (size_t)grid; i++) {
        cost += (int64_t)c.cells[i] * c.cells[i];
        sum += c.cells[i];
        most = c.cells[i] > most ? c.cells[i] : most;
    }
    int64_t least, highest;
    MPI_Allreduce(&cost, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&cost, &highest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (least != highest || sum != cells) {
        fprintf(stderr, "wires: the chips of the ranks differ\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        printf("seconds %.6f\ncost %lld\nmost %d\n", seconds, (long long)cost, most);
    MPI_Finalize();
    return 0;
}
