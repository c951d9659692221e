// SPDX-License-Identifier: BSD-3-Clause
// The path map as a drawing: for each path a column of boxes, the outermost wrapper on top, that
// narrows from ranks to workers at `combine` and ends in the schedule. Bars on the right are mean
// times, to one scale for the path.
//
//     o o o o | o o o o      ranks, by workers
//     [ count            ]   ======= 12 us
//     [ check            ]   ==
//     [ combine][ combine]   =
//     [ recursive_doubling ] ====
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "launch/watch/map.h"
#include "launch/watch/paint.h"
#include "launch/watch/picture.h"

enum {
    LEFT = 20,
    WIDE = 340, // of the boxes
    BARS = 390, // where they begin
    BAR = 160,  // the longest
    ALL = 700,
    MAP_DRAW_HEAD = 46,
    ROW = 30,
    BOX = 22,
    DOTS = 26,
    GAP = 34,
    MOST_DOTS = 32, // ranks, workers that are drawn one by one
    MOST_BOXES = 8,
};

static void put_box(FILE *out, double x, double y, double width, const char *class_name,
                    const char *text)
{
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"4\" class=\"%s\"/>\n", x,
            y, width, BOX, class_name);
    if (text)
        mlt_paint_text(out, x + 8, y + 15, "t", text);
}

// A row of the drawing: what it says, its time, and how many boxes it is (workers).
typedef struct map_draw_row {
    char text[160];
    const char *class_name;
    mlt_ctl_clock clock;
    uint32_t boxes;
} map_draw_row;

enum { MOST_ROWS = 24 };

typedef struct rows {
    map_draw_row row[MOST_ROWS];
    size_t count;
} rows;

static void add_row(rows *r, const char *text, const char *class_name, const mlt_ctl_clock *clock,
                    uint32_t boxes)
{
    if (r->count == MOST_ROWS)
        return;
    map_draw_row *own = &r->row[r->count++];
    *own = (map_draw_row){.class_name = class_name, .boxes = boxes};
    snprintf(own->text, sizeof own->text, "%s", text);
    if (clock)
        own->clock = *clock;
}

static void add_wrappers(rows *r, const mlt_ctl_path *p)
{
    bool combined = p->level == MLT_LEVEL_COMBINED;
    char name[MLT_CTL_NAME];
    for (const char *at = p->stack; mlt_path_map_wrapper(&at, name);) {
        if (strncmp(name, "cache", 5) == 0) {
            add_row(r, "cache: hit", "w", &p->time[MLT_TIME_HIT], 1);
            add_row(r, "cache: miss", "w", &p->time[MLT_TIME_MISS], 1);
        } else if (strcmp(name, "combine") != 0) {
            add_row(r, name, "w", mlt_path_map_clock(p, name), 1);
        } else if (combined) {
            uint32_t boxes = p->workers >= 1 && p->workers <= MOST_BOXES ? p->workers : 1;
            add_row(r, "gather", "c", &p->time[MLT_TIME_GATHER], boxes);
            add_row(r, "combine", "c", &p->time[MLT_TIME_COMBINE], boxes);
            add_row(r, "spread", "c", &p->time[MLT_TIME_SPREAD], boxes);
        }
    }
}

static void add_schedules(rows *r, const mlt_path_map *map, const mlt_ctl_path *p)
{
    char text[160], number[MLT_NUMBER_BYTES];
    if (!p->workers)
        return; // of no collective call
    add_row(r, "exchange", "s", &p->time[MLT_TIME_EXCHANGE], 1);
    for (size_t i = 0; i < map->choice_count; i++) {
        const mlt_ctl_choice *c = &map->choices[i];
        if (!mlt_path_map_serves(c, p))
            continue;
        snprintf(text, sizeof text, "%s: %s calls", c->alg[0] ? c->alg : "in memory",
                 mlt_number(number, c->calls));
        add_row(r, text, "a", NULL, 1);
    }
}

static void draw_ranks(FILE *out, double y, const mlt_ctl_path *p)
{
    char text[96], number[MLT_NUMBER_BYTES];
    if (p->ranks > MOST_DOTS) {
        snprintf(text, sizeof text, "%s ranks", mlt_number(number, p->ranks));
        mlt_paint_text(out, LEFT, y + 15, "note", text);
        return;
    }
    double step = (double)WIDE / p->ranks;
    for (uint32_t i = 0; i < p->ranks; i++)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"r\"/>\n",
                LEFT + step * (i + 0.5), y + 8);
}

