// SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include "Work.flow.h"

int Work_run(Work *my)
{
    long *v;
    size_t n;

    while (flow_dequeue(my, &v, &n)) {
        struct timespec start, now;
        clock_gettime(CLOCK_MONOTONIC, &start);
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < 1000000);
        ++*v;
        flow_give(my, v, n);
    }
    return 0;
}
