// SPDX-License-Identifier: BSD-3-Clause
// A piece of the rod.
#include <math.h>
#include <string.h>

#include "Cell.flow.h"

void Cell_init(Cell *my)
{
    my->u[0] = COLD;
    my->u[POINTS + 1] = HOT;
}

// One step; how much the greatest change was.
static double step(double u[POINTS + 2])
{
    double next[POINTS + 2], change = 0;

    for (int i = 1; i <= POINTS; i++) {
        next[i] = (u[i - 1] + u[i + 1]) / 2;
        change = fmax(change, fabs(next[i] - u[i]));
    }
    memcpy(u + 1, next + 1, sizeof(double[POINTS]));
    return change;
}

int Cell_run(Cell *my)
{
    const double *v;
    size_t n;
    double change;

    do {
        flow_send_on(my, toLeft, &my->u[1], 1);
        flow_send_on(my, toRight, &my->u[POINTS], 1);
        if (flow_dequeue_on(my, fromLeft, &v, &n))
            my->u[0] = *v;
        if (flow_dequeue_on(my, fromRight, &v, &n))
            my->u[POINTS + 1] = *v;
        change = step(my->u);
        flow_send_on(my, change, &change, 1);
        if (!flow_dequeue(my, &v, &n))
            flow_fail(my, "the others have stopped");
    } while (*v > TOLERANCE);
    flow_send(my, my->u + 1, POINTS);
    return 0;
}
