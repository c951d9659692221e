// SPDX-License-Identifier: BSD-3-Clause
// void mlt_arch_copy_once(void *to, const void *from, size_t bytes): bytes is a multiple of 64.
// Reads without claiming cache for what is read only once, and asks for it a kilobyte ahead.

    .text
    .p2align 6
    .globl  mlt_arch_copy_once
    .hidden mlt_arch_copy_once
    .type   mlt_arch_copy_once, @function
mlt_arch_copy_once:
    .cfi_startproc
    endbr64
    testq   %rdx, %rdx
    jz      2f
1:  prefetchnta 1024(%rsi)
    movups  (%rsi), %xmm0
    movups  16(%rsi), %xmm1
    movups  32(%rsi), %xmm2
    movups  48(%rsi), %xmm3
    movups  %xmm0, (%rdi)
    movups  %xmm1, 16(%rdi)
    movups  %xmm2, 32(%rdi)
    movups  %xmm3, 48(%rdi)
    addq    $64, %rsi
    addq    $64, %rdi
    subq    $64, %rdx
    jnz     1b
2:  ret
    .cfi_endproc
    .size   mlt_arch_copy_once, . - mlt_arch_copy_once

    .section .note.GNU-stack, "", @progbits
