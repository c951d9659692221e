// SPDX-License-Identifier: BSD-3-Clause
// Parameters of instances: `LineServer s(port = 7000, host = "*");`. Only the network modules have
// some, in one table here, so that the check of a file and the modules agree on names, kinds,
// limits and on what holds if nothing is written. A vector has a value for each from the beginning.
#pragma once

#include <millet/flow.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct mlt_flow_parameter_decl {
    const char *name;
    const char *text;         // its value if none is written; NULL: it is a number
    const char *const *words; // a text that is one of these, up to NULL; NULL: any text
    long usual, least, most;  // of a number
    bool required;
} mlt_flow_parameter_decl;

typedef struct mlt_flow_parameter {
    const mlt_flow_parameter_decl *decl;
    long number;
    const char *text; // NULL: a number
    bool written;
} mlt_flow_parameter;

// The parameters of a module, and how many; 0: it has none.
size_t mlt_flow_parameters_of(const flow_module *module, const mlt_flow_parameter_decl **decls);
