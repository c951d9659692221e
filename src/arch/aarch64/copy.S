// SPDX-License-Identifier: BSD-3-Clause
// void mlt_arch_copy_once(void *to, const void *from, size_t bytes): bytes is a multiple of 64.
// Reads without claiming cache for what is read only once, and asks for it a kilobyte ahead.

    .text
    .p2align 6
    .globl  mlt_arch_copy_once
    .hidden mlt_arch_copy_once
    .type   mlt_arch_copy_once, %function
mlt_arch_copy_once:
    .cfi_startproc
    hint    #34                         // bti c
    cbz     x2, 2f
1:  prfm    pldl1strm, [x1, #1024]
    ldnp    q0, q1, [x1]
    ldnp    q2, q3, [x1, #32]
    add     x1, x1, #64
    subs    x2, x2, #64
    stp     q0, q1, [x0]
    stp     q2, q3, [x0, #32]
    add     x0, x0, #64
    b.ne    1b
2:  ret
    .cfi_endproc
    .size   mlt_arch_copy_once, . - mlt_arch_copy_once

#include "arch/aarch64/note.inc"
