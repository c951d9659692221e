// SPDX-License-Identifier: BSD-3-Clause
#include "os/sum.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/table.h"

bool mlt_os_sum(const char *file, uint64_t *sum)
{
    unsigned char buffer[4096];
    uint64_t h = MLT_HASH_FIRST;
    FILE *in = fopen(file, "re");
    if (!in)
        return false;
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        h = mlt_hash_on(h, buffer, n);
    int error = ferror(in) ? errno : 0;
    fclose(in);
    errno = error;
    *sum = h;
    return !error;
}

void mlt_os_sum_text(uint64_t sum, char text[MLT_SUM_BYTES])
{
    snprintf(text, MLT_SUM_BYTES, "%016" PRIx64, sum);
}
