// SPDX-License-Identifier: BSD-3-Clause
#include "tell.h"

int main(void)
{
    tell();
    return 0;
}
