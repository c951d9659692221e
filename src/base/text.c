// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/character.h"

mlt_text mlt_text_on(char *buffer, size_t size)
{
    buffer[0] = 0;
    return (mlt_text){.text = buffer, .room = size, .fixed = true};
}

// How many of `count` bytes, and a zero byte, have a place.
static size_t make_room(mlt_text *text, size_t count)
{
    if (!text->fixed) {
        MLT_ARRAY_WANT(text->text, text->length + count + 1, text->room);
        return count;
    }
    size_t left = text->room - text->length - 1;
    text->cut |= count > left;
    return count < left ? count : left;
}

void mlt_text_put(mlt_text *text, const void *bytes, size_t count)
{
    count = make_room(text, count);
    if (count)
        memcpy(text->text + text->length, bytes, count);
    text->length += count;
    text->text[text->length] = 0;
}

void mlt_text_vadd(mlt_text *text, const char *format, va_list args)
{
    size_t left = text->room - text->length;
    va_list again;
    va_copy(again, args);
    int needed = vsnprintf(left ? text->text + text->length : NULL, left, format, args);
    if (needed >= 0) {
        size_t fits = make_room(text, (size_t)needed);
        if ((size_t)needed >= left && fits == (size_t)needed)
            vsnprintf(text->text + text->length, fits + 1, format, again);
        text->length += fits;
    }
    va_end(again);
}

void mlt_text_add(mlt_text *text, const char *format, ...)
{
    MLT_TEXT_ADD(text, format);
}

char *mlt_text_of(const char *format, ...)
{
    mlt_text text = {0};
    MLT_TEXT_ADD(&text, format);
    return text.text;
}

const char *mlt_text_between(size_t i, size_t count, const char *last)
{
    return i == 0 ? "" : i + 1 == count ? last : ", ";
}

void mlt_text_free(mlt_text *text)
{
    if (!text->fixed)
        free(text->text);
    *text = (mlt_text){0};
}

char *mlt_text_printable(char *text)
{
    for (char *c = text; *c; c++)
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    return text;
}

void mlt_text_close(char *text, size_t size)
{
    text[size - 1] = '\0';
    memset(text + strlen(text), 0, size - strlen(text));
    (void)mlt_text_printable(text);
}

void mlt_text_json(mlt_text *text, const char *foreign)
{
    const char *end = foreign + strlen(foreign);
    bool shown;
    mlt_text_put(text, "\"", 1);
    for (size_t bytes; foreign < end; foreign += bytes) {
        bytes = mlt_character(foreign, end, &shown);
        unsigned char c = (unsigned char)*foreign;
        if (bytes == 1 && c >= 0x80)
            mlt_text_put(text, "?", 1);
        else if (bytes == 1 && (c < ' ' || strchr("\"\\<>&\x7f", c)))
            mlt_text_add(text, "\\u%04x", c);
        else
            mlt_text_put(text, foreign, bytes);
    }
    mlt_text_put(text, "\"", 1);
}

void mlt_text_print_json(FILE *to, const char *foreign)
{
    mlt_text text = {0};
    mlt_text_json(&text, foreign);
    fputs(mlt_text_so_far(&text), to);
    mlt_text_free(&text);
}
