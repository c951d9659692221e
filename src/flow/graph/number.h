// SPDX-License-Identifier: BSD-3-Clause
// Numbers of command lines, `-D N=32`: those of the language, with a sign.
#ifndef MLT_FLOW_GRAPH_NUMBER_H
#define MLT_FLOW_GRAPH_NUMBER_H

#include <stdbool.h>

// "32", "-1", "0x20" and nothing else around it. False: it is no such number (also "010", which C
// would read as 8), or none of C's long.
bool mlt_flow_number(const char *text, long *value);

#endif
