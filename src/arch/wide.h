// SPDX-License-Identifier: BSD-3-Clause
// Wider vectors than those that every processor of the kind has:
//
//   MLT_ARCH_WIDE         before a function's definition: its loops may use them
//   mlt_arch_has_wide()   whether this processor can call such a function
#pragma once

#include <stdbool.h>

#if defined(__x86_64__)
#define MLT_ARCH_WIDE __attribute__((target("avx2")))
static inline bool mlt_arch_has_wide(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define MLT_ARCH_WIDE
static inline bool mlt_arch_has_wide(void)
{
    return false;
}
#endif
