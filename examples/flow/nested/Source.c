// SPDX-License-Identifier: BSD-3-Clause
#include "Source.flow.h"

int Source_run(Source *my)
{
    for (long i = 1; i <= 10; i++)
        flow_send(my, &i, 1);
    return 0;
}
