// SPDX-License-Identifier: BSD-3-Clause
// The DAG of a program. Each rank has a lane, each lane slots side by side; a row holds the actions
// whose longest chain of dependencies and messages is as long; if a lane has too many of them, they
// take several.
//
//     ┌ rank 0 ───────────────┐ ┌ rank 1 ────┐
//     │                       │ │  ┌──────┐  │     row 0
//     │                       │ │  │ send │  │
//     │            ┌──────────┼─┼──┴──────┘  │
//     │  ┌──────┐ ┌V─────┐    │ │            │     row 1
//     │  │ recv │ │ recv │    │ │            │
//     │  └──┬───┘ └──┬───┘    │ │            │
//     slots 0 and 1, gutters on both sides of each
//
// Arrows leave at the bottom and arrive at the top. Between rows there is nothing but arrows, and
// so it is in the gutters between slots: an arrow over several rows goes down in a gutter beside
// its target. No arrow crosses a box.
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "goal/graph.h"
#include "goal/text/text.h"
#include "tools/draw/draw.h"
#include "tools/draw/svg.h"

enum { BOX_HEIGHT = 34, GUTTER = 24, LANE_GAP = 14, DAG_TOP = 96, DAG_MARGIN = 20 };
enum { SMALLEST_GAP = 46, LARGEST_GAP = 150, MESSAGE_GAP = 4 };
enum { MOST_SLOTS = 8, LONGEST_LINE = 34, SMALLEST_BOX = 64, TITLE_WIDTH = 620 };

typedef enum edge_kind { REQUIRES, STARTS, MESSAGE } edge_kind;

typedef struct edge {
    uint32_t from, to; // numbers of boxes
    edge_kind kind;
} edge;

typedef struct box {
    uint32_t rank, action, row, slot;
    double x, y; // the corner
    char line[2][LONGEST_LINE * 4 + 8];
} box;

typedef struct lane {
    uint32_t slots;
    double x, width, box_width;
} lane;

typedef struct dag {
    const mlt_drawing *drawing;
    box *boxes;
    uint32_t count;
    uint32_t *first; // [lanes + 1]: boxes of a lane
    edge *edges;
    uint32_t edges_count, edges_room;
    lane *lanes;
    uint32_t lanes_count, rows;
    double gap; // between rows
    bool cyclic;
} dag;

// ---- boxes and arrows

// Keeps the first letters of a text; the last one says that there were more.
static void shorten(char *text)
{
    size_t letters = 0;
    for (char *c = text; *c; c++)
        if (((unsigned char)*c & 0xc0) != 0x80 && letters++ == LONGEST_LINE - 1 && c[1]) {
            strcpy(c, "\u2026");
            return;
        }
}

// "none,8" becomes "8 bytes": memory that nobody cares about has no address.
static void without_none(char *text)
{
    char *none = strstr(text, "none,");
    if (!none)
        return;
    size_t digits = strspn(none + 5, "0123456789");
    char rest[MLT_DRAW_TEXT_BYTES];
    snprintf(rest, sizeof rest, "%.*s bytes%s", (int)digits, none + 5, none + 5 + digits);
    memcpy(none, rest, strlen(rest) + 1); // one byte more, for which there is room
}

// Two lines: what, and with what.
static void write_lines(const mlt_goal_program *program, box *b)
{
    char text[MLT_DRAW_TEXT_BYTES];
    const mlt_goal_action *action = &program->rank[b->rank].actions[b->action];
    const char *label = mlt_draw_label(program, action), *rest = "", *unit = "";
    mlt_goal_print_action(program, b->rank, action, text, sizeof text - 2);
    without_none(text);
    char *cut = strstr(text, " then "), *with = strstr(text, " with ");
    if (cut)
        rest = cut + 1;
    else if (with) {
        cut = with;
        rest = cut + strlen(" with ");
    } else if (action->kind == MLT_GOAL_CALC) { // "calc 400", "cpu 1"
        cut = text + strlen("calc ") + strspn(text + strlen("calc "), "0123456789");
        rest = *cut ? cut + 1 : cut;
        unit = " ns";
    } else if ((cut = strchr(text, ' '))) {
        rest = cut + 1;
    }
    snprintf(b->line[1], sizeof b->line[1], "%.*s", LONGEST_LINE * 3, rest);
    if (cut)
        *cut = '\0';
    snprintf(b->line[0], sizeof b->line[0], "%.*s%s%.*s%s", LONGEST_LINE, label, *label ? ": " : "",
             LONGEST_LINE * 2, text, unit);
    shorten(b->line[0]);
    shorten(b->line[1]);
}

