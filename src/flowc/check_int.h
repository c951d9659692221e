// SPDX-License-Identifier: BSD-3-Clause
// What the files of the check share: check.c (from names to the graph), check_names.c (what names
// alone tell), check_expr.c (numbers and types). Memory is the file's arena.
#ifndef MLT_FLOWC_CHECK_INT_H
#define MLT_FLOWC_CHECK_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"
#include "flowc/ast.h"
#include "flowc/check.h"

// A constant with its value.
typedef struct mlt_check_value {
    struct mlt_check_value *next;
    const char *name;
    long value;
} mlt_check_value;

// A module, declared or only required. Built-in ones are not here.
typedef struct mlt_check_module {
    struct mlt_check_module *next;
    const mlt_flow_declaration *declaration; // NULL: default queues
    flow_module module;
    bool used;
} mlt_check_module;

typedef struct mlt_check_root {
    struct mlt_check_root *next;
    const mlt_flow_root_item *item;
    flow_root root;
    bool used;    // reached from the main one
    bool on_path; // of the roots that are being walked through, to find recursion
} mlt_check_root;

typedef struct mlt_check_op {
    struct mlt_check_op *next;
    flow_op op;
    const mlt_flow_operation *item; // NULL: predefined
    bool used;
} mlt_check_op;

typedef struct mlt_check {
    const mlt_flow_file *file;
    mlt_flow_messages *messages;
    const mlt_flow_override *overrides;
    size_t override_count;
    mlt_check_value *values; // of the file
    mlt_check_module *modules, **last_module;
    mlt_check_root *roots;
    mlt_name_table module_names, root_names;
    mlt_check_op *ops;
    bool failed; // a number could not be computed: messages of the graph are not told
} mlt_check;

#define MLT_CHECK_ERROR(c, line, ...)   mlt_flow_say((c)->messages, line, 0, false, __VA_ARGS__)
#define MLT_CHECK_WARNING(c, line, ...) mlt_flow_say((c)->messages, line, 0, true, __VA_ARGS__)

void *mlt_check_take(const mlt_check *c, size_t bytes); // zeroed, the file's

// Names that a misspelt one could have meant, and the hint that they give.
typedef struct mlt_check_names {
    const char **name;
    size_t count, room;
} mlt_check_names;

void mlt_check_names_add(mlt_check_names *names, const char *name);
typedef struct mlt_check_hint {
    char text[240];
} mlt_check_hint;
// The hint of flow/graph/hint.h. Frees the names.
mlt_check_hint mlt_check_hint_of(mlt_check_names *names, const char *asked);

const flow_module *mlt_check_built_in(const char *name); // NULL: none
mlt_check_module *mlt_check_module_of(const mlt_check *c, const char *name);
mlt_check_root *mlt_check_root_of(const mlt_check *c, const char *name);
mlt_check_op *mlt_check_op_of(const mlt_check *c, const char *name);

// check_expr.c. The value of an expression; constants of `inner` hide those of `outer`. False:
// told.
bool mlt_check_eval(mlt_check *c, const mlt_check_value *inner, const mlt_check_value *outer,
                    const mlt_flow_expr *e, long *value);

// check_names.c. Checks all that names alone tell, and marks in the lists what is used.
void mlt_check_all_names(mlt_check *c, const mlt_flow_root_item *main_root);

#endif
