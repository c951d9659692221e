// SPDX-License-Identifier: BSD-3-Clause
#include "Keep.flow.h"

int Keep_run(Keep *my)
{
    long *v, sum = 0;
    size_t n;

    while (flow_dequeue(my, &v, &n))
        sum += *v;
    return sum != 300 * 301 / 2;
}
