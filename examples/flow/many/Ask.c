// SPDX-License-Identifier: BSD-3-Clause
#include "Ask.flow.h"

int Ask_run(Ask *my)
{
    long one = 1;

    flow_send(my, &one, 1);
    return 0;
}
