// SPDX-License-Identifier: BSD-3-Clause
// Prints the rod, and whether it is what one processor computes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Print.flow.h"

// u has `points` points and the walls.
static void serial(double *u, long points)
{
    double *next = calloc((size_t)points + 2, sizeof *next), change;

    do {
        change = 0;
        for (long i = 1; i <= points; i++) {
            next[i] = (u[i - 1] + u[i + 1]) / 2;
            change = fmax(change, fabs(next[i] - u[i]));
        }
        memcpy(u + 1, next + 1, (size_t)points * sizeof *u);
    } while (change > TOLERANCE);
    free(next);
}

int Print_run(Print *my)
{
    long points = flow_const(my, "N") * POINTS, at = 1, wrong = 0;
    double *u = calloc((size_t)points + 2, sizeof *u);
    const double *v;
    size_t n;

    u[points + 1] = HOT;
    serial(u, points);
    while (flow_dequeue(my, &v, &n)) {
        for (size_t i = 0; i < n; i++, at++) {
            printf("%.3f ", v[i]);
            wrong += at > points || v[i] != u[at];
        }
    }
    wrong += at != points + 1;
    printf("\n%s\n", wrong ? "WRONG" : "OK");
    free(u);
    return wrong != 0;
}
