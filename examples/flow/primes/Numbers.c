// SPDX-License-Identifier: BSD-3-Clause
// 2, 3, 4, ... up to the program's first argument; 200 without one.
#include <stdlib.h>

#include "Numbers.flow.h"

int Numbers_run(Numbers *my)
{
    long most = my->flow.argc > 1 ? atol(my->flow.argv[1]) : 200;

    for (long i = 2; i <= most; i++)
        if (!flow_send(my, &i, 1))
            break; // nobody listens any more
    return 0;
}
