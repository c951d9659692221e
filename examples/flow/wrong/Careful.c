// SPDX-License-Identifier: BSD-3-Clause
#include "Careful.flow.h"

int Careful_run(Careful *my)
{
    long *v;
    size_t n;

    while (flow_dequeue(my, &v, &n))
        flow_give(my, v, n);
    return 0;
}
