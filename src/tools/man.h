// SPDX-License-Identifier: BSD-3-Clause
// Pages for man(1), from the tables that --help prints: `millet goal check --help=man` writes the
// page millet-goal-check(1) to standard output. The build writes all pages (cmake/man_pages.py),
// which it finds by following each page's SEE ALSO.
//
// Texts are plain; what stands between `backquotes` is bold.
#pragma once

#include <stdbool.h>

#define MLT_MAN_OPTION "--help=man"

// The heading and the section NAME. names: what the page describes, such as "mpirun, mpiexec";
// its first one is the page's, and blanks in it become dashes.
void mlt_man_begin(const char *names, const char *brief);

void mlt_man_section(const char *title);
void mlt_man_group(const char *title); // a part of a section

// How the program is called; once for each way.
void mlt_man_usage(const char *name, const char *words);

// Paragraphs, separated by empty lines. One that begins with a blank is an example, shown as it is.
void mlt_man_text(const char *text);

// One thing of a list. names: separated by blanks; argument: NULL if there is none.
void mlt_man_item(const char *names, const char *argument, const char *text);

// The section EXIT STATUS, from a text such as "0: all is well; 2: wrong usage".
void mlt_man_codes(const char *codes);

// A page that the section SEE ALSO names; "millet goal" is millet-goal(1). last: nothing follows.
void mlt_man_see(const char *name, bool last);

// The page of mpirun, printed here because mpirun itself does not know the library's settings.
void mlt_man_mpirun(void);
