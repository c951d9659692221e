// SPDX-License-Identifier: BSD-3-Clause
// Both queues must be served as they come: whoever read all primes first would stop the chain as
// soon as the other queue is full, and so wait for ever.
#include <stdio.h>

#include "Print.flow.h"

int Print_run(Print *my)
{
    const long *v;
    size_t n;
    long rest = 0;
    int which;

    while ((which = flow_dequeue_from(my, &v, &n, prime, rest)) >= 0) {
        if (which == 0)
            printf("%ld\n", *v);
        else
            rest++;
    }
    printf("%ld more have no divisor among these\n", rest);
    return 0;
}
