// SPDX-License-Identifier: BSD-3-Clause
// Sends each element back.
#include "Pong.flow.h"

int Pong_run(Pong *my)
{
    char *element;
    size_t count;
    while (flow_dequeue(my, &element, &count))
        flow_give(my, element, count);
    return 0;
}
