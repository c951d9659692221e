// SPDX-License-Identifier: BSD-3-Clause
// `millet flow draw`: which of the drawings, what for colours, where to.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "tools/args.h"
#include "tools/draw/flow.h"
#include "tools/flow/flow.h"
#include "tools/flow/input.h"
#include "tools/flow/print.h"
#include "tools/flow/site.h"
#include "tools/goal/sink.h"

typedef struct flow_draw_asked {
    mlt_arg_texts defines;
    const char *out, *report;
    bool placed, text, keep_all;
    uint64_t expand;
    mlt_flow_site_options where;
} flow_draw_asked;

// What nobody could look at is refused.
static int too_much(const mlt_arg_command *command, uint64_t boxes, uint64_t links)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    if (boxes <= MLT_DRAW_FLOW_BOXES && links <= MLT_DRAW_FLOW_LINKS)
        return MLT_ARGS_GO;
    return mlt_args_failed(command,
                           "%s boxes and %s lines cannot be drawn, up to %d and %d can; -D gives "
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

static int read_report(const mlt_arg_command *command, const char *path, mlt_flow_heat **heat)
{
    char *text = NULL, why[256];
    *heat = NULL;
    int code = mlt_flow_input_text(command, path, &text);
    if (code == MLT_ARGS_GO && text && !(*heat = mlt_flow_heat_read(text, why, sizeof why)))
        code = mlt_args_failed(command, "'%s': %s", path, why);
    free(text);
    return code;
}

static int make_scene(const mlt_arg_command *command, const flow_draw_asked *a,
                      const mlt_flow_input *input, mlt_flow_site *site, const mlt_flow_heat *heat,
                      mlt_scene *scene)
{
    const mlt_flow_graph *g = input->graph;
    if (!a->placed) {
        // Lines between instances of large vectors become few.
        int code = too_much(command, box_count(g, a->expand),
                            box_count(g, a->expand) == g->node_count ? g->edge_count : 0);
        if (code == MLT_ARGS_GO)
            mlt_scene_of_graph(g, (uint32_t)a->expand, heat, scene);
        return code;
    }
    if (a->where.workers > 64)
        return mlt_args_failed(command, "%" PRIu64 " workers cannot be drawn, up to 64 can",
                               a->where.workers);
    if (g->node_count > 10 * MLT_DRAW_FLOW_BOXES)
        return too_much(command, g->node_count, g->edge_count);
    int code = mlt_flow_site_make(command, &a->where, g, input->file->path, a->keep_all, site);
    if (code == MLT_ARGS_GO)
        code = too_much(command, site->lowered->task_count, site->lowered->line_count);
    if (code == MLT_ARGS_GO)
        mlt_scene_of_tasks(site->lowered, heat, scene);
    return code;
}

static int flow_draw(const mlt_arg_command *command, const flow_draw_asked *a,
                     const mlt_flow_input *input, const mlt_flow_heat *heat, FILE *to)
{
    mlt_scene scene = {.title = NULL};
    mlt_flow_site site = {.sites = NULL};
    char title[256];
    int code = make_scene(command, a, input, &site, heat, &scene);
    if (code == MLT_ARGS_GO) {
        char *stem = mlt_flow_stem(input->file->path);
        uint64_t workers = a->where.workers ? a->where.workers : 1;
        if (a->placed)
            snprintf(title, sizeof title, "%.160s.flow on %" PRIu64 " worker%s%s", stem, workers,
                     workers == 1 ? "" : "s", a->keep_all ? ", nothing left out" : "");
        else
            snprintf(title, sizeof title, "%.200s.flow", stem);
        scene.title = title;
        scene.note = a->placed ? "A frame is a worker."
                               : "As written: instances and wires, from left to right.";
        mlt_scene_lay_out(&scene);
        mlt_scene_paint(&scene, to);
        free(stem);
    }
    mlt_scene_free(&scene);
    mlt_flow_site_free(&site);
    return code;
}

static int flow_draw_start(const mlt_arg_command *command, const flow_draw_asked *a,
                           const char *path)
{
    if (!a->placed && (mlt_flow_site_given(&a->where) || a->keep_all))
        return mlt_args_wrong(command, "-n, -nfg, --hostfile and --keep-all are for --placed");
    if (a->text && (a->placed || a->report))
        return mlt_args_wrong(command, "--text is the graph as written; millet flow place tells "
                                       "the rest as text");
    mlt_flow_input input;
    mlt_flow_heat *heat = NULL;
    mlt_sink sink;
    int code = mlt_flow_input_read(command, path, &a->defines, &input);
    if (code == MLT_ARGS_GO)
        code = read_report(command, a->report, &heat);
    if (code == MLT_ARGS_GO)
        code = mlt_sink_open(&sink, command, a->out);
    if (code == MLT_ARGS_GO) {
        if (a->text)
            mlt_flow_print(input.graph, sink.to);
        else
            code = flow_draw(command, a, &input, heat, sink.to);
        int closed = mlt_sink_close(&sink, command, code == MLT_ARGS_GO);
        code = code == MLT_ARGS_GO ? closed : code;
    }
    mlt_flow_heat_free(heat);
    mlt_flow_input_free(&input);
    return code;
}

int mlt_flow_draw_main(int argc, char **argv)
{
    flow_draw_asked a = {.expand = 16};
    mlt_arg sites[MLT_FLOW_SITE_ARGS];
    mlt_arg_texts words = {NULL, 0};
    mlt_flow_site_args(&a.where, sites);
    const mlt_arg args[] = {
        {"output", 'o', MLT_ARG_TEXT, &a.out, "OUT.svg",
         .help = "write to OUT.svg (standard output)"},
        {"define", 'D', MLT_ARG_TEXTS, &a.defines, "NAME=N",
         .help = "give a constant another value"},
        {"expand", 0, MLT_ARG_NUMBER, &a.expand, "N",
         .help = "draw each instance of vectors with up to N of them (16)", .least = 1,
         .most = MLT_DRAW_FLOW_BOXES},
        {"placed", 0, MLT_ARG_FLAG, &a.placed, NULL,
         .help = "draw it as it would run: a frame for each worker, reductions with their rounds"},
        {"keep-all", 0, MLT_ARG_FLAG, &a.keep_all, NULL,
         .help = "with --placed: also draw what only passes elements on"},
        {"colour", 0, MLT_ARG_TEXT, &a.report, "REPORT",
         .help = "colour it by the report of a run, which the setting flow_report asks for"},
        {"color", 0, MLT_ARG_TEXT, &a.report, "REPORT", .help = NULL},
        {"text", 0, MLT_ARG_FLAG, &a.text, NULL, .help = "print a list instead of a drawing"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args},
                                    {"The machine, of --placed", sites, MLT_FLOW_SITE_ARGS}};
    const mlt_arg_command command = {.name = "millet flow draw",
                                     .words = "FILE.flow",
                                     .least = 1,
                                     .most = 1,
                                     .purpose =
                                         "Draws the graph as SVG, which every browser shows. A box "
                                         "or line shows more when the mouse is over it.",
                                     .groups = groups,
                                     .count = sizeof groups / sizeof *groups};
    char **own = mlt_flow_argv(&argc, argv);
    int code = mlt_args_read(&command, argc, own, &words, NULL);
    if (code == MLT_ARGS_GO) {
        code = flow_draw_start(&command, &a, words.items[0]);
        mlt_arg_texts_free(&a.defines);
        mlt_arg_texts_free(&words);
    }
    free(own);
    return code;
}
