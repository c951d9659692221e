// SPDX-License-Identifier: BSD-3-Clause
// Matrices whose product is another one in another order: instance i has (1 i+1; 0 1) or, if i is
// odd, its mirror image.
#include "Factor.flow.h"

int Factor_run(Factor *my)
{
    double i = (double)my->flow.index + 1;
    struct matrix m =
        my->flow.index % 2 == 0 ? (struct matrix){1, i, 0, 1} : (struct matrix){1, 0, i, 1};

    flow_send(my, &m, 1);
    return 0;
}
