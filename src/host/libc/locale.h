// SPDX-License-Identifier: BSD-3-Clause
// A rank's own locale, where a process holds several: setlocale changes the calling rank's only.
// What depends on it (printf, strtod, isalpha, localeconv, nl_langinfo, MB_CUR_MAX ...) asks libc
// for the thread's locale, which is changed at the switch in workers where some rank has set one.
#pragma once

#include "p2p/p2p.h"

// On a thread that the rank has started: it begins with the rank's locale.
void mlt_locale_thread(const mlt_rank *me);
