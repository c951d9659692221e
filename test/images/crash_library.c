// SPDX-License-Identifier: BSD-3-Clause
static int calls;

__attribute__((noinline)) static void inner(void (*call)(int))
{
    calls++;
    call(1);
    calls++;
}

void of_library(void (*call)(int))
{
    inner(call);
    calls++;
}
