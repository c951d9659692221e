// SPDX-License-Identifier: BSD-3-Clause
// Where a part begins and ends whose instructions are counted (step.c). Without step.c it ends the program.
#pragma once

static inline void mark(void)
{
#if defined(__aarch64__)
    __asm__ volatile("brk #0x4d4c" ::: "memory");
#else
    __asm__ volatile("int3" ::: "memory");
#endif
}
