// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#define MLT_ARCH_FORWARD(name, choose)                                                             \
    __asm__(".text\n"                                                                              \
            ".p2align 4\n"                                                                         \
            ".globl " #name "\n"                                                                   \
            ".type " #name ", %function\n" #name ":\n"                                             \
            ".cfi_startproc\n"                                                                     \
            "hint #34\n" /* bti c */                                                               \
            "stp x29, x30, [sp, #-48]!\n"                                                          \
            ".cfi_def_cfa_offset 48\n"                                                             \
            ".cfi_offset x29, -48\n"                                                               \
            ".cfi_offset x30, -40\n"                                                               \
            "mov x29, sp\n"                                                                        \
            "stp x0, x1, [sp, #16]\n"                                                              \
            "str x2, [sp, #32]\n"                                                                  \
            "mov x1, x0\n"                                                                         \
            "mov x0, x30\n"                                                                        \
            "bl " #choose "\n"                                                                     \
            "mov x16, x0\n"                                                                        \
            "ldr x2, [sp, #32]\n"                                                                  \
            "ldp x0, x1, [sp, #16]\n"                                                              \
            "ldp x29, x30, [sp], #48\n"                                                            \
            ".cfi_restore x29\n"                                                                   \
            ".cfi_restore x30\n"                                                                   \
            ".cfi_def_cfa_offset 0\n"                                                              \
            "br x16\n"                                                                             \
            ".cfi_endproc\n"                                                                       \
            ".size " #name ", . - " #name "\n")
