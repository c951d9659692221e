// SPDX-License-Identifier: BSD-3-Clause
// Adds arrays of the sizes that the arguments say, in bytes. Prints `B_us T`: the time of an all-reduce.
#include "Member.flow.h"
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

int Member_run(Member *my)
{
    for (int a = 1; a < my->flow.argc; a++) {
        size_t bytes = strtoul(my->flow.argv[a], NULL, 10), values = bytes / sizeof(double), count;
        int times = bytes > 10000 ? 200 : 2000;
        double *mine = calloc(values, sizeof *mine), *sum;
        csp_time began = 0;
        for (size_t i = 0; i < values; i++)
            mine[i] = (double)(i + 1);
        for (int i = -20; i < times; i++) {
            if (i == 0)
                began = csp_now();
            flow_send(my, mine, values);
            if (!flow_dequeue(my, &sum, &count) || count != values || sum[values - 1] != (double)values * (double)my->flow.count)
                flow_fail(my, "a wrong sum");
        }
        if (my->flow.index == 0)
            printf("%zu_us %.4f\n", bytes, (double)(csp_now() - began) / 1e3 / times);
        free(mine);
    }
    return 0;
}
