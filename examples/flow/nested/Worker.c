// SPDX-License-Identifier: BSD-3-Clause
// x -> 3 x + 1
#include "Worker.flow.h"

int Worker_run(Worker *my)
{
    long *v;
    size_t n;

    while (flow_dequeue(my, &v, &n)) {
        for (size_t i = 0; i < n; i++)
            v[i] = 3 * v[i] + 1;
        flow_give(my, v, n);
    }
    return 0;
}
