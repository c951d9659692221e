// SPDX-License-Identifier: BSD-3-Clause
// Fits with some of the experiments. That others have the rest, and that what comes back is a sum,
// is the root's affair.
#include "Chemical.flow.h"

int Chemical_run(Chemical *my)
{
    const double *sum;
    size_t count;
    const char *wrong = fit_begin(&my->f, my->flow.argc, my->flow.argv);

    if (wrong)
        flow_fail(my, "%s", wrong);
    do {
        for (int i = 0; i < PARAMETERS + 1; i++) {
            fit_errors(&my->f, i, my->flow.index, my->flow.count);
            flow_send(my, my->f.own, my->f.errors);
            flow_dequeue(my, &sum, &count);
            fit_take(&my->f, i, sum);
        }
    } while (fit_step(&my->f));
    if (my->flow.index == 0)
        fit_print(&my->f);
    fit_end(&my->f);
    return 0;
}
