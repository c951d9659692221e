// SPDX-License-Identifier: BSD-3-Clause
// Characters of UTF-8, for texts of others that a terminal is to show.
#ifndef MLT_BASE_CHARACTER_H
#define MLT_BASE_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>

// The bytes of the character at `at`, which is before `end`; 1 if it is none. *shown: a terminal
// shows it as one column: it controls nothing, turns no direction, and has a width.
size_t mlt_character(const char *at, const char *end, bool *shown);

#endif
