// SPDX-License-Identifier: BSD-3-Clause
// What the writers of C share: gen.c (headers, modules, operations, main) and gen_wire.c (roots).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/table.h"
#include "flowc/ast.h"
#include "flowc/sema.h"

typedef struct mlt_gen {
    FILE *to;
    int line; // the one that is being written, from 1
    const mlt_flow_file *file;
    const mlt_flow_root_item *main;
    const mlt_flow_override *overrides;
    size_t override_count;
    mlt_flow_declaration *modules;
    size_t module_count;
    bool *used; // [module_count]: instantiated in a root that is reached
    const mlt_flow_root_item **roots;
    size_t root_count; // those reached from the main one, inner ones first
    // Of the root that is being written: names in wires and places, and names of instances.
    mlt_name_table said, instances;
} mlt_gen;

// Writes text and counts its lines.
void mlt_gen_put(mlt_gen *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A name of the file as a variable of C: with an underscore if C or the program has it already.
typedef struct mlt_gen_text {
    char text[128];
} mlt_gen_text;
mlt_gen_text mlt_gen_name(const char *name);

// An expression as it was written, and as C in a function that has `w`. The file keeps the text.
const char *mlt_gen_written(mlt_gen *g, const mlt_flow_expr *e);
const char *mlt_gen_c(mlt_gen *g, const mlt_flow_expr *e);
bool mlt_gen_is_number(const mlt_flow_expr *e); // no constant in it; NULL is none either

const mlt_flow_root_item *mlt_gen_root(const mlt_flow_file *file, const char *name);

// If the file includes headers: undefines macros that have the names of variables.
void mlt_gen_undefine(mlt_gen *g);

// The function wire_ROOT.
void mlt_gen_wire(mlt_gen *g, const mlt_flow_root_item *root);
