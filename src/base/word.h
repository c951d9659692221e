// SPDX-License-Identifier: BSD-3-Clause
// Words that people type: how far one is from another, for "did you mean".
#pragma once

#include <stddef.h>

enum { MLT_WORD_LONGEST = 64 };

// How many letters must be inserted, deleted or changed to turn a into b (Levenshtein's distance;
// case does not count). Words longer than MLT_WORD_LONGEST are that far from all others.
size_t mlt_word_distance(const char *a, size_t a_length, const char *b, size_t b_length);

// `other` replaces the nearest word if it is less than *best away from `name`.
void mlt_word_nearer(const char *name, const char *other, const char **nearest, size_t *best);
