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

// path NULL or "-": standard output. On failure a message on standard error and the exit code,
// else MLT_ARGS_GO.
int mlt_sink_open(mlt_sink *sink, const mlt_arg_command *command, const char *path) MLT_MUST_CHECK;

// keep: the file gets its place; else it goes. If that or any writing failed: a message and the
// exit code, and no file. Otherwise MLT_EXIT_FINE.
int mlt_sink_close(mlt_sink *sink, const mlt_arg_command *command, bool keep) MLT_MUST_CHECK;
