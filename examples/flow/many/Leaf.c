// SPDX-License-Identifier: BSD-3-Clause
#include "Leaf.flow.h"

int Leaf_run(Leaf *my)
{
    const long *v;
    size_t n;

    while (flow_dequeue(my, &v, &n)) {
        long answer = *v * (my->flow.index + 1);
        flow_send(my, &answer, 1);
    }
    return 0;
}
