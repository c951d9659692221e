// SPDX-License-Identifier: BSD-3-Clause
// bool mlt_arch_peek(const void *at): reads a byte. If that is a fault whose handler asks
// mlt_arch_peek_failed, the function returns false.

    .text
    .p2align 4
    .globl  mlt_arch_peek
    .hidden mlt_arch_peek
    .type   mlt_arch_peek, @function
mlt_arch_peek:
    .cfi_startproc
    endbr64
    .globl  mlt_arch_peek_load
    .hidden mlt_arch_peek_load
mlt_arch_peek_load:
    movb    (%rdi), %al
    movl    $1, %eax
    ret
    .globl  mlt_arch_peek_refused
    .hidden mlt_arch_peek_refused
mlt_arch_peek_refused:
    xorl    %eax, %eax
    ret
    .cfi_endproc
    .size   mlt_arch_peek, . - mlt_arch_peek

#include "arch/x86_64/note.inc"
