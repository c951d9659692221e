// SPDX-License-Identifier: BSD-3-Clause
// Text that is built piece by piece. All zero is an empty text that grows; one on a buffer of the
// caller's keeps what fits. `text` always ends with a zero byte once something was added.
//
//     mlt_text text = {0};
//     mlt_text_add(&text, "%u ranks", count);
//     ... text.text ...
//     mlt_text_free(&text);
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

typedef struct mlt_text {
    char *text; // NULL: nothing was added
    size_t length, room;
    bool fixed; // on the caller's buffer
    bool cut;   // ... which was too small
} mlt_text;

// A text on a buffer of the caller's, empty. size: at least 1.
mlt_text mlt_text_on(char *buffer, size_t size);

void mlt_text_add(mlt_text *text, const char *format, ...) MLT_PRINTF(2, 3);
void mlt_text_vadd(mlt_text *text, const char *format, va_list args) MLT_PRINTF(2, 0);
void mlt_text_put(mlt_text *text, const void *bytes, size_t count);

// Foreign text in quotes, for JSON that may lie in a page of HTML. What is no UTF-8 becomes '?'.
char *mlt_text_printable(char *text); // in place: what shall not talk to a terminal becomes '?'

// The same of a text of so many bytes that another process has written: it has an end, and zeros behind
// it.
void mlt_text_close(char *text, size_t size);
void mlt_text_json(mlt_text *text, const char *foreign);
void mlt_text_print_json(FILE *to, const char *foreign);

// "", ", " or `last` before item i of `count`: "a, b and c" with " and " as last.
const char *mlt_text_between(size_t i, size_t count, const char *last);

// What was built; "" if nothing was. Valid until the text changes.
static inline const char *mlt_text_so_far(const mlt_text *text)
{
    return text->text ? text->text : "";
}

void mlt_text_free(mlt_text *text); // and it is empty

// In a function that ends in `const char *format, ...`: prints it into the buffer, which keeps what fits.
#define MLT_TEXT_PRINT(buffer, size, format)                                                       \
    do {                                                                                           \
        va_list mlt_args;                                                                          \
        va_start(mlt_args, format);                                                                \
        vsnprintf((buffer), (size), (format), mlt_args);                                           \
        va_end(mlt_args);                                                                          \
    } while (0)

// ... and adds it to a text.
#define MLT_TEXT_ADD(to, format)                                                                   \
    do {                                                                                           \
        va_list mlt_args;                                                                          \
        va_start(mlt_args, format);                                                                \
        mlt_text_vadd((to), (format), mlt_args);                                                   \
        va_end(mlt_args);                                                                          \
    } while (0)

// A text in one call; freed with free().
char *mlt_text_of(const char *format, ...) MLT_PRINTF(1, 2) MLT_MUST_CHECK;
