// SPDX-License-Identifier: BSD-3-Clause
// `millet goal opt --machine`: a program made faster for a described machine.
#pragma once

#include "tools/args.h"
#include "tools/goal/source.h"

enum { MLT_IMPROVE_ARGS = 5 };
extern mlt_arg mlt_improve_args[MLT_IMPROVE_ARGS];

// An option that was given and has no meaning without --machine; NULL: none was.
const char *mlt_improve_given(void);

// Searches, proves what was found, writes the map that --map asks for, and leaves the better program in
// the source. only: lists of names such as "order,tree"; none: all that can be done.
void mlt_improve(mlt_source *source, const mlt_arg_texts *only, bool quiet);
