// SPDX-License-Identifier: BSD-3-Clause
// What passed the queues of a flow program. It is told once, when all of it has ended: to mpirun
// (--report), and to the file that setting flow_report names.
//
// The file is text. Its first line is a comment that names the columns; each further line is one
// line of the program as it was placed (flow/lower/lower.h), with tabs between:
//
//     queue  from  elements  bytes  deepest  blocked_ns  starved_ns  place
//
//     queue       where it ends: "p[1].in" (mlt_flow_in_name); of a collective its name, "r1"
//     from        where it begins: "s.out" (mlt_flow_out_name), or "r1"
//     elements    that went through this line, and their bytes
//     deepest     most elements in the queue at once, of all lines that end there
//     blocked_ns  how long its sender waited for room
//     starved_ns  how long the queue's reader waited, for all lines that end there
//     place       the worker where the queue is
//
// Lines whose queue is on the same worker follow each other. A line of zeros is told too.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "flow/lower/lower.h"

#define MLT_FLOW_STATS_HEAD                                                                        \
    "# queue\tfrom\telements\tbytes\tdeepest\tblocked_ns\tstarved_ns\tplace\n"

enum { MLT_FLOW_NAME = 256 };

// The names of both ends of a line, as in that file. Returns `to`.
const char *mlt_flow_line_names(const mlt_flow_lowered *lowered, uint32_t line, char *from,
                                char *to, size_t size);
