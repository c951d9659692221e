// SPDX-License-Identifier: BSD-3-Clause
#include "flow/net/module.h"

#include <string.h>

#include "base/log.h"
#include "flow/help.h"
#include "flow/run.h"

static uint32_t node_of(const mlt_flow_net *my)
{
    const flow_instance *me = my->flow.instance;
    return me->program->lowered->tasks[me->task].node;
}

static const mlt_flow_parameter *parameter(const mlt_flow_net *my, const char *name)
{
    const mlt_flow_vector *v = mlt_flow_vector_of(my->flow.instance->program->graph, node_of(my));
    size_t i = 0;
    while (i < v->parameter_count && strcmp(v->parameters[i].decl->name, name) != 0)
        i++;
    mlt_assert(i < v->parameter_count);
    return &v->parameters[i];
}

long mlt_flow_net_number(const mlt_flow_net *my, const char *name)
{
    return parameter(my, name)->number;
}

const char *mlt_flow_net_text(const mlt_flow_net *my, const char *name)
{
    return parameter(my, name)->text;
}

mlt_flow_frame mlt_flow_net_frame(const mlt_flow_net *my)
{
    const char *name = mlt_flow_net_text(my, "frame");
    return strcmp(name, "lines") == 0    ? MLT_FLOW_FRAME_LINES
           : strcmp(name, "values") == 0 ? MLT_FLOW_FRAME_VALUES
                                         : MLT_FLOW_FRAME_ELEMENTS;
}

// Behind collectives all queues have one type, so the first edge of each leads to it.
size_t mlt_flow_net_value(const mlt_flow_net *my)
{
    const mlt_flow_graph *g = my->flow.instance->program->graph;
    uint32_t node = node_of(my);
    for (uint32_t hops = 0; hops < g->vector_count + 1; hops++) {
        if (g->out.first[node] == g->out.first[node + 1])
            return 1;
        const mlt_flow_edge *e = &g->edges[g->out.list[g->out.first[node]]];
        const mlt_flow_vector *v = mlt_flow_vector_of(g, e->to);
        if (v->kind == MLT_FLOW_MODULE) {
            size_t bytes = v->module->queues[e->in].bytes;
            return bytes ? bytes : 1;
        }
        node = e->to;
    }
    return 1;
}

void mlt_flow_net_end_output(mlt_flow_net *my)
{
    (void)mlt_flow_come_back();
    mlt_flow_outlet_end(my->out->out);
}
