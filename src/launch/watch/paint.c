// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/paint.h"

void mlt_paint_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void mlt_paint_text(FILE *out, double x, double y, const char *class_name, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class_name);
    mlt_paint_escaped(out, text);
    fputs("</text>\n", out);
}

void mlt_paint_begin(FILE *out, double width, double height, const char *title, const char *style)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\">\n<title>",
            width, height, width, height);
    mlt_paint_escaped(out, title);
    fprintf(out,
            "</title>\n<style>text{font:11px 'DejaVu Sans Mono',Menlo,Consolas,monospace;"
            "fill:#1f2430}.b{font-weight:bold;font-size:13px}.note{fill:#6b7280}"
            ".w{fill:#eef2ff;stroke:#6366a8}.c{fill:#e6f4ea;stroke:#3d7a52}"
            ".s{fill:#e0ecf8;stroke:#2563a8}.a{fill:#ffffff;stroke:#9ca3af}"
            ".r{fill:#1f2430}.bar{fill:#d9480f}%s</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            style);
}
