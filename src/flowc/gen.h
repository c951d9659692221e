// SPDX-License-Identifier: BSD-3-Clause
// Plain C from a file that has passed mlt_flow_check: a header for each module, one for the
// operations, and the program.
//
// The header NAME.flow.h has `struct NAME` (flow_self flow; struct { FLOW_QUEUE(...) in, out, ...;
// } q; then the data section with a #line of its own) and the prototypes of NAME_init, NAME_run,
// NAME_fini. The header operations.flow.h has the prototypes of operations: `Declare Operation
// pool(struct moments);` is `void pool(struct moments *into, const struct moments *with, size_t
// count);`. The program has a flow_module for each module that is instantiated (init and fini
// weak), a flow_op for each operation, a function wire_ROOT for each root, which reads like the
// root, and main.
#ifndef MLT_FLOWC_GEN_H
#define MLT_FLOWC_GEN_H

#include <stddef.h>
#include <stdio.h>

#include "flowc/ast.h"
#include "flowc/check.h"

// The modules of a file: those declared, then those that roots require without a declaration, which
// have default queues and no data. Freed with free(); the file stays.
mlt_flow_declaration *mlt_flow_gen_modules(const mlt_flow_file *file, size_t *count);

// path: where the header will be, for messages about what stands behind the data section.
void mlt_flow_gen_header(const mlt_flow_file *file, const mlt_flow_declaration *module,
                         const char *path, FILE *to);

// The header of the file's operations; it is of use only if there are any.
void mlt_flow_gen_operations(const mlt_flow_file *file, FILE *to);

// overrides: constants whose values are other ones from now on. hosts: the text of a hostfile that
// becomes part of the program; NULL: none.
void mlt_flow_gen_program(const mlt_flow_file *file, const mlt_flow_override *overrides,
                          size_t override_count, const char *hosts, FILE *to);

#endif
