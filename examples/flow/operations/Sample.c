// SPDX-License-Identifier: BSD-3-Clause
// Instance i has the 100 numbers 100 i + 1, ..., 100 i + 100.
#include "Sample.flow.h"

int Sample_run(Sample *my)
{
    struct moments m = {0, 0, 0};

    for (int i = 1; i <= 100; i++) {
        double x = (double)(100 * my->flow.index + i), apart = x - m.mean;
        m.n++;
        m.mean += apart / m.n;
        m.squares += apart * (x - m.mean);
    }
    flow_send(my, &m, 1);
    return 0;
}
