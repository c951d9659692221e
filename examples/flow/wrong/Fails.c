// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "Fails.flow.h"

int Fails_run(Fails *my)
{
    const char *how = my->flow.argc > 1 ? my->flow.argv[1] : "sentence";
    double v[2] = {1, 2}, *sum;
    size_t n;

    flow_send(my, v, 1);
    if (my->flow.index == 3 && strcmp(how, "sentence") == 0)
        flow_fail(my, "the temperature is %g", -5.0);
    if (my->flow.index == 3 && strcmp(how, "status") == 0)
        return 7;
    if (my->flow.index == 3 && strcmp(how, "crash") == 0)
        abort();
    if (my->flow.index == 1 && strcmp(how, "uneven") == 0) // one element more than others
        flow_send(my, v, 1);
    if (strcmp(how, "count") == 0) // one of them has another count
        flow_send(my, v, my->flow.index == 1 ? 2 : 1);
    flow_dequeue(my, &sum, &n);
    return 0;
}
