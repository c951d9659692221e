// SPDX-License-Identifier: BSD-3-Clause
#include "Make.flow.h"

int Make_run(Make *my)
{
    for (long i = 0; i < 300; i++)
        flow_send(my, &i, 1);
    return 0;
}
