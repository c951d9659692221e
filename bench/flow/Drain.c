// SPDX-License-Identifier: BSD-3-Clause
// Prints the bandwidth, but for the first tenth of the elements. Elements of another process are
// read in place, so each is copied into memory of this one, as a message's receive would.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Drain.flow.h"

int Drain_run(Drain *my)
{
    const long *v;
    size_t n;
    long most = my->flow.argc > 1 ? atol(my->flow.argv[1]) : 2000, got = 0;
    csp_time start = 0;
    double bytes = 0;
    long *mine = malloc((size_t)flow_const(my, "KIB") * 1024);

    for (; flow_dequeue(my, &v, &n); got++) {
        memcpy(mine, v, n * sizeof *v);
        if (mine[0] != got || mine[n - 1] != got)
            flow_fail(my, "element %ld is wrong", got);
        if (got > most / 10)
            bytes += (double)(n * sizeof *v);
        else
            start = csp_now();
    }
    printf("stream %.3f GB/s\n", bytes / (double)(csp_now() - start));
    free(mine);
    return 0;
}
