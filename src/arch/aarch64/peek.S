// SPDX-License-Identifier: BSD-3-Clause
// bool mlt_arch_peek(const void *at): reads a byte. If that is a fault whose handler asks
// mlt_arch_peek_failed, the function returns false.

    .text
    .p2align 4
    .globl  mlt_arch_peek
    .hidden mlt_arch_peek
    .type   mlt_arch_peek, %function
mlt_arch_peek:
    .cfi_startproc
    hint    #34                         // bti c
    .globl  mlt_arch_peek_load
    .hidden mlt_arch_peek_load
mlt_arch_peek_load:
    ldrb    w1, [x0]
    mov     w0, #1
    ret
    .globl  mlt_arch_peek_refused
    .hidden mlt_arch_peek_refused
mlt_arch_peek_refused:
    mov     w0, #0
    ret
    .cfi_endproc
    .size   mlt_arch_peek, . - mlt_arch_peek

#include "arch/aarch64/note.inc"
