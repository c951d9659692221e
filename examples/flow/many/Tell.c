// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "Tell.flow.h"

int Tell_run(Tell *my)
{
    const long *v;
    size_t n;
    long count = flow_const(my, "N");

    while (flow_dequeue(my, &v, &n))
        printf("%ld instances say %ld: %s\n", count, *v,
               *v == count * (count + 1) / 2 ? "right" : "WRONG");
    return 0;
}
