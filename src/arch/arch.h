// SPDX-License-Identifier: BSD-3-Clause
// What the engine needs of the processor. Each folder here holds the same files: cpu.h (inline
// parts), code.h, switch.S, copy.S, peek.S and note.inc, with which assembly files end. A new processor is a
// new folder and one line below and in code.h.
//
// Every cpu.h offers:
//
//   MLT_ARCH_FRAME_BYTES  what mlt_arch_switch pushes
//   mlt_arch_pause()      in a loop that waits for another core's write
//   mlt_arch_cycles()     a counter that only goes up; its rate is the machine's affair
//   mlt_arch_order()      loads and stores before it come before stores after it, loads before it
//                         before loads after it; and relaxed atomic changes before it, before all
//                         after it
//   mlt_arch_load_8()     one byte, a relaxed load
//   mlt_arch_store_call() what mlt_recorder_call holds, each a relaxed store (boot/recorder.h)
//   mlt_arch_fp_mode()    rounding, denormals, exceptions: control bits that a call keeps. Storing
//                         them at each switch would cost more than looking whether they are the
//                         usual ones, so mlt_arch_switch leaves them alone;
//                         mlt_arch_fp_mode_set() writes them
//   mlt_arch_fiber_init() the first frame of a fiber
//   mlt_arch_parked()     where a suspended fiber will go on, for reports
//   MLT_ARCH_READS_PEERS  1: one copy of a large message by the kernel is faster than two through
//                         memory that both processes map
//   mlt_arch_quad         the C type of an IEEE binary128
//   mlt_arch_signal_pc()  where a signal handler's ucontext_t stopped; mlt_arch_signal_sp(): on
//                         which stack; mlt_arch_signal_call(): the number of the system call that
//                         it has interrupted, else -1. `again`: it will be made once more, with these
//                         first arguments
//   mlt_arch_peek_failed() in a signal handler: the fault was mlt_arch_peek's, which returns false
//                         when the handler returns
//   MLT_ARCH_HANDLER      an attribute of signal handlers that do much
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Saves what the calling convention keeps across a call on the running stack, stores the stack
// pointer to *save_sp, and goes on at load_sp: another call of mlt_arch_switch, or a first frame
// of mlt_arch_fiber_init. Returns when somebody switches back.
void mlt_arch_switch(void **save_sp, void *load_sp);

// Where a first frame begins: calls entry(arg), which must never return. Called by nobody; gdb and
// the unwinder stop here.
void mlt_arch_start(void);

// Reads a byte: whether that works, where faults are caught (mlt_arch_peek_failed). The other two
// are addresses inside it.
bool mlt_arch_peek(const void *at);
void mlt_arch_peek_load(void);
void mlt_arch_peek_refused(void);

#if defined(__aarch64__)
#include "arch/aarch64/cpu.h"
#elif defined(__x86_64__)
#include "arch/x86_64/cpu.h"
#else
#error "Millet has no context switch for this processor: add a folder to src/arch"
#endif

// Copies what is read once and not soon again, such as a large message on its way out. bytes: a
// multiple of 64.
void mlt_arch_copy_once(void *to, const void *from, size_t bytes);
