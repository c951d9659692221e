// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.h"

#include "base/text.h"

mlt_status mlt_fail(mlt_status status, char *why, size_t why_size, const char *format, ...)
{
    MLT_TEXT_PRINT(why, why_size, format);
    return status;
}

bool mlt_deny(char *why, size_t why_size, const char *format, ...)
{
    MLT_TEXT_PRINT(why, why_size, format);
    return false;
}
