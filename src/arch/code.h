// SPDX-License-Identifier: BSD-3-Clause
// How compilers make room on the stack, as it reads in machine code. Each processor's folder has a
// code.h with
//
//   MLT_CODE_MACHINE      its number in ELF files
//   mlt_code_frame_at()   what begins at code[*at], and *at is moved on
#ifndef MLT_ARCH_CODE_H
#define MLT_ARCH_CODE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct mlt_code_frame {
    enum {
        MLT_CODE_OTHER,
        MLT_CODE_FIXED,   // so many bytes in one step
        MLT_CODE_DYNAMIC, // as many as a register says
        MLT_CODE_PROBE,   // a page is touched, as stack-clash protection does
    } kind;
    uint32_t bytes;
} mlt_code_frame;

#if defined(__aarch64__)
#include "arch/aarch64/code.h"
#elif defined(__x86_64__)
#include "arch/x86_64/code.h"
#endif

#endif
