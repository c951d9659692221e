// SPDX-License-Identifier: BSD-3-Clause
// At the end of every assembly file: stacks hold no code; and indirect branches may be checked (BTI),
// for all functions have landing pads. The linker marks the library only if all its objects say so.
// Shadow stacks (GCS) are not promised: a return address moves with its stack here, so the library
// must not be marked for them.
#ifdef __ASSEMBLER__
// clang-format off
        .section .note.GNU-stack, "", %progbits

        .section .note.gnu.property, "a"
        .p2align 3
        .word   4, 16, 5                // sizes of name and data, NT_GNU_PROPERTY_TYPE_0
        .asciz  "GNU"
        .word   0xc0000000, 4, 1, 0     // GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI
// clang-format on
#endif
