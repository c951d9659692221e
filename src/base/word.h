// SPDX-License-Identifier: BSD-3-Clause
// Words that people type: how far one is from another, for "did you mean".
#ifndef MLT_BASE_WORD_H
#define MLT_BASE_WORD_H

#include <stddef.h>

enum { MLT_WORD_LONGEST = 64 };

// How many letters must be put in, left out or changed to make b of a (Levenshtein's distance;
// small and capital letters are the same). Words that are longer than MLT_WORD_LONGEST are that far
// from all others.
size_t mlt_word_distance(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
