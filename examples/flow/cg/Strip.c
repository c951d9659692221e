// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "Strip.flow.h"

int Strip_run(Strip *my)
{
    int n = cg_size(my->flow.argc, my->flow.argv);
    size_t row = (size_t)n, count;
    double dots[2], error;
    const double *sums, *v;
    strip t;

    if (my->flow.count > n)
        flow_fail(my, "P = %ld strips, but only %d rows", my->flow.count, n);
    cg_begin(&t, n, (int)my->flow.index, (int)my->flow.count);
    do {
        cg_dots(&t, dots);
        flow_send_on(my, dots, dots, 2); // the reduction begins
        flow_send_on(my, up, t.w, row);
        flow_send_on(my, down, t.w + (t.rows - 1) * n, row);
        cg_inner(&t); // while sums and rows are under way
        if (flow_dequeue_on(my, above, &v, &count))
            memcpy(t.w - n, v, row * sizeof *v);
        if (flow_dequeue_on(my, below, &v, &count))
            memcpy(t.w + t.rows * n, v, row * sizeof *v);
        cg_outer(&t);
        if (!flow_dequeue_on(my, sums, &sums, &count))
            flow_fail(my, "the others have stopped");
    } while (cg_step(&t, sums));
    error = cg_error(&t);
    flow_send_on(my, error, &error, 1);
    cg_end(&t);
    return 0;
}
