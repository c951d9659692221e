// SPDX-License-Identifier: BSD-3-Clause
// Fibers that are stopped in the middle of the program's code, by a signal, so that others of their
// worker can run. Only for workers with delegated calls; delegate.h says when and why.
//
// The signal is SIGURG: nothing happens to a program that gets one without reason, debuggers pass it
// on without a word, and hardly any program uses it.
#pragma once

#include "fiber/fiber.h"

// Installs the handler, once for the process. False: the system has no unwinder (libgcc_s), by which the
// handler sees whether the program or Millet was interrupted.
bool mlt_preempt_install(void);

// By any thread: interrupts the worker's thread, unless it is in a system call that would fail, or
// another thread has just done so.
void mlt_preempt(struct mlt_delegates *to);
