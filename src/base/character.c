// SPDX-License-Identifier: BSD-3-Clause
#include "base/character.h"

#include <stdint.h>

size_t mlt_character(const char *at, const char *end, bool *shown)
{
    unsigned char c = (unsigned char)*at;
    size_t length = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    *shown = length == 1 && c >= ' ' && c < 0x7f;
    if (length < 2 || (size_t)(end - at) < length)
        return 1;
    uint32_t v = c & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 1;
        v = v << 6 | ((unsigned char)at[i] & 0x3f);
    }
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (v < least[length] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return 1;
    *shown = v >= 0xa0 && v != 0xad && !(v >= 0x300 && v <= 0x36f) &&
             !(v >= 0x200b && v <= 0x200f) && !(v >= 0x2028 && v <= 0x202e) &&
             !(v >= 0x2060 && v <= 0x206f) && v != 0xfeff && !(v >= 0xfff0 && v <= 0xffff);
    return length;
}
