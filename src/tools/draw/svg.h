// SPDX-License-Identifier: BSD-3-Clause
// SVG, as far as the drawings need it. Text is escaped; all lengths are pixels. A drawing has a
// background of its own, so that it can be read in light and dark pages alike.
#pragma once

#include <stdio.h>

#include "goal/program.h"

#define MLT_SVG_INK   "#1f2430" // text and outlines
#define MLT_SVG_FAINT "#6b7280" // notes, axes
#define MLT_SVG_LANE  "#f3f4f6"
#define MLT_SVG_MSG   "#2563a8" // messages
#define MLT_SVG_HOT   "#d9480f" // the critical path

enum { MLT_SVG_FONT = 11 };
#define MLT_SVG_CHAR 6.65 // width of a letter of the fixed-width font at that size

void mlt_svg_begin(FILE *to, double width, double height, const char *title);
void mlt_svg_end(FILE *to);

// <text> with attributes such as `class="b"` (bold; title, note), `text-anchor="middle"`; "" for
// none.
void mlt_svg_text(FILE *to, double x, double y, const char *attributes, const char *text);

// An arrowhead for marker-end="url(#id)", in <defs>.
void mlt_svg_marker(FILE *to, const char *id, int size, const char *orient, const char *colour);

// What a mouse shows for the group that is open.
void mlt_svg_tooltip(FILE *to, const char *text);

void mlt_svg_escaped(FILE *to, const char *text);

// Fill and outline of an action's box, by its kind.
typedef struct mlt_svg_colours {
    const char *name, *fill, *line;
} mlt_svg_colours;
mlt_svg_colours mlt_svg_colours_of(mlt_goal_kind kind);

// A row of small boxes with the kinds' names, from x on; returns the x after it.
double mlt_svg_legend(FILE *to, double x, double y, const bool used[MLT_GOAL_KINDS]);

// Line patterns for legends: a sample line of that class with its name after it.
double mlt_svg_sample(FILE *to, double x, double y, const char *class_name, const char *name);

// Letters that a reader sees: bytes that are no continuation of UTF-8.
size_t mlt_svg_letters(const char *text);
