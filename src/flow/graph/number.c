// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

bool mlt_flow_number_parse(const char *text, long *value)
{
    const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    if (!isdigit((unsigned char)digits[0]) || (digits[0] == '0' && digits[1] && !hexadecimal))
        return false;
    char *end;
    errno = 0;
    *value = strtol(text, &end, hexadecimal ? 16 : 10);
    return !*end && !errno && (!hexadecimal || end > digits + 2);
}
