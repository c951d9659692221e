// SPDX-License-Identifier: BSD-3-Clause
// The context switch for x86-64 (System V). What a call must keep is saved on the running stack:
//
//     old sp  +-----------------+ +56    (a multiple of 16)
//             | return address  | +48    pushed by the call: where the fiber goes on
//             |       rbp       | +40    with the above a frame record: a frame-pointer walk starts here
//             |       rbx       | +32
//             |       r12       | +24
//             |       r13       | +16
//             |       r14       |  +8
//             |       r15       |  +0
//     new sp  +-----------------+        <- stored to *save_sp
//
// The control parts of mxcsr and the x87 control word belong to the callee too, but the scheduler
// sees to them: see mlt_arch_fp_mode in arch.h.

        .text
        .p2align 6
        .globl  mlt_arch_switch
        .hidden mlt_arch_switch
        .type   mlt_arch_switch, @function
mlt_arch_switch:                        # rdi = save_sp, rsi = load_sp
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        .cfi_offset rbx, -24
        pushq   %r12
        .cfi_def_cfa_offset 32
        .cfi_offset r12, -32
        pushq   %r13
        .cfi_def_cfa_offset 40
        .cfi_offset r13, -40
        pushq   %r14
        .cfi_def_cfa_offset 48
        .cfi_offset r14, -48
        pushq   %r15
        .cfi_def_cfa_offset 56
        .cfi_offset r15, -56
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp              # from here on the same offsets are the other fiber's
        popq    %r15
        .cfi_def_cfa_offset 48
        .cfi_restore r15
        popq    %r14
        .cfi_def_cfa_offset 40
        .cfi_restore r14
        popq    %r13
        .cfi_def_cfa_offset 32
        .cfi_restore r13
        popq    %r12
        .cfi_def_cfa_offset 24
        .cfi_restore r12
        popq    %rbx
        .cfi_def_cfa_offset 16
        .cfi_restore rbx
        popq    %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore rbp
        ret
        .cfi_endproc
        .size   mlt_arch_switch, . - mlt_arch_switch

# First instruction of a fiber: r12 = entry, r13 = its argument, rsp = the top of its stack (a multiple
# of 16). There is no caller: an undefined return address is how unwinders learn that.
        .p2align 4
        .globl  mlt_arch_start
        .hidden mlt_arch_start
        .type   mlt_arch_start, @function
mlt_arch_start:
        .cfi_startproc
        .cfi_undefined rip
        .cfi_undefined rbp
        nop                             # unwinders look at the return address less one
        movq    %r13, %rdi
        call    *%r12
        ud2                             # entry returned: a fault of ours
        .cfi_endproc
        .size   mlt_arch_start, . - mlt_arch_start

#include "arch/x86_64/note.inc"
