// SPDX-License-Identifier: BSD-3-Clause
// As many elements as the program's argument says.
#include <stdlib.h>

#include "First.flow.h"

int First_run(First *my)
{
    long most = my->flow.argc > 1 ? atol(my->flow.argv[1]) : 1000000;

    for (long i = 0; i < most; i++)
        flow_send(my, &i, 1);
    return 0;
}
