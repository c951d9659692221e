// SPDX-License-Identifier: BSD-3-Clause
#include "tools/draw/svg.h"

#include <stdbool.h>
#include <string.h>

static const char style[] =
    "text{font:11px 'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace;fill:" MLT_SVG_INK
    "}\n"
    ".title{font-size:15px;font-weight:bold}.b{font-weight:bold}.note{fill:" MLT_SVG_FAINT "}\n"
    ".dep,.start{fill:none;stroke:#4b5563;stroke-width:1.3}.start{stroke-dasharray:5 3}\n"
    ".msg{fill:none;stroke:" MLT_SVG_MSG ";stroke-width:1.3}\n"
    ".wait{fill:none;stroke:#9ca3af;stroke-width:2.5}\n"
    ".hot{fill:none;stroke:" MLT_SVG_HOT ";stroke-width:2.6}\n";

void mlt_svg_marker(FILE *to, const char *id, int size, const char *orient, const char *colour)
{
    fprintf(to,
            "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"%d\" "
            "markerHeight=\"%d\" markerUnits=\"userSpaceOnUse\" orient=\"%s\">"
            "<path d=\"M0 0.8L10 5L0 9.2z\" fill=\"%s\"/></marker>\n",
            id, size, size, orient, colour);
}

void mlt_svg_begin(FILE *to, double width, double height, const char *title)
{
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\">\n<title>",
            width, height, width, height);
    mlt_svg_escaped(to, title);
    fprintf(to, "</title>\n<style>%s</style>\n<defs>\n", style);
    mlt_svg_marker(to, "dep", 7, "auto", "#4b5563");
    mlt_svg_marker(to, "msg", 7, "auto", MLT_SVG_MSG);
    mlt_svg_marker(to, "hot", 7, "auto", MLT_SVG_HOT);
    fprintf(to, "</defs>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
}

void mlt_svg_end(FILE *to)
{
    fprintf(to, "</svg>\n");
}

// How many bytes the letter at text has, if they are UTF-8 as XML takes it; else 0.
static int utf8(const char *text)
{
    unsigned char c = (unsigned char)*text;
    int more = c < 0x80                ? 0
               : c >= 0xc2 && c < 0xe0 ? 1
               : c >= 0xe0 && c < 0xf0 ? 2
               : c >= 0xf0 && c < 0xf4 ? 3
                                       : -1;
    for (int i = 1; i <= more; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    unsigned char second = more > 0 ? (unsigned char)text[1] : 0;
    // Overlong forms, surrogates, and the two that are no characters.
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
        (c == 0xf0 && second < 0x90) ||
        (c == 0xef && second == 0xbf && (unsigned char)text[2] > 0xbd))
        return 0;
    return more + 1;
}

// What XML does not allow becomes question marks.
void mlt_svg_escaped(FILE *to, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        int bytes = utf8(text);
        if (bytes > 1) {
            fwrite(text, 1, (size_t)bytes, to);
            text += bytes - 1;
            continue;
        }
        if (c == '&')
            fputs("&amp;", to);
        else if (c == '<')
            fputs("&lt;", to);
        else if (c == '>')
            fputs("&gt;", to);
        else if (c == '"')
            fputs("&quot;", to);
        else
            fputc(!bytes || (c < 0x20 && c != '\n' && c != '\t') ? '?' : c, to);
    }
}

void mlt_svg_text(FILE *to, double x, double y, const char *attributes, const char *text)
{
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *attributes ? " " : "", attributes);
    mlt_svg_escaped(to, text);
    fprintf(to, "</text>\n");
}

void mlt_svg_tooltip(FILE *to, const char *text)
{
    fprintf(to, "<title>");
    mlt_svg_escaped(to, text);
    fprintf(to, "</title>\n");
}

mlt_svg_colours mlt_svg_colours_of(mlt_goal_kind kind)
{
    switch (kind) {
    case MLT_GOAL_SEND:
        return (mlt_svg_colours){"send", "#cfe3fa", "#2563a8"};
    case MLT_GOAL_RECV:
        return (mlt_svg_colours){"recv", "#d3f0d6", "#2b7a3b"};
    case MLT_GOAL_EXEC:
    case MLT_GOAL_USER:
        return (mlt_svg_colours){"exec", "#fde6c4", "#a8620a"};
    case MLT_GOAL_CALC:
        return (mlt_svg_colours){"calc", "#ece3f8", "#6d3fb0"};
    case MLT_GOAL_RECV_EXEC:
    case MLT_GOAL_RECV_USER:
        return (mlt_svg_colours){"recv then exec", "#e3eec2", "#637010"};
    default:
        return (mlt_svg_colours){"nop", "#ffffff", "#6b7280"};
    }
}

double mlt_svg_legend(FILE *to, double x, double y, const bool used[MLT_GOAL_KINDS])
{
    const char *last = "";
    static const mlt_goal_kind order[] = {MLT_GOAL_SEND, MLT_GOAL_RECV,      MLT_GOAL_EXEC,
                                          MLT_GOAL_USER, MLT_GOAL_RECV_EXEC, MLT_GOAL_RECV_USER,
                                          MLT_GOAL_CALC, MLT_GOAL_NOP};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        mlt_svg_colours c = mlt_svg_colours_of(order[i]);
        if (!used[order[i]] || strcmp(c.name, last) == 0)
            continue;
        last = c.name;
        fprintf(to,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\" "
                "stroke=\"%s\"/>\n",
                x, y - 10, c.fill, c.line);
        mlt_svg_text(to, x + 18, y, "", c.name);
        x += 18 + (double)strlen(c.name) * MLT_SVG_CHAR + 20;
    }
    return x;
}

double mlt_svg_sample(FILE *to, double x, double y, const char *class_name, const char *name)
{
    fprintf(to, "<path class=\"%s\" d=\"M%.1f %.1fh26\"/>\n", class_name, x, y - 4);
    mlt_svg_text(to, x + 32, y, "", name);
    return x + 32 + (double)mlt_svg_letters(name) * MLT_SVG_CHAR + 20;
}

size_t mlt_svg_letters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