static void make_boxes(dag *d)
{
    const mlt_goal_program *program = d->drawing->program;
    d->lanes_count = d->drawing->last - d->drawing->first + 1;
    d->lanes = mlt_xcalloc(d->lanes_count, sizeof *d->lanes);
    d->first = mlt_xcalloc(d->lanes_count + 1, sizeof *d->first);
    for (uint32_t i = 0; i < d->lanes_count; i++)
        d->first[i + 1] = d->first[i] + program->rank[d->drawing->first + i].count;
    d->count = d->first[d->lanes_count];
    d->boxes = mlt_xcalloc(d->count, sizeof *d->boxes);
    for (uint32_t i = 0; i < d->lanes_count; i++)
        for (uint32_t n = d->first[i]; n < d->first[i + 1]; n++) {
            d->boxes[n].rank = d->drawing->first + i;
            d->boxes[n].action = n - d->first[i];
            write_lines(program, &d->boxes[n]);
        }
}

static void add_edge(dag *d, uint32_t from, uint32_t to, edge_kind kind)
{
    *MLT_ARRAY_ADD(d->edges, d->edges_count, d->edges_room) = (edge){from, to, kind};
}

static void make_edges(dag *d)
{
    const mlt_drawing *drawing = d->drawing;
    for (uint32_t i = 0; i < d->lanes_count; i++) {
        uint32_t rank = drawing->first + i;
        const mlt_goal_rank *r = &drawing->program->rank[rank];
        mlt_goal_graph *graph = mlt_goal_graph_new(r);
        for (uint32_t a = 0; a < r->count; a++) {
            for (uint32_t j = graph->before_at[a]; j < graph->before_at[a + 1]; j++) {
                uint32_t on = graph->before[j];
                add_edge(d, d->first[i] + mlt_goal_plain(on), d->first[i] + a,
                         on & MLT_GOAL_STARTED ? STARTS : REQUIRES);
            }
            mlt_goal_place other = mlt_goal_partner(drawing->pairs, rank, a);
            if (r->actions[a].kind == MLT_GOAL_SEND && other.action != MLT_GOAL_NONE &&
                other.rank >= drawing->first && other.rank <= drawing->last)
                add_edge(d, d->first[i] + a, d->first[other.rank - drawing->first] + other.action,
                         MESSAGE);
        }
        mlt_goal_graph_free(graph);
    }
}

// ---- rows: the longest chain that ends in a box

// Edges by the box where they begin (or end): list[at[b] .. at[b + 1]) are those of box b.
static void index_edges(const dag *d, bool by_end, uint32_t **at, uint32_t **list)
{
    *at = mlt_xcalloc(d->count + 2, sizeof **at);
    *list = mlt_xcalloc(d->edges_count, sizeof **list);
    for (uint32_t e = 0; e < d->edges_count; e++)
        (*at)[(by_end ? d->edges[e].to : d->edges[e].from) + 2]++;
    for (uint32_t b = 2; b < d->count + 2; b++)
        (*at)[b] += (*at)[b - 1];
    for (uint32_t e = 0; e < d->edges_count; e++)
        (*list)[(*at)[(by_end ? d->edges[e].to : d->edges[e].from) + 1]++] = e;
}

static void dag_make_rows(dag *d)
{
    uint32_t *at, *next, *sources = mlt_xcalloc(d->count, sizeof *sources);
    uint32_t *queue = mlt_xcalloc(d->count, sizeof *queue), done = 0, end = 0;
    bool *placed = mlt_xcalloc(d->count, sizeof *placed);
    index_edges(d, false, &at, &next);
    for (uint32_t e = 0; e < d->edges_count; e++)
        sources[d->edges[e].to]++;
    for (uint32_t b = 0; b < d->count; b++)
        if (!sources[b])
            queue[end++] = b;
    while (done < end) {
        uint32_t b = queue[done++];
        placed[b] = true;
        for (uint32_t i = at[b]; i < at[b + 1]; i++) {
            box *to = &d->boxes[d->edges[next[i]].to];
            if (to->row < d->boxes[b].row + 1)
                to->row = d->boxes[b].row + 1;
            if (--sources[to - d->boxes] == 0)
                queue[end++] = (uint32_t)(to - d->boxes);
        }
    }
    for (uint32_t b = 0; b < end; b++)
        if (d->boxes[queue[b]].row + 1 > d->rows)
            d->rows = d->boxes[queue[b]].row + 1;
    // What waits for itself comes below all that does not, one after the other in each lane.
    uint32_t below = d->rows;
    for (uint32_t i = 0; i < d->lanes_count; i++) {
        uint32_t row = below;
        for (uint32_t b = d->first[i]; b < d->first[i + 1]; b++)
            if (!placed[b]) {
                d->cyclic = true;
                d->boxes[b].row = row++;
            }
        d->rows = row > d->rows ? row : d->rows;
    }
}

