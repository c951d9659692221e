// SPDX-License-Identifier: BSD-3-Clause
// The context switch for aarch64 (AAPCS64). What a call must keep is saved on the running stack:
//
//     old sp  +-----------------+ +160   (a multiple of 16)
//             |    d8 ... d15   |  +96
//             |   x19 ... x28   |  +16
//             |    x30 (lr)     |   +8   where the fiber goes on
//     new sp  |    x29 (fp)     |   +0   with x30 a frame record: a frame-pointer walk starts here
//             +-----------------+        <- stored to *save_sp
//
// Only the low halves of v8-v15 belong to the callee, and no SVE or SME state survives a call, so
// this is all. x18 is the platform's, and Linux leaves it to the compiler as scratch.
//
// fpcr (rounding, flush to zero) belongs to the callee too, but the scheduler sees to it: see
// mlt_arch_fp_mode in arch.h.
//
// The return address is in memory while a fiber is parked. It is not signed (no PAC): a sign and
// an authentication would cost more than the rest, for a stack only this process can write.

        .text
        .p2align 6
        .globl  mlt_arch_switch
        .hidden mlt_arch_switch
        .type   mlt_arch_switch, %function
mlt_arch_switch:                        // x0 = save_sp, x1 = load_sp
        .cfi_startproc
        .cfi_remember_state
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-160]!
        .cfi_def_cfa_offset 160
        .cfi_offset x29, -160
        .cfi_offset x30, -152
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8,  d9,  [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        .cfi_offset x19, -144
        .cfi_offset x20, -136
        .cfi_offset x21, -128
        .cfi_offset x22, -120
        .cfi_offset x23, -112
        .cfi_offset x24, -104
        .cfi_offset x25, -96
        .cfi_offset x26, -88
        .cfi_offset x27, -80
        .cfi_offset x28, -72
        .cfi_offset d8,  -64
        .cfi_offset d9,  -56
        .cfi_offset d10, -48
        .cfi_offset d11, -40
        .cfi_offset d12, -32
        .cfi_offset d13, -24
        .cfi_offset d14, -16
        .cfi_offset d15, -8
        mov     x2, sp
        str     x2, [x0]
        mov     sp, x1                  // from here on the same offsets are the other fiber's
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8,  d9,  [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #160
        .cfi_restore_state
        ret
        .cfi_endproc
        .size   mlt_arch_switch, . - mlt_arch_switch

// First instruction of a fiber: x19 = entry, x20 = its argument, sp = the top of its stack. There
// is no caller: an undefined return address is how unwinders learn that.
        .p2align 4
        .globl  mlt_arch_start
        .hidden mlt_arch_start
        .type   mlt_arch_start, %function
mlt_arch_start:
        .cfi_startproc
        .cfi_undefined x30
        .cfi_undefined x29
        nop                             // unwinders look at the return address less one
        mov     x0, x20
        blr     x19
        brk     #1                      // entry returned: a fault of ours
        .cfi_endproc
        .size   mlt_arch_start, . - mlt_arch_start

#include "arch/aarch64/note.inc"
