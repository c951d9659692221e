// SPDX-License-Identifier: BSD-3-Clause
#include "Square.flow.h"

int Square_run(Square *my)
{
    double *v;
    size_t n;

    while (flow_dequeue(my, &v, &n)) {
        for (size_t i = 0; i < n; i++)
            v[i] *= v[i];
        flow_give(my, v, n);
    }
    return 0;
}
