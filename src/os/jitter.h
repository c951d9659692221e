// SPDX-License-Identifier: BSD-3-Clause
// Points of interleaving: where a thread has announced something and has not looked yet, has
// changed a word and has not woken anybody yet, and so on. The everyday build has nothing there.
// The build of preset `jitter` delays the thread by a random time now and then, so that the tests
// meet orders that otherwise need a preemption at just that instruction.
#pragma once

#ifdef MLT_JITTER
void mlt_jitter(void);
#else
static inline void mlt_jitter(void)
{
}
#endif