// Of many boxes that stand side by side in a lane some go below the others, in rows of their own: a
// picture that is a hundred times as wide as high is none.
static void fold_rows(dag *d)
{
    // Of each row: where it begins, and of a lane how many boxes it has and how many are placed.
    uint32_t *begin = mlt_xcalloc(d->rows + 1, sizeof *begin),
             *count = mlt_xcalloc(d->rows, sizeof *count);
    uint32_t *placed = mlt_xcalloc(d->rows, sizeof *placed);
    for (int placing = 0; placing < 2; placing++) {
        for (uint32_t i = 0; i < d->lanes_count; i++) {
            memset(count, 0, d->rows * sizeof *count);
            memset(placed, 0, d->rows * sizeof *placed);
            for (uint32_t b = d->first[i]; b < d->first[i + 1]; b++)
                count[d->boxes[b].row]++;
            for (uint32_t b = d->first[i]; b < d->first[i + 1]; b++) {
                uint32_t row = d->boxes[b].row;
                uint32_t lines = (count[row] + MOST_SLOTS - 1) / MOST_SLOTS;
                if (placing)
                    d->boxes[b].row = begin[row] + placed[row]++ * lines / count[row];
                else if (lines > begin[row + 1])
                    begin[row + 1] = lines;
            }
        }
        for (uint32_t row = 0; row < d->rows && !placing; row++)
            begin[row + 1] += begin[row];
    }
    d->rows = begin[d->rows];
}

// ---- slots: near what a box waits for

typedef struct wish {
    uint32_t box;
    double slot; // where it would stand best
} wish;

static int by_wish(const void *a, const void *b)
{
    const wish *x = a, *y = b;
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return (x->box > y->box) - (x->box < y->box);
}

// The boxes of one lane and row, from left to right.
static void place_row(dag *d, lane *l, wish *row, uint32_t count)
{
    qsort(row, count, sizeof *row, by_wish);
    uint32_t next = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(row[i].slot + 0.5);
        if (slot < next)
            slot = next;
        if (slot > l->slots - (count - i))
            slot = l->slots - (count - i);
        d->boxes[row[i].box].slot = slot;
        next = slot + 1;
    }
}

// Boxes of a lane in the order of their rows (in the wishes' slots, to begin with).
static wish *rows_of(const dag *d, uint32_t i)
{
    uint32_t count = d->first[i + 1] - d->first[i];
    wish *order = mlt_xcalloc(count, sizeof *order);
    for (uint32_t n = 0; n < count; n++)
        order[n] = (wish){d->first[i] + n, d->boxes[d->first[i] + n].row};
    qsort(order, count, sizeof *order, by_wish);
    return order;
}

static void place_lane(dag *d, uint32_t i, const uint32_t *at, const uint32_t *before)
{
    uint32_t count = d->first[i + 1] - d->first[i];
    wish *order = rows_of(d, i);
    for (uint32_t n = 0, end; n < count; n = end) {
        for (end = n; end < count && d->boxes[order[end].box].row == d->boxes[order[n].box].row;)
            end++;
        if (end - n > d->lanes[i].slots)
            d->lanes[i].slots = end - n;
    }
    for (uint32_t n = 0, end; n < count; n = end) {
        uint32_t row = d->boxes[order[n].box].row;
        for (end = n; end < count && d->boxes[order[end].box].row == row; end++) {
            uint32_t b = order[end].box, known = 0;
            double sum = 0;
            for (uint32_t j = at[b]; j < at[b + 1]; j++) {
                const box *on = &d->boxes[d->edges[before[j]].from];
                if (on->rank == d->boxes[b].rank && on->row < row) {
                    sum += on->slot;
                    known++;
                }
            }
            order[end].slot = known ? sum / known : end - n;
        }
        place_row(d, &d->lanes[i], order + n, end - n);
    }
}

