// SPDX-License-Identifier: BSD-3-Clause
// Messages for people, and the end of the process when Millet itself is at fault.
// A line is written with one write(2), so lines of several processes never mix.
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/status.h"

// Writes "millet: <message>\n" to standard error.
void mlt_log(const char *format, ...) MLT_PRINTF(1, 2);
void mlt_vlog(const char *format, va_list args) MLT_PRINTF(1, 0);

// Writes the message and ends the process with status 70. For faults of the machine or of Millet.
_Noreturn void mlt_fatal(const char *format, ...) MLT_PRINTF(1, 2) MLT_COLD;

// Ends the process at once. Not by _exit, which the MPI layer has a version of that ends one rank.
_Noreturn void mlt_leave(int status);

_Noreturn void mlt_assert_failed(const char *file, int line, const char *condition) MLT_COLD;

// Stays on in release builds: keep the condition cheap.
#define mlt_assert(condition)                                                                      \
    ((condition) ? (void)0 : mlt_assert_failed(__FILE__, __LINE__, #condition))