static void draw_row(FILE *out, double y, const map_draw_row *r, uint64_t longest)
{
    double width = (double)WIDE / r->boxes;
    for (uint32_t b = 0; b < r->boxes; b++)
        put_box(out, LEFT + b * width, y, width - (r->boxes > 1 ? 4 : 0), r->class_name,
                b == 0 ? r->text : NULL);
    if (!r->clock.n)
        return;
    uint64_t mean = r->clock.sum_ns / r->clock.n;
    char text[160], a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES];
    double bar = longest ? (double)BAR * (double)mean / (double)longest : 0;
    fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"10\" class=\"bar\">", BARS,
            y + 6, bar > 1 ? bar : 1);
    snprintf(text, sizeof text, "%s to %s", mlt_time(a, r->clock.least_ns),
             mlt_time(b, r->clock.most_ns));
    fputs("<title>", out);
    mlt_paint_escaped(out, text);
    fputs("</title></rect>\n", out);
    snprintf(text, sizeof text, "%s  x %s", mlt_time(a, mean), mlt_number(c, r->clock.n));
    mlt_paint_text(out, BARS + (bar > 1 ? bar : 1) + 8, y + 15, "note", text);
}

static double height_of(const rows *r)
{
    return MAP_DRAW_HEAD + DOTS + (double)r->count * ROW + GAP;
}

static void draw_path(FILE *out, double y, const mlt_ctl_path *p, const rows *r)
{
    char text[256], number[MLT_NUMBER_BYTES], workers[MLT_NUMBER_BYTES];
    uint64_t longest = 0;
    snprintf(text, sizeof text, "%s on %s", p->collective, p->object);
    mlt_paint_text(out, LEFT, y + 16, "b", text);
    snprintf(text, sizeof text, "%s ranks%s%s%s, %s%s", mlt_number(number, p->ranks),
             p->level == MLT_LEVEL_COMBINED ? " in " : ", ",
             p->level == MLT_LEVEL_COMBINED ? mlt_number(workers, p->workers)
             : p->level == MLT_LEVEL_FLAT   ? "each for itself"
                                            : "one in a worker",
             p->level == MLT_LEVEL_COMBINED ? " workers" : "", p->by,
             p->changes ? ", changes results" : "");
    mlt_paint_text(out, LEFT, y + 32, "note", text);
    draw_ranks(out, y + MAP_DRAW_HEAD, p);
    for (size_t i = 0; i < r->count; i++) {
        const mlt_ctl_clock *clock = &r->row[i].clock;
        if (clock->n && clock->sum_ns / clock->n > longest)
            longest = clock->sum_ns / clock->n;
    }
    for (size_t i = 0; i < r->count; i++)
        draw_row(out, y + MAP_DRAW_HEAD + DOTS + (double)i * ROW, &r->row[i], longest);
}

static rows map_draw_rows_of(const mlt_path_map *map, const mlt_ctl_path *p)
{
    rows r = {.count = 0};
    add_wrappers(&r, p);
    add_schedules(&r, map, p);
    return r;
}

// The tree of a path whose calls were kept; NULL: there is none. tree_free.
static mlt_path_tree *tree_of(const mlt_path_map *map, const mlt_ctl_path *p)
{
    return map->step_count ? mlt_path_tree_new(map, p) : NULL;
}

void mlt_path_map_draw(mlt_path_map *map, const char *program, FILE *out)
{
    double height = MAP_DRAW_HEAD, width = ALL;
    bool plays = false;
    mlt_path_tree **trees = mlt_xcalloc(map->path_count + 1, sizeof *trees);
    for (size_t i = 0; i < map->path_count; i++) {
        rows r = map_draw_rows_of(map, &map->paths[i]);
        height += height_of(&r);
        trees[i] = tree_of(map, &map->paths[i]);
        if (!trees[i])
            continue;
        height += mlt_picture_height(&trees[i]->tree) + GAP;
        width = MLT_PICTURE_WIDTH + 2 * LEFT;
        plays = true;
    }
    char text[256];
    snprintf(text, sizeof text, "paths of %s", program);
    mlt_paint_begin(out, width, height, text, mlt_picture_style);
    snprintf(text, sizeof text,
             map->path_count ? "paths of %s"
                             : "%s: no call went "
                               "along a path",
             program);
    mlt_paint_text(out, LEFT, 24, "b", text);
    double y = MAP_DRAW_HEAD;
    for (size_t i = 0; i < map->path_count; i++) {
        rows r = map_draw_rows_of(map, &map->paths[i]);
        draw_path(out, y, &map->paths[i], &r);
        y += height_of(&r);
        if (!trees[i])
            continue;
        mlt_picture_draw(&trees[i]->tree, (uint32_t)i, LEFT, y - GAP / 2.0, out);
        y += mlt_picture_height(&trees[i]->tree) + GAP;
        mlt_path_tree_free(trees[i]);
    }
    free(trees);
    if (plays)
        mlt_picture_script(out);
    fputs("</svg>\n", out);
}
