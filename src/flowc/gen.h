// SPDX-License-Identifier: BSD-3-Clause
// Plain C from a file that has passed mlt_flow_check:
//
//     NAME.flow.h        struct NAME { flow_self flow; struct { FLOW_QUEUE(...) in, out, ...; } q;
//                        the data section, with a #line directive }; prototypes of NAME_init,
//                        NAME_run, NAME_fini
//     operations.flow.h  prototypes of operations: `Declare Operation pool(struct moments);` is
//                        void pool(struct moments *into, const struct moments *with, size_t count);
//     the program        a flow_module for each module that is instantiated (init and fini weak), a
//                        flow_op for each operation, a function wire_ROOT for each root, which
//                        reads like the root; and main
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "flowc/ast.h"
#include "flowc/sema.h"

// The modules of a file: those that are declared, then those that roots require without a
// declaration, which have default queues and no data. The caller frees the array, and keeps the
// file.
mlt_flow_declaration *mlt_flow_gen_modules(const mlt_flow_file *file, size_t *count);

// path: where the header will be, for the compiler's messages about what follows the data section.
void mlt_flow_gen_header(const mlt_flow_file *file, const mlt_flow_declaration *module,
                         const char *path, FILE *to);

// The header of the file's operations. Useful only if there are any.
void mlt_flow_gen_operations(const mlt_flow_file *file, FILE *to);

// overrides: other values of constants. hosts: the text of a hostfile that becomes part of the
// program; NULL: none.
void mlt_flow_gen_program(const mlt_flow_file *file, const mlt_flow_override *overrides,
                          size_t override_count, const char *hosts, FILE *to);
