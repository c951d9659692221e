// SPDX-License-Identifier: BSD-3-Clause
// A graph for terminals, and the names of many instances at once.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "flow/graph/graph.h"

// Constants, instances, wires: those of a statement between the same queues are one line.
void mlt_flow_print(const mlt_flow_graph *graph, FILE *to);

// "c[0..15]", "p[0,2]", "r": instances of one vector by their numbers, as they come; `count` of
// them, at least 1. Returns text.
const char *mlt_flow_range(const mlt_flow_vector *vector, const uint32_t *index, size_t count,
                           char *text, size_t size);

// ".outQueue1", or "" for the default queue and for collectives.
const char *mlt_flow_out_suffix(const mlt_flow_graph *g, const mlt_flow_edge *e, char *text,
                                size_t size);
const char *mlt_flow_in_suffix(const mlt_flow_graph *g, const mlt_flow_edge *e, char *text,
                               size_t size);
