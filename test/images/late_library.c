// SPDX-License-Identifier: BSD-3-Clause
// The library of late.c: whether another caller is in it.
static volatile int taken;

int take_lock(void)
{
    if (taken)
        return 1;
    taken = 1;
    for (volatile long i = 0; i < 20000000; i++)
        continue;
    taken = 0;
    return 0;
}
