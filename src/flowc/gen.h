// SPDX-License-Identifier: BSD-3-Clause
// Plain C from a file that has passed mlt_flow_check: a header for each module, and the program.
//
// The header NAME.flow.h has `struct NAME` (flow_self flow; struct { FLOW_QUEUE(...) in, out, ...;
// } q; then the data section with a #line of its own) and the prototypes of NAME_init, NAME_run,
// NAME_fini. The program has a flow_module for each module (init and fini weak), a flow_op for each
// operation, a function wire_ROOT for each root, which reads like the root, and main.
#ifndef MLT_FLOWC_GEN_H
#define MLT_FLOWC_GEN_H

#include <stdio.h>

#include "flowc/ast.h"

void mlt_flow_gen_header(const mlt_flow_file *file, const mlt_flow_declaration *module, FILE *to);

// overrides: constants whose values are other ones from now on. hosts: the text of a hostfile that
// becomes part of the program; NULL: none.
struct mlt_flow_override;
void mlt_flow_gen_program(const mlt_flow_file *file, const struct mlt_flow_override *overrides,
                          size_t override_count, const char *hosts, FILE *to);

#endif
