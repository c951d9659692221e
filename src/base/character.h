// SPDX-License-Identifier: BSD-3-Clause
// Characters of UTF-8, for foreign text that is shown on a terminal.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The length in bytes of the character at `at`, which is before `end`; 1 if there is no valid one.
// *shown: it is safe to show and has a width: it controls nothing and turns no direction.
size_t mlt_character(const char *at, const char *end, bool *shown);
