// SPDX-License-Identifier: BSD-3-Clause
// A module with one queue in and one out, for programs about collective wires. Before it is
// included: NODE_VALUE (what the queues carry), NODE_KIND (its flow_type), NODE_CAP (of the input).
#pragma once

#include <millet/flow.h>
#include <stddef.h>

#include "flow_check.h"

#define NODE_TEXT_(type) #type
#define NODE_TEXT(type)  NODE_TEXT_(type)

typedef struct Node {
    flow_self flow;
    struct {
        FLOW_QUEUE(NODE_VALUE) in;
        FLOW_QUEUE(NODE_VALUE) out;
    } q;
} Node;

static const flow_queue_decl queues[] = {
    {.name = "in",
     .input = true,
     .optional = true,
     .kind = NODE_KIND,
     .type = NODE_TEXT(NODE_VALUE),
     .bytes = sizeof(NODE_VALUE),
     .cap = NODE_CAP,
     .offset = offsetof(Node, q.in)},
    {.name = "out",
     .optional = true,
     .kind = NODE_KIND,
     .type = NODE_TEXT(NODE_VALUE),
     .bytes = sizeof(NODE_VALUE),
     .offset = offsetof(Node, q.out)},
};
#define NODE(NAME, RUN)                                                                            \
    static const flow_module NAME = {                                                              \
        .name = #NAME, .bytes = sizeof(Node), .queues = queues, .queue_count = 2, .run = RUN}

static inline flow_part all_of(int vector)
{
    return (flow_part){.vector = vector, .all = true};
}

static inline void wire_three(flow_wiring *w, int line, flow_part from, flow_part through,
                              flow_part to)
{
    flow_stage stages[] = {{FLOW_JOIN, &from, 1}, {FLOW_JOIN, &through, 1}, {FLOW_JOIN, &to, 1}};
    flow_wire(w, line, stages, 3);
}
