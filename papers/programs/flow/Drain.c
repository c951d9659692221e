// SPDX-License-Identifier: BSD-3-Clause
// Takes elements, and answers those that ask for it.
#include "Drain.flow.h"

int Drain_run(Drain *my)
{
    char *element;
    size_t count;
    while (flow_dequeue(my, &element, &count))
        if (element[0])
            flow_send_on(my, done, "!", 1);
    return 0;
}
