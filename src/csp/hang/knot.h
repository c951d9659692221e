// SPDX-License-Identifier: BSD-3-Clause
// A short cycle in a directed graph, for reports of who waits for whom. Linear in nodes and edges,
// but for a bounded search for shorter cycles than the first one found.
#ifndef MLT_CSP_HANG_KNOT_H
#define MLT_CSP_HANG_KNOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mlt_knot {
    uint32_t nodes;
    const uint32_t *first; // [nodes + 1]: the edges of node i are to[first[i]] .. to[first[i+1]-1]
    const uint32_t *to;
    const bool *out; // [nodes]: not in the graph; NULL: all are
} mlt_knot;

// The nodes of a cycle, from its lowest one on, which the caller frees; *length 0 and NULL: there
// is none, or no memory for the search.
uint32_t *mlt_knot_find(const mlt_knot *knot, uint32_t *length) MLT_MUST_CHECK;

#endif