// Rows stand further apart where many messages go between two of them.
static void make_gap(dag *d)
{
    uint32_t *messages = mlt_xcalloc((size_t)d->rows + 1, sizeof *messages), most = 0;
    for (uint32_t e = 0; e < d->edges_count; e++)
        if (d->edges[e].kind == MESSAGE && ++messages[d->boxes[d->edges[e].from].row] > most)
            most++;
    d->gap = SMALLEST_GAP + (most > MESSAGE_GAP ? 2.5 * (most - MESSAGE_GAP) : 0);
    if (d->gap > LARGEST_GAP)
        d->gap = LARGEST_GAP;
}

static void make_places(dag *d)
{
    uint32_t *at, *before;
    index_edges(d, true, &at, &before);
    double x = DAG_MARGIN;
    for (uint32_t i = 0; i < d->lanes_count; i++) {
        lane *l = &d->lanes[i];
        l->slots = 1;
        place_lane(d, i, at, before);
        size_t letters = 0;
        for (uint32_t b = d->first[i]; b < d->first[i + 1]; b++)
            for (int line = 0; line < 2; line++) {
                size_t n = mlt_svg_letters(d->boxes[b].line[line]);
                letters = n > letters ? n : letters;
            }
        l->box_width = (double)letters * MLT_SVG_CHAR + 16;
        if (l->box_width < SMALLEST_BOX)
            l->box_width = SMALLEST_BOX;
        l->x = x;
        l->width = l->slots * (l->box_width + GUTTER) + GUTTER;
        for (uint32_t b = d->first[i]; b < d->first[i + 1]; b++) {
            d->boxes[b].x = x + GUTTER + d->boxes[b].slot * (l->box_width + GUTTER);
            d->boxes[b].y = DAG_TOP + (double)d->boxes[b].row * (BOX_HEIGHT + d->gap);
        }
        x += l->width + LANE_GAP;
    }
}

// ---- drawing

static double centre(const dag *d, const box *b)
{
    return b->x + d->lanes[b->rank - d->drawing->first].box_width / 2;
}

static const char *const edge_class[] = {[REQUIRES] = "dep", [STARTS] = "start", [MESSAGE] = "msg"};
static const char *const edge_head[] = {[REQUIRES] = "dep", [STARTS] = "dep", [MESSAGE] = "msg"};

// An S between two points, upright at both ends.
static void curve(FILE *to, double x0, double y0, double x1, double y1)
{
    double half = (y1 - y0) / 2;
    fprintf(to, "C%.1f %.1f %.1f %.1f %.1f %.1f", x0, y0 + half, x1, y1 - half, x1, y1);
}

static void draw_edge(const dag *d, FILE *to, uint32_t number)
{
    const edge *e = &d->edges[number];
    const box *from = &d->boxes[e->from], *at = &d->boxes[e->to];
    double x0 = centre(d, from), x1 = centre(d, at), y0 = from->y + BOX_HEIGHT, y1 = at->y - 1;
    if (e->kind == MESSAGE) { // beside the dependencies, on the side where it comes from
        double side = x1 > x0 ? 14 : x1 < x0 ? -14 : 0;
        x0 += side;
        x1 -= side;
    }
    double width = d->lanes[at->rank - d->drawing->first].box_width;
    double spread = (double)(number % 5) * 3 - 6;
    double gutter = x0 < at->x ? at->x - GUTTER / 2 : at->x + width + GUTTER / 2;
    gutter += spread;
    fprintf(to, "<path class=\"%s\" marker-end=\"url(#%s)\" d=\"M%.1f %.1f", edge_class[e->kind],
            edge_head[e->kind], x0, y0);
    if (at->row == from->row + 1) {
        curve(to, x0, y0, x1, y1);
    } else if (at->row > from->row) {
        curve(to, x0, y0, gutter, y0 + d->gap);
        fprintf(to, "V%.1f", y1 - d->gap + 1);
        curve(to, gutter, y1 - d->gap + 1, x1, y1);
    } else { // back up: a cycle
        fprintf(to, "C%.1f %.1f %.1f %.1f %.1f %.1f", x0, y0 + d->gap / 2, gutter, y0 + d->gap / 2,
                gutter, y0);
        fprintf(to, "V%.1f", at->y);
        fprintf(to, "C%.1f %.1f %.1f %.1f %.1f %.1f", gutter, y1 - d->gap / 2, x1, y1 - d->gap / 2,
                x1, y1);
    }
    fprintf(to, "\"/>\n");
}

