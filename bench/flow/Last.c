// SPDX-License-Identifier: BSD-3-Clause
// Prints the time of a hop: from the first element's arrival to the last one's, by elements and
// hops.
#include <millet/csp.h>
#include <stdio.h>

#include "Last.flow.h"

int Last_run(Last *my)
{
    const long *v;
    size_t n;
    long stages = flow_const(my, "STAGES"), got = 0;
    csp_time start = 0;

    for (; flow_dequeue(my, &v, &n); got++) {
        if (got == 0)
            start = csp_now();
        if (*v != got + stages)
            flow_fail(my, "element %ld is %ld", got, *v);
    }
    printf("hop %.2f ns\n", (double)(csp_now() - start) / (double)(got - 1) / (double)(stages + 1));
    return 0;
}
