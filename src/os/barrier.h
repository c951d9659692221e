// SPDX-License-Identifier: BSD-3-Clause
// The order of a store whose reader calls mlt_os_barrier (os.h) between its load and what it concludes:
// none is needed. ThreadSanitizer does not know that call.
#ifndef MLT_OS_BARRIER_H
#define MLT_OS_BARRIER_H

#include <stdatomic.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MLT_OS_BARRIER_STORE memory_order_release
#endif
#elif defined(__SANITIZE_THREAD__)
#define MLT_OS_BARRIER_STORE memory_order_release
#endif
#ifndef MLT_OS_BARRIER_STORE
#define MLT_OS_BARRIER_STORE memory_order_relaxed
#endif

#endif
