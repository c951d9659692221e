// SPDX-License-Identifier: BSD-3-Clause
// libc's own functions, where this layer has one of the same name, which a program finds first.
#pragma once

#include <stdatomic.h>

#include "base/status.h"
#include "fiber/sanitize.h"

// 0 with a sanitizer, whose run-time has many of these functions itself, or calls them before the
// library's code can run. There are no images then, so that most are not needed.
#if defined(MLT_SANITIZE_ADDRESS) || defined(MLT_SANITIZE_THREAD)
#define MLT_TAKES_OVER 0
#else
#define MLT_TAKES_OVER 1
#endif

// Something of a file that only such functions use.
#define MLT_FOR_TAKEN __attribute__((unused))

// The address of libc's function; looked up once for each place in the source. Ends the process
// with a message if there is none. Relaxed: every thread finds the same.
#define MLT_LIBC(function)                                                                         \
    ({                                                                                             \
        static _Atomic(void *) mlt_found;                                                          \
        void *mlt_known = atomic_load_explicit(&mlt_found, memory_order_relaxed);                  \
        if (MLT_UNLIKELY(!mlt_known))                                                              \
            mlt_known = mlt_libc_find(&mlt_found, #function);                                      \
        (__typeof__(function) *)mlt_known;                                                         \
    })
void *mlt_libc_find(_Atomic(void *) *found, const char *name) MLT_COLD;
