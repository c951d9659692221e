// SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include "Some.flow.h"

enum { SLOW = 2 };

int Some_run(Some *my)
{
    long *v;
    size_t n;

    while (flow_dequeue(my, &v, &n)) {
        struct timespec start, now;
        clock_gettime(CLOCK_MONOTONIC, &start);
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while (my->flow.index == SLOW &&
               (now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < 3000000);
        ++*v;
        flow_give(my, v, n);
    }
    return 0;
}
