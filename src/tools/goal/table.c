// SPDX-License-Identifier: BSD-3-Clause
// `millet goal table`: the side table that a window needs (Theorems 3 and 4 of the paper).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "goal/graph.h"
#include "goal/sched.h"
#include "judge/side.h"
#include "tools/commands.h"
#include "tools/goal/source.h"

enum { TABLE_SHOWN = 16, TABLE_NAME = 64 }; // actions of a program whose tables are all shown

static struct {
    uint64_t window, rank;
    bool json;
} table_asked = {.window = 2};

typedef struct side_row { // of a rank
    uint32_t actions, dependencies, counters;
    bool slides;
    mlt_side side;
} side_row;

static bool same_row(const side_row *a, const side_row *b)
{
    return a->actions == b->actions && a->dependencies == b->dependencies &&
           a->counters == b->counters && a->slides == b->slides && a->side.cells == b->side.cells;
}

static mlt_goal_graph *table_graph(const mlt_source *source, uint32_t rank)
{
    mlt_goal_graph *graph = mlt_goal_graph_new(&source->program->rank[rank]);
    if (!graph->order)
        mlt_args_failed(
            "%s: the dependencies of rank %" PRIu32
            " have a cycle, so no window comes to its end; `millet goal check` shows it",
            source->name, rank);
    return graph;
}

static side_row side_row_of(const mlt_source *source, uint32_t rank, bool plain)
{
    mlt_goal_graph *graph = table_graph(source, rank);
    mlt_goal_sched_options options = {.window = (uint32_t)table_asked.window, .plain = plain};
    mlt_goal_sched *sched;
    mlt_args_must(mlt_goal_sched_compile(source->program, rank, &options, &sched, MLT_ARGS_WHY));
    side_row row = {.actions = graph->count,
                    .dependencies = graph->count ? graph->next_at[graph->count] : 0,
                    .counters = sched->indices,
                    .slides = !(sched->flags & MLT_GOAL_SCHED_SEGMENTS),
                    .side = mlt_side_of(graph, (uint32_t)table_asked.window)};
    mlt_goal_sched_free(sched);
    mlt_goal_graph_free(graph);
    return row;
}

static const char *action_name(const mlt_source *source, uint32_t rank, uint32_t action,
                               char text[TABLE_NAME])
{
    uint32_t label = source->program->rank[rank].actions[action].label;
    if (label)
        snprintf(text, TABLE_NAME, "%s", mlt_goal_name_text(source->program, label));
    else
        snprintf(text, TABLE_NAME, "%" PRIu32, action);
    return text;
}

// ---- for people

static void print_rows(const mlt_source *source, const side_row *rows)
{
    char text[4][MLT_NUMBER_BYTES], ranks[2 * MLT_NUMBER_BYTES];
    printf("%-15s %10s %13s %10s   %s\n", "ranks", "actions", "dependencies", "cells",
           "a run of Millet's");
    for (uint32_t r = 0, end; r < source->program->ranks; r = end) {
        for (end = r + 1; end < source->program->ranks && same_row(&rows[r], &rows[end]);)
            end++;
        snprintf(ranks, sizeof ranks, "%" PRIu32, r);
        if (end > r + 1)
            snprintf(ranks, sizeof ranks, "%" PRIu32 "-%" PRIu32, r, end - 1);
        printf("%-15s %10s %13s %10s   %s counter%s, %s\n", ranks,
               mlt_number(text[0], rows[r].actions), mlt_number(text[1], rows[r].dependencies),
               mlt_number(text[2], rows[r].side.cells), mlt_number(text[3], rows[r].counters),
               rows[r].counters == 1 ? "" : "s",
               rows[r].actions <= table_asked.window ? "no window needed"
               : rows[r].slides                      ? "the window slides"
                                                     : "segments with no-ops between");
    }
}

static void print_cells(const mlt_source *source, const mlt_goal_graph *graph, uint32_t rank,
                        uint32_t at)
{
    char name[TABLE_NAME];
    uint32_t count;
    mlt_side_cell *table = mlt_side_table(graph, at, &count);
    printf("  %-16s %8" PRIu32, action_name(source, rank, graph->order[at], name), count);
    for (uint32_t i = 0; i < count; i++)
        printf("%s%s %" PRIu32, i ? ", " : "   ", action_name(source, rank, table[i].action, name),
               table[i].sources);
    putchar('\n');
    free(table);
}

