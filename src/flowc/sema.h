// SPDX-License-Identifier: BSD-3-Clause
// From a file to a graph: looks names up, computes constants, and says the same to
// flow/graph/graph.h that the generated program will say. What only names can tell (unknown, twice,
// not required, wrong kind) is checked here; what numbers tell (slices, arity, types, unconnected
// queues) is checked by the graph, so that a program whose constants are changed on the command
// line checks it again.
#pragma once

#include "flow/graph/graph.h"
#include "flowc/ast.h"

// -D NAME=value, of the command line.
typedef mlt_flow_given mlt_flow_override;

// The one that counts: the last of this name. NULL: there is none.
const mlt_flow_override *mlt_flow_override_of(const mlt_flow_override *list, size_t count,
                                              const char *name);

// The graph, or NULL if there were errors. It refers to the file, which the caller keeps. The main
// root is the one called Main, or the only one that no other root instantiates.
mlt_flow_graph *mlt_flow_check(const mlt_flow_file *file, const mlt_flow_override *overrides,
                               size_t override_count, mlt_flow_messages *messages);

// The main root; NULL if there is none or several (told).
const mlt_flow_root_item *mlt_flow_main_root(const mlt_flow_file *file,
                                             mlt_flow_messages *messages);

// Reduce, Broadcast, Deal or Collect; NULL: none of them.
const flow_module *mlt_flow_built_in(const char *name);

// The number of a type as the reader names it: "unsigned long". FLOW_ANY: NULL, or a name that only
// the C compiler knows.
flow_type mlt_flow_type_named(const char *text);