static void draw_box(const dag *d, FILE *to, uint32_t number)
{
    const mlt_goal_program *program = d->drawing->program;
    const box *b = &d->boxes[number];
    const mlt_goal_action *action = &program->rank[b->rank].actions[b->action];
    double width = d->lanes[b->rank - d->drawing->first].box_width;
    mlt_svg_colours c = mlt_svg_colours_of(action->kind);
    char text[MLT_DRAW_TEXT_BYTES];
    fprintf(to, "<g class=\"action\">");
    mlt_svg_tooltip(to, mlt_goal_describe(program, b->rank, b->action, text, sizeof text));
    fprintf(to,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"4\" fill=\"%s\" "
            "stroke=\"%s\"/>\n",
            b->x, b->y, width, BOX_HEIGHT, c.fill, c.line);
    bool two = *b->line[1];
    mlt_svg_text(to, centre(d, b), b->y + (two ? 14.5 : 21), "class=\"b\" text-anchor=\"middle\"",
                 b->line[0]);
    if (two)
        mlt_svg_text(to, centre(d, b), b->y + 28, "text-anchor=\"middle\"", b->line[1]);
    fprintf(to, "</g>\n");
}

static void draw_lanes(const dag *d, FILE *to, double bottom)
{
    for (uint32_t i = 0; i < d->lanes_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "rank %" PRIu32, d->drawing->first + i);
        fprintf(to,
                "<rect x=\"%.1f\" y=\"58\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" fill=\"%s\"/>\n",
                d->lanes[i].x, d->lanes[i].width, bottom - 58, MLT_SVG_LANE);
        mlt_svg_text(to, d->lanes[i].x + d->lanes[i].width / 2, 76,
                     "class=\"b\" text-anchor=\"middle\"", name);
    }
}

static void dag_draw_legend(const dag *d, FILE *to, double y)
{
    bool used[MLT_GOAL_KINDS] = {false}, edges[3] = {false};
    for (uint32_t b = 0; b < d->count; b++)
        used[d->drawing->program->rank[d->boxes[b].rank].actions[d->boxes[b].action].kind] = true;
    for (uint32_t e = 0; e < d->edges_count; e++)
        edges[d->edges[e].kind] = true;
    double x = mlt_svg_legend(to, DAG_MARGIN, y, used);
    if (edges[REQUIRES])
        x = mlt_svg_sample(to, x, y, "dep", "then");
    if (edges[STARTS])
        x = mlt_svg_sample(to, x, y, "start", "once started");
    if (edges[MESSAGE])
        mlt_svg_sample(to, x, y, "msg", "message");
}

void mlt_draw_dag(const mlt_drawing *drawing, FILE *to)
{
    dag d = {.drawing = drawing};
    make_boxes(&d);
    make_edges(&d);
    dag_make_rows(&d);
    fold_rows(&d);
    make_gap(&d);
    make_places(&d);
    const lane *last = &d.lanes[d.lanes_count - 1];
    double bottom = DAG_TOP + (double)d.rows * (BOX_HEIGHT + d.gap) - d.gap + 14;
    if (!d.rows)
        bottom = DAG_TOP;
    double width = last->x + last->width + DAG_MARGIN;
    mlt_svg_begin(to, width < TITLE_WIDTH ? TITLE_WIDTH : width, bottom + 40, drawing->title);
    mlt_svg_text(to, DAG_MARGIN, 28, "class=\"title\"", drawing->title);
    mlt_svg_text(to, DAG_MARGIN, 46, "class=\"note\"",
                 d.cyclic
                     ? "Some actions wait for themselves in a circle: they stand at the bottom."
                     : "Arrows lead to what waits for them.");
    draw_lanes(&d, to, bottom);
    for (uint32_t e = 0; e < d.edges_count; e++)
        draw_edge(&d, to, e);
    for (uint32_t b = 0; b < d.count; b++)
        draw_box(&d, to, b);
    dag_draw_legend(&d, to, bottom + 26);
    mlt_svg_end(to);
}
