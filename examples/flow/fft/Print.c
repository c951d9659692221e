// SPDX-License-Identifier: BSD-3-Clause
#include "Print.flow.h"

int Print_run(Print *my)
{
    const double *error, *waves;
    size_t n;

    if (flow_dequeue_on(my, error, &error, &n) && flow_dequeue_on(my, waves, &waves, &n))
        fft_print(fft_size(my->flow.argc, my->flow.argv), *error, *waves);
    return 0;
}
