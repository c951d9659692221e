// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "Print.flow.h"

int Print_run(Print *my)
{
    const struct moments *m;
    const struct matrix *product;
    size_t n;

    if (!flow_dequeue(my, &m, &n))
        flow_fail(my, "no sample came");
    printf("%g numbers, mean %.12g, variance %.12g\n", m->n, m->mean, m->squares / m->n);
    if (!flow_dequeue_on(my, product, &product, &n))
        flow_fail(my, "no matrix came");
    printf("(%g %g; %g %g)\n", product->a, product->b, product->c, product->d);
    return 0;
}
