// SPDX-License-Identifier: BSD-3-Clause
// The one status type of the engine: 0 is fine, positive is pending, negative is an error.
// MPI's error classes exist only in src/mpi.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum mlt_status {
    MLT_OK = 0,
    MLT_PENDING = 1,        // not done yet, nothing wrong
    MLT_ERR_NO_MEMORY = -1, // memory, mappings or shared memory exhausted
    MLT_ERR_INVALID = -2,   // the caller's argument is wrong
    MLT_ERR_SYSTEM = -3,    // a system call failed; errno tells
    MLT_ERR_TRUNCATED = -4, // a message was longer than its receive buffer
    MLT_ERR_NOT_FOUND = -5,
    MLT_ERR_UNSUPPORTED = -6, // this kernel or machine cannot do it
    MLT_ERR_CLOSED = -7,      // the peer or the launcher is gone
    MLT_ERR_DISAGREE = -8,    // ranks gave arguments that do not fit together
} mlt_status;

#define MLT_MUST_CHECK   __attribute__((warn_unused_result))
#define MLT_COLD         __attribute__((cold, noinline))
#define MLT_NOINLINE     __attribute__((noinline))
#define MLT_INLINE       inline __attribute__((always_inline))
#define MLT_LIKELY(x)    __builtin_expect(!!(x), 1)
#define MLT_UNLIKELY(x)  __builtin_expect(!!(x), 0)
#define MLT_PRINTF(f, a) __attribute__((format(printf, f, a)))

// The function, called as one whose body the compiler does not know: nothing of it is done before
// the call, even if all is optimised together.
#define MLT_OUT_OF_LINE(function)                                                                  \
    ({                                                                                             \
        __typeof__(&(function)) mlt_function = (function);                                         \
        __asm__("" : "+r"(mlt_function));                                                          \
        mlt_function;                                                                              \
    })

// Writes why something failed, cut to the size of the caller's text, and returns the status.
mlt_status mlt_fail(mlt_status status, char *why, size_t why_size, const char *format, ...)
    MLT_PRINTF(4, 5) MLT_COLD;

// The same for a function that returns whether it worked: false.
bool mlt_deny(char *why, size_t why_size, const char *format, ...) MLT_PRINTF(3, 4) MLT_COLD;
