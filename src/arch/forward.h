// SPDX-License-Identifier: BSD-3-Clause
// Functions that go on in another one as if the caller had called that one: it sees the caller's
// arguments (up to three, addresses or integers) and return address.
//
//     MLT_ARCH_FORWARD(dlsym, mlt_dl_sym_for)
//
// at file scope defines dlsym, visible outside of the library, which asks
// `void *mlt_dl_sym_for(uintptr_t caller, uintptr_t first)`, with the first argument, where to go on. C has no tail call that is sure to be one.
#pragma once

#if defined(__aarch64__)
#include "arch/aarch64/forward.h"
#elif defined(__x86_64__)
#include "arch/x86_64/forward.h"
#endif
