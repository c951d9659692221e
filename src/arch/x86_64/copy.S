// SPDX-License-Identifier: BSD-3-Clause
// void mlt_arch_copy_once(void *to, const void *from, size_t bytes): bytes is a multiple of 64.
// The processor's own string move: it fetches ahead and writes whole lines without reading them
// first. (Sapphire Rapids, 1 MiB: 12 GB/s; with loads that ask ahead past the caches 3.)

    .text
    .p2align 6
    .globl  mlt_arch_copy_once
    .hidden mlt_arch_copy_once
    .type   mlt_arch_copy_once, @function
mlt_arch_copy_once:
    .cfi_startproc
    endbr64
    movq    %rdx, %rcx
    rep movsb
    ret
    .cfi_endproc
    .size   mlt_arch_copy_once, . - mlt_arch_copy_once

#include "arch/x86_64/note.inc"
