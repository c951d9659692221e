// SPDX-License-Identifier: BSD-3-Clause
#include "Stage.flow.h"

int Stage_run(Stage *my)
{
    long *v;
    size_t n;

    while (flow_dequeue(my, &v, &n)) {
        ++*v;
        flow_give(my, v, n);
    }
    return 0;
}
