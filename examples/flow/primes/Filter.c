// SPDX-License-Identifier: BSD-3-Clause
#include "Filter.flow.h"

int Filter_run(Filter *my)
{
    long *v, prime = 0;
    size_t n;

    while (flow_dequeue(my, &v, &n)) {
        if (prime == 0) {
            prime = *v;
            flow_send_on(my, prime, v, 1);
        } else if (*v % prime != 0) {
            flow_give(my, v, 1);
        }
    }
    return 0;
}
