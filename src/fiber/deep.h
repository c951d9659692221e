// SPDX-License-Identifier: BSD-3-Clause
// A second stack of a worker whose fibers have very small ones: what the library does rarely, and
// takes more of a stack than a message does, runs there. It is a worker's own, and one thing at a
// time runs on it, from its beginning to its end; it must not suspend.
#pragma once

#include "fiber/fiber.h"

// Gives the worker such a stack if its fibers' are smaller than MLT_STACK_ROOMY; once. Its idle and
// breathe run there from then on.
mlt_status mlt_deep_open(mlt_sched *sched, size_t stack_size) MLT_MUST_CHECK;
void mlt_deep_free(mlt_sched *sched);

// Calls run(arg): there, if the worker has one and a fiber runs; else here. NULL, of sched: here.
void mlt_deep_call(mlt_sched *sched, void (*run)(void *arg), void *arg);

// The worker's idle function for another thread of its, whose own stack it runs on.
void (*mlt_deep_idle(const mlt_sched *sched))(void *);
// From now on it is this one; there too, if there is such a stack.
void mlt_deep_set_idle(mlt_sched *sched, void (*idle)(void *arg));
