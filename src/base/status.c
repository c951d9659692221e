// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

mlt_status mlt_fail(mlt_status status, char *why, size_t why_size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, why_size, format, args);
    va_end(args);
    return status;
}

bool mlt_deny(char *why, size_t why_size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, why_size, format, args);
    va_end(args);
    return false;
}
