// SPDX-License-Identifier: BSD-3-Clause
// Looks through a program's instructions for frames that are made without touching them page by
// page, as -fstack-clash-protection does it: such a frame can reach over the guard below a stack.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct mlt_frames {
    uint64_t largest; // bytes of the largest frame of fixed size that is made in one step
    bool dynamic;     // arrays of any size are made (alloca, VLA), and nothing is ever touched
} mlt_frames;

// Of an ELF file's code for this processor, of which the first 64 MiB count; nothing if it is no
// program. It is a guess: data among the code may look like an instruction.
mlt_frames mlt_frames_read(int fd);
