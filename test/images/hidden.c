// SPDX-License-Identifier: BSD-3-Clause
// A library whose variables have no names once it is stripped.
#include "hidden.h"

static int total = 7;
static char last[32];

int add_to_total(int n)
{
    return total += n;
}

char *last_text(void)
{
    return last;
}
