// SPDX-License-Identifier: BSD-3-Clause
// Sends 1, 2, 3, ...: 12 of them, or as many as the program's first argument says.
#include <stdlib.h>

#include "Source.flow.h"

int Source_run(Source *my)
{
    long most = my->flow.argc > 1 ? atol(my->flow.argv[1]) : 12;

    for (long i = 1; i <= most; i++) {
        double value = (double)i;
        flow_send(my, &value, 1);
    }
    return 0;
}
