// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "Print.flow.h"

int Print_run(Print *my)
{
    const double *v;
    size_t n;

    while (flow_dequeue(my, &v, &n))
        printf("%g\n", *v);
    return 0;
}
