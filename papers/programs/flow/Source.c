// SPDX-License-Identifier: BSD-3-Clause
// For each size of the arguments some elements to warm up, then 40 MB of them. Prints `B_MBs R`, the bandwidth until the other side has all.
#include "Source.flow.h"
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 16 };

int Source_run(Source *my)
{
    for (int a = 1; a < my->flow.argc; a++) {
        size_t bytes = strtoul(my->flow.argv[a], NULL, 10), count;
        long elements = (long)(40e6 / (double)bytes) + WARM_UP;
        char *element = calloc(1, bytes), *answer;
        csp_time began = 0;
        for (long i = -WARM_UP; i < elements; i++) {
            element[0] = i == -1 || i == elements - 1; // the other side answers
            flow_send(my, element, bytes);
            if (i == -1 && !flow_dequeue(my, &answer, &count))
                flow_fail(my, "the other side has stopped");
            if (i == -1)
                began = csp_now();
        }
        if (!flow_dequeue(my, &answer, &count))
            flow_fail(my, "the other side has stopped");
        printf("%zu_MBs %.4f\n", bytes, (double)bytes * (double)elements / ((double)(csp_now() - began) / 1e9) / 1e6);
        free(element);
    }
    return 0;
}
