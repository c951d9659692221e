// SPDX-License-Identifier: BSD-3-Clause
#include "base/help.h"

#include <string.h>

enum { HELP_COLUMNS = 98 };

void mlt_help_wrap(FILE *to, const char *text, int at, int column)
{
    for (const char *word = text; *word;) {
        int n = (int)strcspn(word, " ");
        if (at > column && at + 1 + n > HELP_COLUMNS) {
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
    mlt_help_wrap(stdout, help, column, column);
}
