// SPDX-License-Identifier: BSD-3-Clause
#include "base/numbers.h"

#include <stdio.h>

const char *mlt_number(char text[MLT_NUMBER_BYTES], uint64_t n)
{
    char digits[MLT_NUMBER_BYTES];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

const char *mlt_bytes(char text[MLT_NUMBER_BYTES], uint64_t n)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)n;
    int unit = 0;
    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    int places = unit == 0 || value >= 100 || value == (double)(int)value ? 0 : 1;
    snprintf(text, MLT_NUMBER_BYTES, "%.*f %s", places, value,
             unit == 0 && n == 1 ? "byte" : units[unit]);
    return text;
}

const char *mlt_time(char text[MLT_NUMBER_BYTES], uint64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    int unit = 0;
    for (; value >= 1000 && unit < 3; unit++)
        value /= 1000;
    int places = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
    snprintf(text, MLT_NUMBER_BYTES, "%.*f %s", places, value, units[unit]);
    return text;
}
