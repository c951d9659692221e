// SPDX-License-Identifier: BSD-3-Clause
// Where a command writes: standard output, or a file that appears whole or not at all. It has no
// name until it is whole, so that whoever ends the command leaves nothing behind; file systems that
// know no files without names have it under another name beside its place.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "tools/args.h"

typedef struct mlt_sink {
    FILE *to;
    const char *name; // as the user said it
    char *path, *draft;
    bool nameless; // the draft gets its name at the end
} mlt_sink;

// path NULL or "-": standard output.
mlt_sink mlt_sink_open(const char *path) MLT_MUST_CHECK;

// The file gets its place. If that or any writing failed, the command fails, and there is no file; so it
// is with every sink that is not closed when the command ends.
void mlt_sink_close(mlt_sink *sink);
