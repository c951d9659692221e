// SPDX-License-Identifier: BSD-3-Clause
// A library with the name of a device's driver, which counts its users and shuts down when the
// process ends.
#include <stdlib.h>

static int opened, constructed, shut;

__attribute__((constructor)) static void construct(void)
{
    constructed++;
}

static void shut_down(void)
{
    shut = 1;
}

int driver_open(void)
{
    if (__atomic_load_n(&opened, __ATOMIC_RELAXED) == 0)
        atexit(shut_down);
    return __atomic_add_fetch(&opened, 1, __ATOMIC_RELAXED);
}

void driver_look(int *how_many_opened, int *how_many_constructed, int *is_shut)
{
    *is_shut = shut;
    *how_many_opened = __atomic_load_n(&opened, __ATOMIC_RELAXED);
    *how_many_constructed = constructed;
}
