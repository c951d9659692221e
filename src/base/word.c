// SPDX-License-Identifier: BSD-3-Clause
#include "base/word.h"

#include <ctype.h>
#include <string.h>

size_t mlt_word_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t line[MLT_WORD_LONGEST + 1];
    if (a_length > MLT_WORD_LONGEST || b_length > MLT_WORD_LONGEST)
        return MLT_WORD_LONGEST;
    for (size_t j = 0; j <= b_length; j++)
        line[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t corner = line[0];
        line[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t above = line[j];
            size_t best =
                corner + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            if (above + 1 < best)
                best = above + 1;
            if (line[j - 1] + 1 < best)
                best = line[j - 1] + 1;
            line[j] = best;
            corner = above;
        }
    }
    return line[b_length];
}

void mlt_word_nearer(const char *name, const char *other, const char **nearest, size_t *best)
{
    size_t distance = mlt_word_distance(name, strlen(name), other, strlen(other));
    if (distance >= *best)
        return;
    *best = distance;
    *nearest = other;
}
