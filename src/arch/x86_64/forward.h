// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#define MLT_ARCH_FORWARD(name, choose)                                                             \
    __asm__(".text\n"                                                                              \
            ".p2align 4\n"                                                                         \
            ".globl " #name "\n"                                                                   \
            ".type " #name ", @function\n" #name ":\n"                                             \
            ".cfi_startproc\n"                                                                     \
            "endbr64\n"                                                                            \
            "pushq %rdi\n"                                                                         \
            ".cfi_adjust_cfa_offset 8\n"                                                           \
            "pushq %rsi\n"                                                                         \
            ".cfi_adjust_cfa_offset 8\n"                                                           \
            "pushq %rdx\n"                                                                         \
            ".cfi_adjust_cfa_offset 8\n"                                                           \
            "movq %rdi, %rsi\n"                                                                    \
            "movq 24(%rsp), %rdi\n"                                                                \
            "call " #choose "\n"                                                                   \
            "popq %rdx\n"                                                                          \
            ".cfi_adjust_cfa_offset -8\n"                                                          \
            "popq %rsi\n"                                                                          \
            ".cfi_adjust_cfa_offset -8\n"                                                          \
            "popq %rdi\n"                                                                          \
            ".cfi_adjust_cfa_offset -8\n"                                                          \
            "jmp *%rax\n"                                                                          \
            ".cfi_endproc\n"                                                                       \
            ".size " #name ", . - " #name "\n")
