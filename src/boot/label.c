// SPDX-License-Identifier: BSD-3-Clause
#include "boot/label.h"

#include <stdio.h>
#include <time.h>

size_t mlt_label_write(const mlt_label *label, char text[MLT_LABEL_BYTES])
{
    size_t n = 0;
    text[0] = '\0';
    if (label->time) {
        struct timespec now;
        struct tm local;
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &local);
        n = strftime(text, MLT_LABEL_BYTES, "%Y-%m-%d %H:%M:%S", &local);
        n +=
            (size_t)snprintf(text + n, MLT_LABEL_BYTES - n, ".%03d ", (int)(now.tv_nsec / 1000000));
    }
    if (label->rank)
        n += (size_t)snprintf(text + n, MLT_LABEL_BYTES - n, "[%.32s%s%u] ", label->job,
                              *label->job ? ":" : "", label->number);
    return n;
}