// Each table of a short program, the fullest of a long one.
static void print_tables(const mlt_source *source, uint32_t rank, const side_row *row)
{
    if (!row->side.cells) {
        printf("\nrank %" PRIu32 " needs no side table\n", rank);
        return;
    }
    mlt_goal_graph *graph = table_graph(source, rank);
    uint32_t from = row->side.at, to = row->side.at + 1;
    if (graph->count <= TABLE_SHOWN && table_asked.window <= graph->count) {
        from = (uint32_t)table_asked.window - 1;
        to = graph->count;
    }
    printf("\nrank %" PRIu32 "\n  %-16s %8s   %s\n", rank, "finished up to", "cells",
           "action and how many it waits for have finished");
    for (uint32_t at = from; at < to && at < graph->count; at++)
        print_cells(source, graph, rank, at);
    mlt_goal_graph_free(graph);
}

// ---- for programs

static void print_json_rank(const mlt_source *source, uint32_t rank, const side_row *row)
{
    char name[TABLE_NAME];
    uint32_t count = 0;
    mlt_goal_graph *graph = table_graph(source, rank);
    mlt_side_cell *table = mlt_side_table(graph, row->side.at, &count);
    if (!row->side.cells)
        count = 0;
    printf("%s\n    {\"rank\": %" PRIu32 ", \"actions\": %" PRIu32 ", \"dependencies\": %" PRIu32
           ", \"cells\": %" PRIu32 ", \"counters\": %" PRIu32 ", \"slides\": %s, \"table\": [",
           rank ? "," : "", rank, row->actions, row->dependencies, row->side.cells, row->counters,
           row->slides ? "true" : "false");
    for (uint32_t i = 0; i < count; i++) {
        printf("%s{\"action\": ", i ? ", " : "");
        mlt_text_print_json(stdout, action_name(source, rank, table[i].action, name));
        printf(", \"sources\": %" PRIu32 "}", table[i].sources);
    }
    printf("]}");
    free(table);
    mlt_goal_graph_free(graph);
}

static void print_json(const mlt_source *source, const side_row *rows, uint32_t cells)
{
    printf("{\n  \"program\": ");
    mlt_text_print_json(stdout, source->name);
    printf(",\n  \"window\": %" PRIu64 ",\n  \"cells\": %" PRIu32 ",\n  \"ranks\": [",
           table_asked.window, cells);
    for (uint32_t r = 0; r < source->program->ranks; r++)
        print_json_rank(source, r, &rows[r]);
    printf("\n  ]\n}\n");
}

// ---- all

enum { RANK_ARG = 1 };
static mlt_arg table_args[] = {
    {"window", 'w', MLT_ARG_NUMBER, &table_asked.window, "N", .least = 1, .most = UINT32_MAX,
     .help = "actions in the window (2)"},
    {"rank", 'r', MLT_ARG_NUMBER, &table_asked.rank, "R", .most = MLT_GOAL_MAX_RANKS,
     .help = "whose table is shown (the rank that needs most cells)"},
    {"json", 0, MLT_ARG_FLAG, &table_asked.json, NULL, .help = "print everything as JSON"},
};

static int table_run(const mlt_arg_texts *words)
{
    const mlt_source *source = mlt_source_read_one(words);
    const mlt_goal_program *program = source->program;
    if (table_asked.rank >= program->ranks)
        mlt_args_wrong("option --rank is %" PRIu64 ", but the program has %" PRIu32 " rank%s",
                       table_asked.rank, program->ranks, program->ranks == 1 ? "" : "s");
    bool plain = mlt_goal_has_wildcards(program);
    side_row *rows = mlt_xcalloc(program->ranks, sizeof *rows);
    uint32_t worst = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        rows[r] = side_row_of(source, r, plain);
        if (rows[r].side.cells > rows[worst].side.cells)
            worst = r;
    }
    if (table_asked.json) {
        print_json(source, rows, rows[worst].side.cells);
    } else {
        char text[2][MLT_NUMBER_BYTES];
        uint32_t cells = rows[worst].side.cells;
        printf("%s: a window of %s action%s needs ", source->name,
               mlt_number(text[0], table_asked.window), table_asked.window == 1 ? "" : "s");
        if (cells)
            printf("a side table of %s cell%s\n\n", mlt_number(text[1], cells),
                   cells == 1 ? "" : "s");
        else
            printf("no side table\n\n");
        print_rows(source, rows);
        uint32_t shown = table_args[RANK_ARG].given ? (uint32_t)table_asked.rank : worst;
        if (cells)
            print_tables(source, shown, &rows[shown]);
    }
    free(rows);
    return MLT_EXIT_FINE;
}

const mlt_command mlt_goal_table_command = {
    .name = "millet goal table",
    .help = "print the side table that a window of actions needs",
    .words = "FILE",
    .most = 1,
    .purpose =
        "Prints what a window of actions costs each rank (Theorems 3 and 4 of the paper): "
        "actions, dependencies, and the cells of the side table, which remembers for actions "
        "behind the window how many that they wait for have finished; and what Millet's own runs "
        "take.",
    .groups = {{NULL, MLT_ARG_LIST(table_args)},
               {"Programs without a file", MLT_ARG_LIST(mlt_source_args)}},
    .run = table_run};
