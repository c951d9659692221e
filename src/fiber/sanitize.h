// SPDX-License-Identifier: BSD-3-Clause
// What sanitizers and valgrind want to know of stacks and switches; nothing in a normal build. The
// one configuration header of this layer: every #if about them is here.
//
//   ASan      the bounds of the stack that is switched to, and a place for the fake stack of the
//             one that is left
//   TSan      a handle for each fiber, made at its first run, destroyed after its last switch
//   valgrind  (memcheck) the bounds of every stack, told once
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "fiber/fiber.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MLT_SANITIZE_ADDRESS 1
#elif __has_feature(thread_sanitizer)
#define MLT_SANITIZE_THREAD 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define MLT_SANITIZE_ADDRESS 1
#elif defined(__SANITIZE_THREAD__)
#define MLT_SANITIZE_THREAD 1
#endif

// MLT_SANITIZE_NONE: what runs between telling of a switch and switching must not be instrumented,
// nor be a function of its own, whose entry and exit TSan would count on two different fibers.
#define MLT_SANITIZE_INLINE static inline __attribute__((always_inline)) MLT_SANITIZE_NONE

#if defined(MLT_SANITIZE_ADDRESS)

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

enum { MLT_SANITIZED = 1, MLT_SANITIZED_THREAD = 0 };
#define MLT_SANITIZE_NONE __attribute__((no_sanitize_address))

// A stack that a new fiber gets: frames of the one before may have left poison.
static inline void mlt_sanitize_fresh(char *stack, size_t size)
{
    __asan_unpoison_memory_region(stack, size);
}

MLT_SANITIZE_INLINE void mlt_sanitize_born(mlt_fiber *fiber)
{
    fiber->sanitizer = NULL;
}

// Right before mlt_arch_switch. ends: `from` never runs again. home_stack: the thread's own.
MLT_SANITIZE_INLINE void mlt_sanitize_leave(mlt_fiber *from, mlt_fiber *to, size_t stack_size,
                                            const void *home_stack, size_t home_size, bool ends)
{
    __sanitizer_start_switch_fiber(ends ? NULL : &from->sanitizer,
                                   to->stack ? to->stack : home_stack,
                                   to->stack ? stack_size : home_size);
}

// Right after: `now` runs. Stores the bounds of the stack that was left, if asked.
MLT_SANITIZE_INLINE void mlt_sanitize_enter(mlt_fiber *now, const void **left_stack,
                                            size_t *left_size)
{
    __sanitizer_finish_switch_fiber(now->sanitizer, left_stack, left_size);
}

MLT_SANITIZE_INLINE void mlt_sanitize_home(mlt_fiber *home)
{
    home->sanitizer = NULL;
}

#elif defined(MLT_SANITIZE_THREAD)

#include <sanitizer/tsan_interface.h>

enum { MLT_SANITIZED = 1, MLT_SANITIZED_THREAD = 1 };
#define MLT_SANITIZE_NONE __attribute__((no_sanitize_thread))

static inline void mlt_sanitize_fresh(char *stack, size_t size)
{
    (void)stack, (void)size;
}

MLT_SANITIZE_INLINE void mlt_sanitize_born(mlt_fiber *fiber)
{
    fiber->sanitizer = __tsan_create_fiber(0);
}

MLT_SANITIZE_INLINE void mlt_sanitize_leave(mlt_fiber *from, mlt_fiber *to, size_t stack_size,
                                            const void *home_stack, size_t home_size, bool ends)
{
    (void)stack_size, (void)home_stack, (void)home_size;
    __tsan_switch_to_fiber(to->sanitizer, 0);
    if (ends)
        __tsan_destroy_fiber(from->sanitizer);
}

MLT_SANITIZE_INLINE void mlt_sanitize_enter(mlt_fiber *now, const void **left_stack,
                                            size_t *left_size)
{
    (void)now, (void)left_stack, (void)left_size;
}

MLT_SANITIZE_INLINE void mlt_sanitize_home(mlt_fiber *home)
{
    home->sanitizer = __tsan_get_current_fiber();
}

#else

enum { MLT_SANITIZED = 0, MLT_SANITIZED_THREAD = 0 };
#define MLT_SANITIZE_NONE

static inline void mlt_sanitize_fresh(char *stack, size_t size)
{
    (void)stack, (void)size;
}

MLT_SANITIZE_INLINE void mlt_sanitize_born(mlt_fiber *fiber)
{
    (void)fiber;
}

MLT_SANITIZE_INLINE void mlt_sanitize_leave(mlt_fiber *from, mlt_fiber *to, size_t stack_size,
                                            const void *home_stack, size_t home_size, bool ends)
{
    (void)from, (void)to, (void)stack_size, (void)home_stack, (void)home_size, (void)ends;
}

MLT_SANITIZE_INLINE void mlt_sanitize_enter(mlt_fiber *now, const void **left_stack,
                                            size_t *left_size)
{
    (void)now, (void)left_stack, (void)left_size;
}

MLT_SANITIZE_INLINE void mlt_sanitize_home(mlt_fiber *home)
{
    (void)home;
}

#endif

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#define MLT_HAVE_VALGRIND 1
#endif
#endif

#if defined(MLT_HAVE_VALGRIND)

#include <valgrind/valgrind.h>

// A few instructions that do nothing outside valgrind.
static inline bool mlt_sanitize_valgrind(void)
{
    return RUNNING_ON_VALGRIND != 0;
}

static inline unsigned mlt_sanitize_valgrind_tell(char *low, char *high)
{
    return VALGRIND_STACK_REGISTER(low, high - 1);
}

static inline void mlt_sanitize_valgrind_forget(unsigned stack)
{
    VALGRIND_STACK_DEREGISTER(stack);
}

#else

static inline bool mlt_sanitize_valgrind(void)
{
    return false;
}

static inline unsigned mlt_sanitize_valgrind_tell(char *low, char *high)
{
    (void)low, (void)high;
    return 0;
}

static inline void mlt_sanitize_valgrind_forget(unsigned stack)
{
    (void)stack;
}

#endif
