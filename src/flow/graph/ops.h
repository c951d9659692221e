// SPDX-License-Identifier: BSD-3-Clause
// The operations that a Reduce knows by name, and what they are for. Pure computation.
//
//     sum  product (also multiply, prod)  max  min
//     and  or  xor                        of truth values: the result is 1 or 0
//     band bor bxor                       bit by bit
//
// They are MPI's (type/reduce.h), with MPI's domains: no `max` of complex numbers, no `sum` of
// _Bool, no `band` of floating point. `char` is the number that it is in C.
#pragma once

#include <millet/flow.h>
#include <stdbool.h>
#include <stddef.h>

#include "type/reduce.h"

// The name of a C type: "unsigned long"; of FLOW_ANY "bytes".
const char *mlt_flow_type_name(flow_type kind);
size_t mlt_flow_type_bytes(flow_type kind); // of a value; of FLOW_ANY 0

bool mlt_flow_op_known(const char *name); // predefined
// All names, for messages: "sum, product, ...".
const char *mlt_flow_op_list(void);
// The predefined name that is nearest to what was written; NULL: none is near.
const char *mlt_flow_op_near(const char *name);

// How to combine values of that type: kernel, and the GOAL operation if there is one. False: there
// is no such name, or it is not for that type; `why` says which: "band works on integers, not on
// double".
bool mlt_flow_op_find(const char *name, flow_type kind, mlt_reduction *out, char *why,
                      size_t why_size);
