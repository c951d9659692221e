// SPDX-License-Identifier: BSD-3-Clause
// Sends elements of the sizes that the arguments say, and waits for each to come back. Prints `B_us T`: the time of a round trip.
#include "Ping.flow.h"
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int Ping_run(Ping *my)
{
    for (int a = 1; a < my->flow.argc; a++) {
        size_t bytes = strtoul(my->flow.argv[a], NULL, 10), count;
        int times = bytes > 100000 ? 200 : 2000;
        char *element = calloc(1, bytes), *back;
        csp_time began = 0;
        for (int i = -20; i < times; i++) {
            if (i == 0)
                began = csp_now();
            element[bytes - 1] = (char)i;
            flow_send(my, element, bytes);
            if (!flow_dequeue(my, &back, &count) || count != bytes || back[bytes - 1] != (char)i)
                flow_fail(my, "the element did not come back as it was");
        }
        printf("%zu_us %.4f\n", bytes, (double)(csp_now() - began) / 1e3 / times);
        free(element);
    }
    return 0;
}
