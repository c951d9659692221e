// SPDX-License-Identifier: BSD-3-Clause
#include "tools/man.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAN_WIDTH = 78 };

static bool at_top; // of a section, where text needs no request to begin a paragraph

static void begin_paragraph(void)
{
    if (!at_top)
        puts(".PP");
    at_top = false;
}

// Where a letter means something to roff, so that it means itself.
static const char *escaped(char c)
{
    switch (c) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    default:
        return NULL;
    }
}

static void man_put(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (escaped(text[i]))
            fputs(escaped(text[i]), stdout);
        else
            putchar(text[i]);
}

// One word of a paragraph; a backquote in it switches between bold and plain.
static void put_word(const char *text, size_t length, bool *bold)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '`') {
            *bold = !*bold;
            fputs(*bold ? "\\fB" : "\\fR", stdout);
        } else
            man_put(text + i, 1);
}

// How many letters put_word writes.
static size_t width_of(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += text[i] == '`' ? 3 : escaped(text[i]) ? strlen(escaped(text[i])) : 1;
    return width;
}

static void put_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        man_put(name[i] == ' ' ? "-" : name + i, 1);
}

static void put_example(const char *text, size_t length)
{
    puts(".EX");
    for (const char *end = text + length; text < end;) {
        size_t n = strcspn(text, "\n");
        n = n < (size_t)(end - text) ? n : (size_t)(end - text);
        man_put(text, n);
        putchar('\n');
        text += n + 1;
    }
    puts(".EE");
}

static void put_paragraph(const char *text, size_t length)
{
    const char *end = text + length;
    size_t column = 0;
    bool bold = false;
    for (text += strspn(text, " \n"); text < end; text += strspn(text, " \n")) {
        size_t n = strcspn(text, " \n");
        n = n < (size_t)(end - text) ? n : (size_t)(end - text);
        size_t width = width_of(text, n);
        if (column && column + 1 + width > MAN_WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column)
            putchar(' ');
        else if (*text == '.') // it would be a request
            fputs("\\&", stdout);
        put_word(text, n, &bold);
        column += width + (column > 0);
        text += n;
    }
    putchar('\n');
}

void mlt_man_begin(const char *names, const char *brief)
{
    size_t first = strcspn(names, ",");
    fputs(".\\\" Written by --help=man.\n.TH ", stdout);
    for (size_t i = 0; i < first; i++) {
        char c = (char)toupper((unsigned char)names[i]);
        put_name(&c, 1);
    }
    printf(" 1 \"%s\" \"Millet %s\" \"Millet\"\n", MLT_DATE, MLT_VERSION);
    puts(".nh\n.ad l\n.SH NAME"); // no hyphens in the names of options
    put_name(names, first);
    man_put(names + first, strlen(names + first));
    fputs(" \\- ", stdout);
    man_put(brief, strlen(brief));
    putchar('\n');
}

void mlt_man_section(const char *title)
{
    printf(".SH %s\n", title);
    at_top = true;
}

void mlt_man_group(const char *title)
{
    fputs(".SS ", stdout);
    man_put(title, strlen(title));
    putchar('\n');
    at_top = true;
}

void mlt_man_usage(const char *name, const char *words)
{
    begin_paragraph();
    fputs("\\fB", stdout);
    man_put(name, strlen(name));
    fputs("\\fR ", stdout);
    man_put(words, strlen(words));
    putchar('\n');
}

void mlt_man_text(const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n"); // an empty line ends a paragraph
        size_t length = end ? (size_t)(end - text) : strlen(text);
        begin_paragraph();
        if (*text == ' ')
            put_example(text, length);
        else
            put_paragraph(text, length);
        text += length + strspn(text + length, "\n");
    }
}

void mlt_man_item(const char *names, const char *argument, const char *text)
{
    puts(".TP");
    for (const char *comma = ""; *names; comma = ", ") {
        size_t n = strcspn(names, " ");
        printf("%s\\fB", comma);
        man_put(names, n);
        fputs("\\fR", stdout);
        names += n + strspn(names + n, " ");
    }
    if (argument) {
        fputs(" \\fI", stdout);
        man_put(argument, strlen(argument));
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_paragraph(text, strlen(text));
    at_top = false;
}

void mlt_man_codes(const char *codes)
{
    mlt_man_section("EXIT STATUS");
    while (*codes) {
        size_t length = strcspn(codes, ";"), name = strcspn(codes, ":");
        fputs(".TP\n\\fB", stdout);
        man_put(codes, name);
        puts("\\fR");
        put_paragraph(codes + name + 1, length - name - 1);
        codes += length + strspn(codes + length, "; ");
    }
}

void mlt_man_see(const char *name, bool last)
{
    fputs(".BR ", stdout);
    put_name(name, strlen(name));
    printf(" (1)%s\n", last ? "" : ",");
}
