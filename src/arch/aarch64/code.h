// SPDX-License-Identifier: BSD-3-Clause
// Instructions are words. Probes are 64 KiB apart, so a step of that size is none of ours.
#ifndef MLT_ARCH_AARCH64_CODE_H
#define MLT_ARCH_AARCH64_CODE_H

#ifndef MLT_ARCH_CODE_H // a header that is compiled alone
#include "arch/code.h"
#else

enum { MLT_CODE_MACHINE = EM_AARCH64, MLT_CODE_BACK = 6 };

static inline uint32_t mlt_code_word(const uint8_t *code, size_t at)
{
    uint32_t word;
    memcpy(&word, code + at, sizeof word);
    return word;
}

// sub sp, sp, xN: the constant that the words before put there, or 0.
static inline uint32_t mlt_code_constant(const uint8_t *code, size_t at, uint32_t n)
{
    uint32_t high = 0;
    for (size_t back = 4; back <= 4 * MLT_CODE_BACK && back <= at; back += 4) {
        uint32_t word = mlt_code_word(code, at - back);
        if ((word & 0xffe0001f) == (0xf2a00000 | n)) // movk xN, #high, lsl 16
            high = (word >> 5 & 0xffff) << 16;
        else if ((word & 0xffe0001f) == (0xd2a00000 | n)) // mov xN, #high << 16
            return (word >> 5 & 0xffff) << 16;
        else if ((word & 0xffe0001f) == (0xd2800000 | n)) // mov xN, #low
            return high | (word >> 5 & 0xffff);
    }
    return 0;
}

static inline mlt_code_frame mlt_code_frame_at(const uint8_t *code, size_t bytes, size_t *at)
{
    mlt_code_frame frame = {.kind = MLT_CODE_OTHER};
    size_t here = *at;
    *at += 4;
    if (bytes - here < 4)
        return frame;
    uint32_t word = mlt_code_word(code, here);
    if ((word & 0xffc003ff) == 0xd14003ff) { // sub sp, sp, #N, lsl 12
        frame.bytes = (word >> 10 & 0xfff) << 12;
        frame.kind = frame.bytes > 64 * 1024 ? MLT_CODE_FIXED : MLT_CODE_OTHER;
    } else if ((word & 0xffe0ffff) == 0xcb2063ff) { // sub sp, sp, xN
        frame.bytes = mlt_code_constant(code, here, word >> 16 & 31);
        frame.kind = frame.bytes ? MLT_CODE_FIXED : MLT_CODE_DYNAMIC;
    } else if ((word & 0xffc003ff) == 0xf90003ff) { // str xzr, [sp, #N]
        frame.kind = (word >> 10 & 0xfff) == 1024 / 8 ? MLT_CODE_PROBE : MLT_CODE_OTHER;
    }
    return frame;
}

#endif
#endif
