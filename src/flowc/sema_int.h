// SPDX-License-Identifier: BSD-3-Clause
// What the files of the check share, each of which calls only those after it: sema.c (from names to
// the graph), sema_names.c (what names alone tell), sema_expr.c (numbers and types), sema_scope.c
// (what a name stands for). Memory is the file's arena.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"
#include "flowc/ast.h"
#include "flowc/sema.h"

// A constant with its value.
typedef struct mlt_sema_value {
    struct mlt_sema_value *next;
    const char *name;
    long value;
} mlt_sema_value;

// A module, declared or only required. Built-in ones are not here.
typedef struct mlt_sema_module {
    struct mlt_sema_module *next;
    const mlt_flow_declaration *declaration; // NULL: default queues
    flow_module module;
    bool used;
} mlt_sema_module;

typedef struct mlt_sema_root {
    struct mlt_sema_root *next;
    const mlt_flow_root_item *item;
    flow_root root;
    bool used;    // reached from the main one
    bool on_path; // of the roots that are being walked through, to find recursion
} mlt_sema_root;

typedef struct mlt_sema_op {
    struct mlt_sema_op *next;
    flow_op op;
    const mlt_flow_operation *item; // NULL: predefined
    bool used;
} mlt_sema_op;

typedef struct mlt_sema {
    const mlt_flow_file *file;
    mlt_flow_messages *messages;
    const mlt_flow_override *overrides;
    size_t override_count;
    mlt_sema_value *values; // of the file
    mlt_sema_module *modules, **last_module;
    mlt_sema_root *roots;
    mlt_name_table module_names, root_names;
    mlt_sema_op *ops;
    bool failed; // a number could not be computed: messages of the graph are not told
} mlt_sema;

#define MLT_SEMA_ERROR(c, line, ...)                                                               \
    mlt_flow_say((c)->messages, line, 0, MLT_FLOW_ERROR, __VA_ARGS__)
#define MLT_SEMA_WARNING(c, line, ...)                                                             \
    mlt_flow_say((c)->messages, line, 0, MLT_FLOW_WARNING, __VA_ARGS__)

// ---- sema_scope.c

void *mlt_sema_take(const mlt_sema *c, size_t bytes); // zeroed, the file's

// Names that a misspelt one could have meant, and the hint that they give.
typedef struct mlt_sema_names {
    const char **name;
    size_t count, room;
} mlt_sema_names;

void mlt_sema_names_add(mlt_sema_names *names, const char *name);
typedef struct mlt_sema_hint {
    char text[240];
} mlt_sema_hint;
// The hint of flow/graph/hint.h. Frees the names.
mlt_sema_hint mlt_sema_hint_of(mlt_sema_names *names, const char *asked);

enum { MLT_SEMA_BUILT_IN = 9 };
extern const flow_module *const mlt_sema_built_ins[MLT_SEMA_BUILT_IN];
mlt_sema_module *mlt_sema_module_of(const mlt_sema *c, const char *name);
mlt_sema_root *mlt_sema_root_of(const mlt_sema *c, const char *name);
mlt_sema_op *mlt_sema_op_of(const mlt_sema *c, const char *name);

// ---- sema_expr.c

// The value of an expression; constants of `inner` hide those of `outer`. False:
// told.
bool mlt_sema_eval(mlt_sema *c, const mlt_sema_value *inner, const mlt_sema_value *outer,
                   const mlt_flow_expr *e, long *value);

// ---- sema_names.c

// Checks all that names alone tell, and marks in the lists what is used.
void mlt_sema_all_names(mlt_sema *c, const mlt_flow_root_item *main_root);
