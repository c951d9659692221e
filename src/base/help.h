// SPDX-License-Identifier: BSD-3-Clause
// What programs print for --help.
#pragma once

#include <stdio.h>

// Prints the words of a text and a newline. The cursor is at column `at`; a line that would get too
// long goes on in the next one, at `column`.
void mlt_help_wrap(FILE *to, const char *text, int at, int column);

// Prints an option and its help, which begins at `column`, in the next line if `left` is too long,
// on standard output.
void mlt_help_item(const char *left, const char *help, int column);
