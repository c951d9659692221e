// SPDX-License-Identifier: BSD-3-Clause
// A graph while it is being made:
//
//     graph.c  begin and end, names, adjacency
//     wire.c   the wiring functions of millet/flow.h
//     port.c   queues of nested roots
//     parameter.c  parameters of instances
//     check.c  what can be said only of the whole
//
// An end of a wire is a node, or a port: a queue of one instance of a nested root. Ports have
// numbers of their own, with the highest bit set, so that wires to and from them are edges like
// others until port.c replaces them.
//
//     outside          s[2]                outside        edges while wiring      in the end
//     x ────────────> in ──> p ... q ──> out ──────> y    x-in, in-p, q-out, out-y    x-p, q-y
//
// A port has any number of edges in and one out, inside or outside.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/table.h"
#include "flow/graph/graph.h"
#include "flow/graph/severity.h"

#define MLT_FLOW_PORT UINT32_C(0x80000000)
#define MLT_FLOW_NONE UINT32_MAX

enum { MLT_FLOW_SENTENCES = 100 }; // messages that are kept; all errors are counted

// What would be told for every instance of a nested root is told once for each line.
typedef enum mlt_flow_told {
    MLT_FLOW_TOLD_ENTER,
    MLT_FLOW_TOLD_TWICE,
    MLT_FLOW_TOLD_TYPE,
    MLT_FLOW_TOLD_COLLECTIVE,
    MLT_FLOW_TOLD_PIN,
} mlt_flow_told;

// What the graph does not have of a vector.
typedef struct mlt_flow_vector_more {
    uint32_t module;     // in `modules`
    uint32_t collective; // number of its first node among collectives; MLT_FLOW_NONE: a module
    const char *file;    // of the root that has it
    size_t mark;         // in `marks`: of queue 0 of its first node
} mlt_flow_vector_more;

typedef struct mlt_flow_module_row {
    const flow_module *module;
    uint32_t instances;
    uint16_t in, out;        // default queues; UINT16_MAX: none
    uint32_t *wired;         // [queue_count] how many instances have that queue wired
    uint32_t *first_unwired; // [queue_count] the first node that has not
} mlt_flow_module_row;

// A node that is a collective.
typedef struct mlt_flow_collective {
    uint32_t node;
    uint32_t in_statement, out_statement; // 0: none yet
    int in_line, out_line;
    uint32_t parent; // union-find: collectives that pass elements to each other have one type
    uint32_t edge;   // of the group: the first typed one; MLT_FLOW_NONE: none
    bool source;     // of that edge: the type is that of its source
    bool told;
} mlt_flow_collective;

// `Stage s[4];` of a nested root.
typedef struct mlt_flow_roots {
    const char *name; // in full
    const flow_root *root;
    bool scalar;
    int line;
    uint32_t first, count; // of `instances`
} mlt_flow_roots;

typedef struct mlt_flow_root_instance {
    uint32_t root_vector;          // in `root_vectors`
    uint32_t first_node, end_node; // its nodes: from the first to before the end
    uint32_t port;                 // its first
} mlt_flow_root_instance;

typedef struct mlt_flow_port {
    uint32_t instance;
    uint16_t queue;
    uint32_t ins, out; // edges in; the edge out, MLT_FLOW_NONE: none
} mlt_flow_port;

typedef struct mlt_flow_end {
    uint32_t id;
    uint16_t queue;
} mlt_flow_end;

typedef struct mlt_flow_ends { // of one side of a joint
    mlt_flow_end *at;
    size_t count, room;
} mlt_flow_ends;

#define MLT_FLOW_LIST(type)                                                                        \
    struct {                                                                                       \
        type *at;                                                                                  \
        uint32_t count, room;                                                                      \
    }

typedef struct mlt_flow_builder {
    mlt_flow_graph *graph;
    const flow_root *root;
    mlt_flow_wirer *wire;
    void *arg;
    const mlt_flow_given *given;
    size_t given_count;
    uint32_t statement; // number of the one that is being wired
    uint32_t vector_room, node_room, edge_room, pin_room, constant_room, sentence_room;
    MLT_FLOW_LIST(mlt_flow_vector_more) vector_info; // by vector
    MLT_FLOW_LIST(mlt_flow_module_row) modules;
    MLT_FLOW_LIST(mlt_flow_collective) collectives;
    MLT_FLOW_LIST(mlt_flow_roots) root_vectors;
    MLT_FLOW_LIST(mlt_flow_root_instance) instances;
    MLT_FLOW_LIST(mlt_flow_port) ports;
    mlt_flow_ends from, to;
    struct {
        mlt_flow_told what;
        int line;
    } told[MLT_FLOW_SENTENCES];
    uint32_t told_count;
    bool tangled;       // a port leads to several things: there are no edges in the end
    bool mistyped;      // a port has two types: nothing is told of what leads through it
    bool too_many;      // roots in roots: no more of them are wired
    uint32_t *marks;    // by queue of a module's node: 0: not wired; of outputs: 1 + the edge
    uint32_t *first_at; // [edge_count] in the end: where its source was wired; NULL: no ports
} mlt_flow_builder;

// A thing that has a name in a root: a vector, or nested roots.
typedef struct mlt_flow_thing {
    const char *name; // as the root has it
    bool bad;         // an error was told: nothing more is said about it
    bool nested;
    uint32_t at; // in graph->vectors or builder->root_vectors
} mlt_flow_thing;

struct flow_wiring {
    mlt_flow_builder *builder;
    const flow_root *root;
    const struct flow_wiring *outer; // NULL: the main root
    const char *prefix;              // "stage[2]."
    uint32_t port;                   // the first of its own
    uint64_t copies;                 // of this root in the program, those of outer roots included
    MLT_FLOW_LIST(mlt_flow_thing) things;
    mlt_name_table names; // of things
};

void mlt_flow_wiring_fini(flow_wiring *w);

// One more element in a list.
#define MLT_FLOW_ADD(list) MLT_ARRAY_ADD((list).at, (list).count, (list).room)

void mlt_flow_graph_say(mlt_flow_builder *b, const char *file, int line, mlt_flow_severity severity,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));
// True, once: this was not yet told for that line.
bool mlt_flow_once(mlt_flow_builder *b, mlt_flow_told what, int line);

static inline mlt_flow_collective *mlt_flow_collective_of(const mlt_flow_builder *b, uint32_t node)
{
    uint32_t v = b->graph->vector_of[node], first = b->vector_info.at[v].collective;
    return first == MLT_FLOW_NONE ? NULL
                                  : &b->collectives.at[first + node - b->graph->vectors[v].first];
}

// "p[1].out", "r1", "s[2].in". Returns text.
const char *mlt_flow_end_name(const mlt_flow_builder *b, mlt_flow_end end, char *text, size_t size);

// port.c
void mlt_flow_resolve_ports(mlt_flow_builder *b);
// parameter.c: those of a new vector; and whether all that must be written are.
void mlt_flow_add_parameters(mlt_flow_builder *b, mlt_flow_vector *v);
void mlt_flow_check_parameters(mlt_flow_builder *b);
// check.c: while there are ports, and when they are gone.
void mlt_flow_mark_input(mlt_flow_builder *b, uint32_t node, uint16_t queue);
void mlt_flow_check_wires(mlt_flow_builder *b);
void mlt_flow_check_whole(mlt_flow_builder *b);
