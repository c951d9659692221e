// SPDX-License-Identifier: BSD-3-Clause
// At the end of every assembly file: stacks hold no code; and indirect branches may be checked (IBT),
// for all functions have landing pads. The linker marks the library only if all its objects say so.
// Shadow stacks (SHSTK) are not promised: a return address moves with its stack here, so the library
// must not be marked for them. The loader then turns them off for the process.
#ifdef __ASSEMBLER__
// clang-format off
        .section .note.GNU-stack, "", @progbits

        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5                # sizes of name and data, NT_GNU_PROPERTY_TYPE_0
        .asciz  "GNU"
        .long   0xc0000002, 4, 1, 0     # GNU_PROPERTY_X86_FEATURE_1_AND: IBT
// clang-format on
#endif
