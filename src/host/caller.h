// SPDX-License-Identifier: BSD-3-Clause
// Who calls a function that takes the place of libc's: a rank, or something for which libc's own is
// right.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "p2p/p2p.h"

// By the linker: the code of this library lies between its head and its writable data.
extern const char mlt_code_begin[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char mlt_code_end[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

// The return address of the calling function, which must not be inlined.
#define MLT_CALLER __builtin_return_address(0)

static inline bool mlt_caller_is_ours(const void *caller)
{
    return (uintptr_t)caller - (uintptr_t)mlt_code_begin <
           (uintptr_t)mlt_code_end - (uintptr_t)mlt_code_begin;
}

// The rank that calls, in a process of several: on its worker's thread, from its own code. NULL: the
// process has one, or the caller is a thread of the program, a forked child or this library.
mlt_rank *mlt_caller_rank(const void *caller);
