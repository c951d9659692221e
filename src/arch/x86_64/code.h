// SPDX-License-Identifier: BSD-3-Clause
// Instructions begin anywhere, so bytes inside another one may look like these; by chance that is
// one in 2^24.
#ifndef MLT_ARCH_X86_64_CODE_H
#define MLT_ARCH_X86_64_CODE_H

#ifndef MLT_ARCH_CODE_H // a header that is compiled alone
#include "arch/code.h"
#else

enum { MLT_CODE_MACHINE = EM_X86_64, MLT_CODE_LARGEST = 1 << 30 };

static inline mlt_code_frame mlt_code_frame_at(const uint8_t *code, size_t bytes, size_t *at)
{
    const uint8_t *p = code + (*at)++;
    mlt_code_frame frame = {.kind = MLT_CODE_OTHER};
    if ((p[0] & 0xfa) != 0x48 || code + bytes - p < 8) // REX.W, for registers to r15
        return frame;
    if (p[0] == 0x48 && p[1] == 0x81 && (p[2] == 0xec || p[2] == 0xc4)) { // sub N, or add -N
        memcpy(&frame.bytes, p + 3, sizeof frame.bytes);
        frame.bytes = p[2] == 0xec ? frame.bytes : 0u - frame.bytes;
        frame.kind = frame.bytes < MLT_CODE_LARGEST ? MLT_CODE_FIXED : MLT_CODE_OTHER;
    } else if ((p[1] == 0x29 && (p[2] & 0xc7) == 0xc4 && !(p[0] & 1)) || // sub %reg, %rsp
               (p[1] == 0x2b && (p[2] & 0xf8) == 0xe0 && !(p[0] & 4))) {
        frame.kind = MLT_CODE_DYNAMIC;
    } else if ((p[0] == 0x48 && p[1] == 0x83 && (p[3] & 7) == 4 && // orq $0, N(%rsp, %reg)
                ((p[2] == 0x0c && !p[4]) || (p[2] == 0x4c && !p[5]) || p[2] == 0x8c)) ||
               memcmp(p, "\x48\xc7\x04\x24\0\0\0\0", 8) == 0) { // movq $0, (%rsp): clang's
        frame.kind = MLT_CODE_PROBE;
    }
    return frame;
}

#endif
#endif
