// SPDX-License-Identifier: BSD-3-Clause
// Orders of atomics that something else orders, which ThreadSanitizer does not know:
//
//     MLT_OS_BARRIER_STORE    a store whose reader calls mlt_os_barrier (os.h) between its load and
//                             what it concludes
//     MLT_OS_FENCED_CHANGE    a change that the thread's next fence (mlt_arch_order) orders, before
//                             anybody may conclude anything from it
#pragma once

#include <stdatomic.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MLT_OS_BARRIER_STORE memory_order_release
#define MLT_OS_FENCED_CHANGE memory_order_acq_rel
#endif
#elif defined(__SANITIZE_THREAD__)
#define MLT_OS_BARRIER_STORE memory_order_release
#define MLT_OS_FENCED_CHANGE memory_order_acq_rel
#endif
#ifndef MLT_OS_BARRIER_STORE
#define MLT_OS_BARRIER_STORE memory_order_relaxed
#define MLT_OS_FENCED_CHANGE memory_order_relaxed
#endif
