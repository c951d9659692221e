// SPDX-License-Identifier: BSD-3-Clause
// What the commands of `millet flow` begin with: a file, read and checked, constants, a hostfile. All of it
// stays until the process ends.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "flow/graph/graph.h"
#include "flowc/ast.h"
#include "flowc/sema.h"
#include "tools/args.h"

typedef struct mlt_flow_input {
    mlt_flow_file *file;
    mlt_flow_graph *graph;
    mlt_flow_override *overrides;
    size_t override_count;
} mlt_flow_input;

// -D NAME=N, or -DNAME=N.
extern mlt_arg_texts mlt_flow_defines;
#define MLT_FLOW_DEFINE_ARG                                                                        \
    {                                                                                              \
        "define", 'D', MLT_ARG_TEXTS, &mlt_flow_defines, "NAME=N",                                 \
            .help = "give a constant another value", .glued = true                                 \
    }

// Reads and checks; what there is to say goes to standard error, "FILE:LINE:COLUMN: error: ...". Errors
// end the command.
mlt_flow_input mlt_flow_input_read(const char *path);

// "app" of "dir/app.flow"; the folder "dir", or ".".
char *mlt_flow_stem(const char *path);
char *mlt_flow_folder(const char *path);
