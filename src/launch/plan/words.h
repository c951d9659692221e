// SPDX-License-Identifier: BSD-3-Clause
// A file of command lines: words as a shell would split them (quotes, backslashes), '#' at the
// start of a word begins a comment, a backslash at the end continues the line.
#pragma once

#include <stdbool.h>
#include <stdio.h>

typedef struct mlt_words_file {
    FILE *file;
    const char *path;
    unsigned line;
    char **words; // of the current line, NULL at the end; they stay valid until the program ends
} mlt_words_file;

// Each ends mpirun with a message that names file and line if something is wrong.
void mlt_words_open(mlt_words_file *file, const char *path);
bool mlt_words_line(mlt_words_file *file); // false: no more lines with words
void mlt_words_close(mlt_words_file *file);
