// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph_int.h"

void mlt_flow_check_wires(mlt_flow_builder *b)
{
    mlt_flow_graph *g = b->graph;
    for (uint32_t e = 0; e < g->edge_count; e++) {
        if (g->edges[e].to & MLT_FLOW_PORT)
            b->ports.at[g->edges[e].to & ~MLT_FLOW_PORT].ins++;
        if (g->edges[e].from & MLT_FLOW_PORT)
            b->ports.at[g->edges[e].from & ~MLT_FLOW_PORT].out = e;
    }
}

void mlt_flow_check_whole(mlt_flow_builder *b)
{
    (void)b;
}
