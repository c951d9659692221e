// SPDX-License-Identifier: BSD-3-Clause
// The last words of a process: SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are told to a callback
// with the rank that ran and whether it overflowed its stack, then take their default course, so
// that the exit status and the core file are what they would have been.
//
// The handler runs on an alternate stack of its thread: a fiber that overflowed has none left.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "fiber/fiber.h"

enum { MLT_FAULT_TRIES = 5 };

typedef struct mlt_fault {
    int signal;
    // So many calls have failed to describe it, by a fault of their own. If not 0, `user`, `fiber` and
    // what is known of its stack are not set: they cannot be trusted.
    unsigned failures;
    bool sent;           // by kill, raise or abort, not by an instruction: address means nothing
    bool overflow;       // the stack of `fiber` is too small
    const void *address; // that was touched, or of the instruction (SIGILL, SIGFPE)
    const void *pc;      // of the instruction that faulted; NULL if unknown
    const void *sp;      // of its stack; NULL if unknown
    void *user; // of the fiber that ran (or that overflowed, if overflow); NULL: no worker's thread
    mlt_fiber *fiber;  // that fiber; NULL: no worker's thread
    size_t stack_size; // usable bytes of its stack; 0 for the thread's own stack
} mlt_fault;

// Call it once a process, before workers start. `describe` must be async-signal-safe (write(2), no
// malloc, no printf). It is called once, and again if it faults itself, MLT_FAULT_TRIES times at most:
// whatever broke the program may have broken what it reads. A signal that the program handles or
// ignores is left to the program. Does nothing in a build with a sanitizer, which has its own report.
void mlt_fault_install(void (*describe)(const mlt_fault *fault));

// Whether SIGSEGV comes to that handler now, so that mlt_arch_peek may be called on any address.
bool mlt_fault_catches(void);

// Gives the calling thread its alternate stack, unless it has one; fini takes that away again.
mlt_status mlt_fault_thread_init(void) MLT_MUST_CHECK;
void mlt_fault_thread_fini(void);

// Puts the live parts of all fibers' stacks into core files to come (of some thousand fibers if
// there are more, and of those that run in any case). The handler does it before it lets the
// process die; `millet gcore` calls it from gdb. Safe in a signal handler.
void mlt_fault_expose_stacks(void);

// The scheduler found that the fiber wrote below its stack: describes it and dies by SIGSEGV.
_Noreturn void mlt_fault_overflow(mlt_sched *sched, mlt_fiber *fiber) MLT_COLD;
