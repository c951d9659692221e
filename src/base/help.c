// SPDX-License-Identifier: BSD-3-Clause
#include "base/help.h"

#include <string.h>

enum { WIDTH = 98 };

void mlt_help_wrapped(FILE *to, const char *text, int at, int column)
{
    for (const char *word = text; *word;) {
        int n = (int)strcspn(word, " ");
        if (at > column && at + 1 + n > WIDTH) {
            fprintf(to, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', to);
            at++;
        }
        fprintf(to, "%.*s", n, word);
        at += n;
        word += n + (int)strspn(word + n, " ");
    }
    fputc('\n', to);
}

void mlt_help_item(const char *left, const char *help, int column)
{
    int n = printf("%s", left);
    if (n >= column) {
        putchar('\n');
        n = 0;
    }
    printf("%*s", column - n, "");
    mlt_help_wrapped(stdout, help, column, column);
}
