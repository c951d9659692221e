// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/words.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "launch/plan/options.h"
#include "launch/say.h"

void mlt_words_open(mlt_words_file *file, const char *path)
{
    *file = (mlt_words_file){.file = fopen(path, "re"), .path = path};
    if (!file->file)
        mlt_quit(MLT_EXIT_USAGE, "configuration file '%s' cannot be read: %s", path,
                 strerror(errno));
}

void mlt_words_close(mlt_words_file *file)
{
    fclose(file->file);
}

// The next line with its continuations, or NULL. The caller frees it.
static char *whole_line(mlt_words_file *file)
{
    mlt_text whole = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, file->file)) >= 0) {
        file->line++;
        if (n > 0 && line[n - 1] == '\n')
            n--;
        if (n > 0 && line[n - 1] == '\r')
            n--;
        bool more = n > 0 && line[n - 1] == '\\';
        if (more)
            n--;
        mlt_text_put(&whole, line, (size_t)n);
        if (!more)
            break;
    }
    free(line);
    return whole.text;
}

// Copies one word, which starts at `at`, to `to`; returns where it ended, NULL if a quote is not
// closed.
static const char *one_word(const char *at, char *to)
{
    char quote = '\0';
    for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
        if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (quote && *at == quote)
            quote = '\0';
        else if (*at == '\\' && quote != '\'' && at[1])
            *to++ = *++at;
        else
            *to++ = *at;
    }
    *to = '\0';
    return quote ? NULL : at;
}

bool mlt_words_line(mlt_words_file *file)
{
    char *line;
    while ((line = whole_line(file))) {
        mlt_texts words = {NULL, 0};
        for (const char *at = line; *(at += strspn(at, " \t\r\n\v\f")) && *at != '#';) {
            char *word = mlt_xcalloc(strlen(at) + 1, 1);
            at = one_word(at, word);
            if (!at)
                mlt_quit(MLT_EXIT_USAGE, "%s:%u: a quote is not closed", file->path, file->line);
            mlt_texts_add(&words, word);
        }
        free(line);
        file->words = words.items;
        if (words.items)
            return true;
    }
    return false;
}
