// SPDX-License-Identifier: BSD-3-Clause
#include "Print.flow.h"

int Print_run(Print *my)
{
    const double *error;
    size_t n;

    if (flow_dequeue_on(my, error, &error, &n))
        cg_print(cg_size(my->flow.argc, my->flow.argv), *error);
    return 0;
}
