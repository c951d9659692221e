// SPDX-License-Identifier: BSD-3-Clause
// SVG, as far as the path map's drawings need it. Text is escaped; lengths are pixels.
#pragma once

#include <stdio.h>

// The file up to its contents; style: more rules for its style sheet, or "".
void mlt_paint_begin(FILE *out, double width, double height, const char *title, const char *style);
void mlt_paint_escaped(FILE *out, const char *text);
void mlt_paint_text(FILE *out, double x, double y, const char *class_name, const char *text);
