// SPDX-License-Identifier: BSD-3-Clause
// `millet flow draw`: which of the drawings, what for colours, where to.
#include <inttypes.h>
#include <stdio.h>

#include "base/numbers.h"
#include "tools/commands.h"
#include "tools/draw/flow.h"
#include "tools/flow/input.h"
#include "tools/flow/site.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"

static struct {
    const char *out, *report;
    bool placed, keep_all;
    uint64_t expand;
} flow_draw_asked = {.expand = 16};

// What nobody could look at is refused.
static void too_much(uint64_t boxes, uint64_t links)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    if (boxes > MLT_DRAW_FLOW_BOXES || links > MLT_DRAW_FLOW_LINKS)
        mlt_args_failed("%s boxes and %s lines cannot be drawn, up to %d and %d can; -D gives "
                        "constants smaller values",
                        mlt_number(a, boxes), mlt_number(b, links), MLT_DRAW_FLOW_BOXES,
                        MLT_DRAW_FLOW_LINKS);
}

static uint64_t box_count(const mlt_flow_graph *g, uint64_t expand)
{
    uint64_t boxes = 0;
    for (uint32_t v = 0; v < g->vector_count; v++)
        boxes += g->vectors[v].count > expand ? 1 : g->vectors[v].count;
    return boxes;
}

static void draw_written(const mlt_flow_graph *g, const mlt_flow_heat *heat, mlt_scene *scene)
{
    // Lines between instances of large vectors become few.
    uint64_t boxes = box_count(g, flow_draw_asked.expand);
    too_much(boxes, boxes == g->node_count ? g->edge_count : 0);
    mlt_scene_of_graph(g, (uint32_t)flow_draw_asked.expand, heat, scene);
}

static void draw_placed(const mlt_flow_input *input, const mlt_flow_heat *heat, mlt_scene *scene)
{
    const mlt_flow_graph *g = input->graph;
    if (mlt_flow_site_asked.workers > 64)
        mlt_args_failed("%" PRIu64 " workers cannot be drawn, up to 64 can",
                        mlt_flow_site_asked.workers);
    if (g->node_count > 10 * MLT_DRAW_FLOW_BOXES)
        too_much(g->node_count, g->edge_count);
    mlt_flow_site site = mlt_flow_site_make(g, input->file->path, flow_draw_asked.keep_all);
    too_much(site.lowered->task_count, site.lowered->line_count);
    mlt_scene_of_tasks(site.lowered, heat, scene);
}

static void flow_draw(const mlt_flow_input *input, const mlt_flow_heat *heat, FILE *to)
{
    mlt_scene scene = {.title = NULL};
    char title[256], *stem = mlt_flow_stem(input->file->path);
    uint64_t workers = mlt_flow_site_asked.workers;
    if (flow_draw_asked.placed) {
        draw_placed(input, heat, &scene);
        snprintf(title, sizeof title, "%.160s.flow on %" PRIu64 " worker%s%s", stem, workers,
                 workers == 1 ? "" : "s", flow_draw_asked.keep_all ? ", nothing left out" : "");
        scene.note = "A frame is a worker.";
    } else {
        draw_written(input->graph, heat, &scene);
        snprintf(title, sizeof title, "%.200s.flow", stem);
        scene.note = "As written: instances and wires, from left to right.";
    }
    scene.title = title;
    mlt_scene_lay_out(&scene);
    mlt_scene_paint(&scene, to);
}

static int flow_draw_run(const mlt_arg_texts *words)
{
    if (!flow_draw_asked.placed && (flow_draw_asked.keep_all ||
                                    mlt_args_given(MLT_ARG_LIST(mlt_flow_site_args),
                                                   "workers nfg hostfile reproducible unbalanced")))
        mlt_args_wrong("-n, -nfg, --hostfile and --keep-all are for --placed");
    mlt_flow_input input = mlt_flow_input_read(words->items[0]);
    const char *report = flow_draw_asked.report;
    mlt_flow_heat *heat = report ? mlt_flow_heat_read(report, mlt_source_text(report)) : NULL;
    mlt_sink sink = mlt_sink_open(flow_draw_asked.out);
    flow_draw(&input, heat, sink.to);
    mlt_sink_close(&sink);
    return MLT_EXIT_FINE;
}

static mlt_arg flow_draw_args[] = {
    {"output", 'o', MLT_ARG_TEXT, &flow_draw_asked.out, "OUT.svg",
     .help = "write to OUT.svg (standard output)"},
    MLT_FLOW_DEFINE_ARG,
    {"expand", 0, MLT_ARG_NUMBER, &flow_draw_asked.expand, "N",
     .help = "draw each instance of vectors with up to N of them (16)", .least = 1,
     .most = MLT_DRAW_FLOW_BOXES},
    {"placed", 0, MLT_ARG_FLAG, &flow_draw_asked.placed, NULL,
     .help = "draw it as it would run: a frame for each worker, reductions with their rounds"},
    {"keep-all", 0, MLT_ARG_FLAG, &flow_draw_asked.keep_all, NULL,
     .help = "with --placed: also draw what only passes elements on"},
    {"colour", 0, MLT_ARG_TEXT, &flow_draw_asked.report, "REPORT",
     .help = "colour it by the report of a run, which the setting flow_report asks for"},
    {"color", 0, MLT_ARG_TEXT, &flow_draw_asked.report, "REPORT", .help = NULL},
};

const mlt_command mlt_flow_draw_command = {
    .name = "millet flow draw",
    .help = "draw a file as SVG, as written or as placed",
    .words = "FILE.flow",
    .least = 1,
    .most = 1,
    .purpose =
        "Draws the graph as SVG, which every browser shows. A box or line shows more when the "
        "mouse is over it.",
    .groups = {{NULL, MLT_ARG_LIST(flow_draw_args)},
               {"The machine, of --placed", MLT_ARG_LIST(mlt_flow_site_args)}},
    .run = flow_draw_run};
