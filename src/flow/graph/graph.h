// SPDX-License-Identifier: BSD-3-Clause
// The graph as written: nodes (instances of modules and of collectives) and edges (from an output
// queue to an input queue). Roots are gone from it: a nested root's instances are nodes with longer
// names, and what is wired to its queues is wired to the inner ones.
//
// The wiring functions of millet/flow.h make it, on every rank alike, and check it as they do.
// Messages are collected; each has the line of the root file that it is about.
//
//     node     0 .. node_count-1, vector by vector; nodes of a vector follow each other
//     edge     in the order of statements, and within one in the order of its parts
//
// The edges into a Reduce are its contributors, those out of it its receivers, in order. The
// receivers of a Reduce that leads nowhere are the default inputs of all its contributors.
//
// If there were no errors, every collective has at least one edge in and one out, every Reduce has
// an operation (all of a vector the same), an output queue of a module has at most one edge, and a
// node has at most one pin.
#pragma once

#include <millet/flow.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/graph/index.h"
#include "flow/graph/parameter.h"

typedef enum mlt_flow_kind {
    MLT_FLOW_MODULE,
    MLT_FLOW_REDUCE,    // the n-th element out combines the n-th of every edge in
    MLT_FLOW_BROADCAST, // every edge out gets every element
    MLT_FLOW_DEAL,      // elements go to the edges out in turn
    MLT_FLOW_COLLECT,   // elements come from the edges in in turn
    MLT_FLOW_KINDS,
} mlt_flow_kind;

const char *mlt_flow_kind_name(mlt_flow_kind kind); // "Reduce"

// How much a queue holds if nothing is declared: so many elements, and so many bytes (but always
// two elements).
enum { MLT_FLOW_CAP = 64, MLT_FLOW_BYTES = 4 << 20 };

typedef struct mlt_flow_vector {
    const char *name;          // in full: "stage[2].p"
    const flow_module *module; // of collectives: flow_Reduce, ...
    mlt_flow_kind kind;
    uint32_t first, count; // nodes
    bool scalar;           // its node has no subscript in its name
    int line;
    const flow_op *op; // of a Reduce: what its statement said
    uint32_t weight;
    mlt_flow_parameter *parameters; // [parameter_count], of a network module
    size_t parameter_count;
} mlt_flow_vector;

typedef struct mlt_flow_edge {
    uint32_t from, to; // nodes
    uint16_t out, in;  // queues: numbers in module->queues; of collectives 0
    int line;
} mlt_flow_edge;

// Where a node has to be: `@`.
typedef struct mlt_flow_pin {
    uint32_t node;
    const char *host; // NULL: by number
    long place;       // of the host, or of all; -1: anywhere on that host
    int line;
} mlt_flow_pin;

typedef struct mlt_flow_constant {
    const char *name;
    long value;
    bool overridden;
} mlt_flow_constant;

typedef struct mlt_flow_graph_message {
    const char *file;
    int line;
    bool warning;
    const char *text;
} mlt_flow_graph_message;

typedef struct mlt_flow_graph {
    mlt_flow_vector *vectors;
    uint32_t vector_count, node_count;
    uint32_t *vector_of; // [node_count]
    mlt_flow_edge *edges;
    uint32_t edge_count;
    // Edges by node (index.h), in the order in which its statement names them. Without nested roots
    // that is the order of edges. An edge that leads through a root's queue stands where its last
    // piece was wired, and has that line.
    mlt_flow_index out, in;
    mlt_flow_pin *pins;
    uint32_t pin_count;
    mlt_flow_constant *constants;
    uint32_t constant_count;
    mlt_flow_graph_message *sentences;
    uint32_t sentence_count, errors;
    mlt_flow_arena *arena; // names, messages, arrays that do not grow
} mlt_flow_graph;

// Constants from the command line: known before the root is wired.
typedef struct mlt_flow_given {
    const char *name;
    long value;
} mlt_flow_given;

// Calls root->wire and checks everything. Never NULL: ask graph->errors. The caller keeps the root
// and what it points to as long as the graph.
mlt_flow_graph *mlt_flow_graph_new(const flow_root *root, const mlt_flow_given *given,
                                   size_t given_count);
void mlt_flow_graph_free(mlt_flow_graph *graph); // NULL is fine

// The same for a tool that interprets a file and has no functions: wire(arg, root, w) is called
// instead of root->wire, for nested roots too.
typedef void mlt_flow_wirer(void *arg, const flow_root *root, flow_wiring *w);
mlt_flow_graph *mlt_flow_graph_by(const flow_root *root, const mlt_flow_given *given,
                                  size_t given_count, mlt_flow_wirer *wire, void *arg);

static inline const mlt_flow_vector *mlt_flow_vector_of(const mlt_flow_graph *g, uint32_t node)
{
    return &g->vectors[g->vector_of[node]];
}

// "c[3]", "r1". Returns text.
const char *mlt_flow_node_name(const mlt_flow_graph *g, uint32_t node, char *text, size_t size);
// "p[1].outQueue1"; the default queues of modules "p[1].out"; of collectives the node's name.
const char *mlt_flow_out_name(const mlt_flow_graph *g, const mlt_flow_edge *e, char *text,
                              size_t size);
const char *mlt_flow_in_name(const mlt_flow_graph *g, const mlt_flow_edge *e, char *text,
                             size_t size);

// What stands after `@`: "host1", "host1:0", "3". Returns text.
const char *mlt_flow_pin_text(const mlt_flow_pin *pin, char *text, size_t size);
