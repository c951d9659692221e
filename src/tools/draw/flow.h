// SPDX-License-Identifier: BSD-3-Clause
// Drawings of `millet flow draw`. A scene is boxes and links, whatever they stand for; the layout
// (flow_layout.c) gives them places, the painter (flow_paint.c) writes SVG. Scenes come from
// flow_written.c (the graph as written) and flow_placed.c (tasks on workers).
//
//     columns  a link leads at least one column to the right, unless it is a back edge
//     bands    workers: a box stands within its band in every column
//     ports    where links leave and enter a box; those of one queue share one
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "flow/graph/graph.h"
#include "flow/lower/lower.h"

enum { MLT_SCENE_NAME = 96, MLT_SCENE_TIP = 256 };

// Around everything; within the frames of workers and hosts, and for their names.
enum {
    MLT_SCENE_MARGIN = 24,
    MLT_SCENE_BAND_PAD = 16,
    MLT_SCENE_BAND_HEAD = 20,
    MLT_SCENE_HOST_PAD = 12,
    MLT_SCENE_HOST_HEAD = 18,
};

typedef struct mlt_scene_port {
    char label[48];
    uint32_t key; // which queue it is
    bool left;
    double y; // from the top of the box
} mlt_scene_port;

typedef struct mlt_scene_box {
    char title[MLT_SCENE_NAME], note[MLT_SCENE_NAME], tip[MLT_SCENE_TIP];
    mlt_flow_kind kind;
    bool many;       // stands for several
    uint32_t colour; // modules: by their number
    uint32_t group;  // of back edges: vector
    uint32_t number; // in it
    uint32_t band;

    mlt_scene_port *ports;
    size_t port_count;
    uint32_t column;
    double x, y, width, height;
} mlt_scene_box;

typedef enum mlt_scene_class {
    MLT_SCENE_WIRE,
    MLT_SCENE_FAR,      // to another worker
    MLT_SCENE_SCHEDULE, // between parts of a reduction
} mlt_scene_class;

typedef struct mlt_scene_link {
    uint32_t from, to; // boxes
    uint32_t out, in;  // keys of ports
    char out_label[48], in_label[48];
    char tip[MLT_SCENE_TIP];
    char text[24]; // in its middle: "1", "x16"
    mlt_scene_class class_;
    bool both;  // arrows at both ends
    bool loose; // says nothing about columns
    bool ahead; // within one box that stands for several: to higher numbers only
    int heat;   // 0.. by time blocked; -1: not coloured
    double thickness;

    uint32_t from_port, to_port; // of the boxes
    uint32_t *through;           // boxes of no size in the columns between, from left to right
    uint32_t through_count;
    bool back;   // leads to the left, or stays in its column
    double lane; // of a back link that goes around: y
} mlt_scene_link;

typedef struct mlt_scene {
    const char *title, *note;
    mlt_scene_box *boxes;
    uint32_t box_count, box_room;
    mlt_scene_link *links;
    uint32_t link_count, link_room;
    // Bands; names and the bands' groups (hosts). band_count 0: no frames.
    uint32_t band_count;
    char (*band_name)[MLT_SCENE_NAME];
    uint32_t *host_of_band;
    char (*host_name)[MLT_SCENE_NAME];
    uint32_t host_count;
    char legend[MLT_SCENE_TIP]; // of colours; "": none

    // By the layout: boxes from this index on stand for nothing, links pass through them.
    uint32_t real_count;
    uint32_t columns;
    double *column_x, *band_y, *band_height;
    double width, height, bottom;
} mlt_scene;

mlt_scene_box *mlt_scene_add_box(mlt_scene *scene);
mlt_scene_link *mlt_scene_add_link(mlt_scene *scene, uint32_t from, uint32_t to);

void mlt_scene_lay_out(mlt_scene *scene);
void mlt_scene_paint(const mlt_scene *scene, FILE *to);

// How far a link between boxes of one column bows out beside it.
double mlt_scene_bow(const mlt_scene *scene, const mlt_scene_link *link);

// The square root of a number that is not negative (the command has no libm).
static inline double mlt_scene_root(double x)
{
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60 && r * r - x > 1e-9 * x; i++)
        r = (r + x / r) / 2;
    return x > 0 ? r : 0;
}

// ---- scenes

// Time blocked and bytes, of a file that setting flow_report names.
typedef struct mlt_flow_heat mlt_flow_heat;

enum { MLT_HEATS = 6, MLT_DRAW_FLOW_BOXES = 2000, MLT_DRAW_FLOW_LINKS = 8000 };

// Vectors of up to `expand` instances have a box for each, larger ones one for all. heat may be
// NULL.
void mlt_scene_of_graph(const mlt_flow_graph *graph, uint32_t expand, const mlt_flow_heat *heat,
                        mlt_scene *scene);
void mlt_scene_of_tasks(const mlt_flow_lowered *lowered, const mlt_flow_heat *heat,
                        mlt_scene *scene);

// The number of a module among those of the graph.
uint32_t mlt_scene_colour(const mlt_flow_graph *graph, const flow_module *module);

// Whether the module has queues of other names than in and out, so that drawings name them.
bool mlt_scene_has_named(const flow_module *module);

// ---- heat

// Reads the report, whose text it keeps and cuts; the command ends if it is none. path: for messages.
mlt_flow_heat *mlt_flow_heat_read(const char *path, char *text);
// Adds what a line with these ends had, if the report has one. False: it has none.
typedef struct mlt_flow_warmth {
    uint64_t elements, bytes, blocked_ns, starved_ns, deepest;
} mlt_flow_warmth;
bool mlt_flow_heat_of(const mlt_flow_heat *heat, const char *from, const char *queue,
                      mlt_flow_warmth *sum);
// Colours and widths of links by what they carried; the greatest of all is the measure. warmth:
// [link_count]. Fills the legend in.
void mlt_flow_heat_apply(mlt_scene *scene, const mlt_flow_warmth *warmth, const bool *known);

// In which round each edge of a plan is done, from 1; [count].
void mlt_flow_plan_rounds(const mlt_flow_reduction *reduction, uint32_t *round);
