// SPDX-License-Identifier: BSD-3-Clause
#include <stddef.h>

#include "operations.flow.h"

// Mean and variance of two samples together (Chan, Golub and LeVeque).
void pool(struct moments *into, const struct moments *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double n = into[i].n + with[i].n, apart = with[i].mean - into[i].mean;
        into[i].squares += with[i].squares + apart * apart * into[i].n * with[i].n / n;
        into[i].mean += apart * with[i].n / n;
        into[i].n = n;
    }
}

void times(struct matrix *into, const struct matrix *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct matrix x = into[i], y = with[i];
        into[i] = (struct matrix){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d,
                                  x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
    }
}
