// SPDX-License-Identifier: BSD-3-Clause
// What the commands of `millet flow` begin with: a file, read and checked, constants, a hostfile.
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
    size_t warnings;
} mlt_flow_input;

// Reads and checks; what there is to say goes to standard error, "FILE:LINE:COLUMN: error: ...".
// MLT_ARGS_GO, or the exit code; in any case mlt_flow_input_free. defines: "N=32".
int mlt_flow_input_read(const mlt_arg_command *command, const char *path,
                        const mlt_arg_texts *defines, mlt_flow_input *out) MLT_MUST_CHECK;
void mlt_flow_input_free(mlt_flow_input *input);

// The command line with `-DN=32` as `-D N=32` and `-nfg` as `--nfg`, which the reader of options
// knows. Freed with free().
char **mlt_flow_argv(int *argc, char **argv);

// The text of a file, with a 0 after it, freed with free(); path NULL: text NULL. MLT_ARGS_GO, or
// a message and the exit code.
int mlt_flow_input_text(const mlt_arg_command *command, const char *path,
                        char **text) MLT_MUST_CHECK;

// "app" of "dir/app.flow"; the folder "dir", or ".". Freed with free().
char *mlt_flow_stem(const char *path);
char *mlt_flow_folder(const char *path);
