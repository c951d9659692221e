// SPDX-License-Identifier: BSD-3-Clause
// Places for boxes, by the layered method (Sugiyama's): columns by the longest path, order within a
// column by the barycentres of neighbours, then y as near to neighbours as the order allows.
//
// A link that leads over several columns gets a dummy box, of no size, in each column between, so
// that it is ordered with the rest. Back edges are those that would close a cycle of vectors, in the
// order of links; within a vector those that lead to a lower number.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tools/draw/flow.h"
#include "tools/draw/svg.h"

enum {
    FLOW_LAYOUT_TOP = 64, // below title and note
    HEAD = 36,            // of a box: title and note
    FLOW_LAYOUT_ROW = 15, // of a port with a label
    GAP = 14,             // between boxes
    THIN = 10,            // between links that pass
    BAND_GAP = 14,
    LANE = 11, // of links that go around
    SWEEPS = 16,
    MOST_HOPS = 6000, // above it crossings are not counted
};

// ---- the lists

mlt_scene_box *mlt_scene_add_box(mlt_scene *s)
{
    mlt_scene_box *b = MLT_ARRAY_ADD(s->boxes, s->box_count, s->box_room);
    *b = (mlt_scene_box){.group = s->box_count - 1};
    return b;
}

mlt_scene_link *mlt_scene_add_link(mlt_scene *s, uint32_t from, uint32_t to)
{
    mlt_scene_link *l = MLT_ARRAY_ADD(s->links, s->link_count, s->link_room);
    *l = (mlt_scene_link){.from = from, .to = to, .heat = -1, .thickness = 1.3};
    return l;
}

// ---- columns

typedef struct grouping {
    uint32_t *from, *to; // arcs between groups that are forward
    uint32_t arcs;
    bool *seen;
} grouping;

static bool reaches(grouping *g, uint32_t from, uint32_t to)
{
    if (from == to)
        return true;
    if (g->seen[from])
        return false;
    g->seen[from] = true;
    for (uint32_t a = 0; a < g->arcs; a++)
        if (g->from[a] == from && reaches(g, g->to[a], to))
            return true;
    return false;
}

// Which links lead back. Between groups each pair is asked once.
static void find_back(mlt_scene *s)
{
    grouping g = {.from = mlt_xcalloc(s->link_count + 1, sizeof *g.from),
                  .to = mlt_xcalloc(s->link_count + 1, sizeof *g.to),
                  .seen = mlt_xcalloc(s->box_count + 1, sizeof *g.seen)};
    uint32_t *back_from = mlt_xcalloc(s->link_count + 1, sizeof *back_from);
    uint32_t *back_to = mlt_xcalloc(s->link_count + 1, sizeof *back_to), backs = 0;
    for (uint32_t i = 0; i < s->link_count; i++) {
        mlt_scene_link *l = &s->links[i];
        const mlt_scene_box *from = &s->boxes[l->from], *to = &s->boxes[l->to];
        if (l->loose || from->group == to->group) {
            l->back = l->loose || to->number <= from->number;
            continue;
        }
        bool known = false;
        for (uint32_t a = 0; a < g.arcs && !known; a++)
            known = g.from[a] == from->group && g.to[a] == to->group;
        for (uint32_t a = 0; a < backs && !known; a++)
            known = l->back = back_from[a] == from->group && back_to[a] == to->group;
        if (known)
            continue;
        memset(g.seen, 0, s->box_count * sizeof *g.seen);
        l->back = reaches(&g, to->group, from->group);
        uint32_t *into = l->back ? back_from : g.from, *onto = l->back ? back_to : g.to;
        uint32_t *count = l->back ? &backs : &g.arcs;
        into[*count] = from->group;
        onto[(*count)++] = to->group;
    }
}

// The first box of the same instance: parts of a reduction have one. [box_count]
static uint32_t *find_leaders(const mlt_scene *s)
{
    uint32_t *leader = mlt_xcalloc(s->box_count + 1, sizeof *leader);
    for (uint32_t i = 0; i < s->box_count; i++) {
        const mlt_scene_box *b = &s->boxes[i];
        leader[i] = i;
        for (uint32_t k = 0; k < i && b->kind == MLT_FLOW_REDUCE && leader[i] == i; k++)
            if (s->boxes[k].group == b->group && s->boxes[k].number == b->number)
                leader[i] = k;
    }
    return leader;
}

// Parts of a reduction stand below each other.
static bool align(mlt_scene *s, const uint32_t *leader)
{
    bool moved = false;
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < s->box_count; i++) {
            uint32_t *own = &s->boxes[i].column, *first = &s->boxes[leader[i]].column;
            if (turn == 0 && *own > *first)
                *first = *own;
            else if (turn == 1 && *own < *first) {
                *own = *first;
                moved = true;
            }
        }
    return moved;
}

static void find_columns(mlt_scene *s)
{
    find_back(s);
    uint32_t *leader = find_leaders(s);
    // The longest path: as long as a link has too few columns, its end moves right. Without cycles
    // that ends; the number of turns is bounded by that of boxes.
    bool moved = true;
    for (uint32_t turn = 0; turn <= s->box_count && moved; turn++) {
        moved = false;
        for (uint32_t i = 0; i < s->link_count; i++) {
            const mlt_scene_link *l = &s->links[i];
            if (!l->back && s->boxes[l->to].column < s->boxes[l->from].column + 1) {
                s->boxes[l->to].column = s->boxes[l->from].column + 1;
                moved = true;
            }
        }
        moved = align(s, leader) || moved;
    }
    // What nothing leads to stands beside what it leads to.
    uint32_t *nearest = mlt_xcalloc(s->box_count + 1, sizeof *nearest);
    bool *fed = mlt_xcalloc(s->box_count + 1, sizeof *fed);
    memset(nearest, 0xff, s->box_count * sizeof *nearest);
    for (uint32_t i = 0; i < s->link_count; i++) {
        const mlt_scene_link *l = &s->links[i];
        if (l->back)
            continue;
        fed[l->to] = true;
        if (s->boxes[l->to].column < nearest[l->from])
            nearest[l->from] = s->boxes[l->to].column;
    }
    for (uint32_t i = 0; i < s->box_count; i++)
        if (!fed[i] && nearest[i] != UINT32_MAX && s->boxes[i].kind != MLT_FLOW_REDUCE)
            s->boxes[i].column = nearest[i] - 1;
    for (uint32_t i = 0; i < s->box_count; i++)
        if (s->boxes[i].column >= s->columns)
            s->columns = s->boxes[i].column + 1;
    // A link that was marked as back but now ends further right is drawn forward.
    for (uint32_t i = 0; i < s->link_count; i++) {
        mlt_scene_link *l = &s->links[i];
        l->back = s->boxes[l->to].column <= s->boxes[l->from].column;
    }
}

// ---- ports and sizes

static uint32_t port_of(mlt_scene_box *b, uint32_t key, bool left, const char *label)
{
    for (size_t i = 0; i < b->port_count; i++)
        if (b->ports[i].key == key && b->ports[i].left == left)
            return (uint32_t)i;
    b->ports = mlt_xrealloc(b->ports, b->port_count + 1, sizeof *b->ports);
    mlt_scene_port *p = &b->ports[b->port_count];
    *p = (mlt_scene_port){.key = key, .left = left};
    snprintf(p->label, sizeof p->label, "%s", label);
    return (uint32_t)b->port_count++;
}

static void find_ports(mlt_scene *s)
{
    for (uint32_t i = 0; i < s->link_count; i++) {
        mlt_scene_link *l = &s->links[i];
        mlt_scene_box *from = &s->boxes[l->from], *to = &s->boxes[l->to];
        bool straight_back = to->column + 1 == from->column;
        bool same = to->column == from->column;
        // Outputs and inputs have keys of their own; those of collectives share one a side.
        l->from_port = port_of(from, l->out * 2, straight_back, l->out_label);
        l->to_port = port_of(to, l->in * 2 + 1, !straight_back && !same, l->in_label);
    }
}

static void size_box(mlt_scene_box *b)
{
    bool labels = false;
    int side[2] = {0, 0};
    size_t widest[2] = {0, 0};
    for (size_t i = 0; i < b->port_count; i++) {
        mlt_scene_port *p = &b->ports[i];
        labels = labels || *p->label;
        size_t n = mlt_svg_letters(p->label);
        if (n > widest[p->left])
            widest[p->left] = n;
    }
    int rows[2] = {0, 0};
    for (size_t i = 0; i < b->port_count; i++)
        rows[b->ports[i].left]++;
    int most = rows[0] > rows[1] ? rows[0] : rows[1];
    b->height = HEAD;
    if (labels)
        b->height += most * FLOW_LAYOUT_ROW + 4;
    else if (most > 2)
        b->height += (most - 2) * 9;
    for (size_t i = 0; i < b->port_count; i++) {
        mlt_scene_port *p = &b->ports[i];
        int k = side[p->left]++;
        p->y = labels ? HEAD + k * FLOW_LAYOUT_ROW + 8 : b->height * (k + 1) / (rows[p->left] + 1);
    }
    double letters = (double)mlt_svg_letters(b->title), note = (double)mlt_svg_letters(b->note);
    double inner = letters > note ? letters : note;
    double sides = labels ? (double)(widest[0] + widest[1]) + 2 : 0;
    inner = sides > inner ? sides : inner;
    b->width = inner * MLT_SVG_CHAR + 22;
    if (b->kind != MLT_FLOW_MODULE)
        b->width += 12; // slanted sides
    if (b->width < 56)
        b->width = 56;
}

// Instances of a vector are equally wide.
static void size_boxes(mlt_scene *s)
{
    double *widest = mlt_xcalloc(s->box_count + 1, sizeof *widest);
    uint32_t groups = s->box_count;
    for (uint32_t i = 0; i < s->box_count; i++) {
        size_box(&s->boxes[i]);
        uint32_t g = s->boxes[i].group;
        if (g < groups && s->boxes[i].width > widest[g])
            widest[g] = s->boxes[i].width;
    }
    for (uint32_t i = 0; i < s->box_count; i++)
        if (s->boxes[i].group < groups)
            s->boxes[i].width = widest[s->boxes[i].group];
}

static void split_long(mlt_scene *s)
{
    s->real_count = s->box_count;
    for (uint32_t i = 0; i < s->link_count; i++) {
        uint32_t from = s->boxes[s->links[i].from].column, to = s->boxes[s->links[i].to].column;
        if (s->links[i].back || to <= from + 1)
            continue;
        uint32_t n = to - from - 1;
        s->links[i].through = mlt_xcalloc(n, sizeof *s->links[i].through);
        s->links[i].through_count = n;
        for (uint32_t k = 0; k < n; k++) {
            // In the band of its nearer end.
            uint32_t end = k < n / 2 ? s->links[i].from : s->links[i].to;
            uint32_t band = s->boxes[end].band;
            s->links[i].through[k] = s->box_count;
            mlt_scene_box *b = mlt_scene_add_box(s);
            b->band = band;
            b->column = from + 1 + k;
        }
    }
}

// ---- order

typedef struct layout {
    mlt_scene *s;
    uint32_t *order;                   // boxes, column by column
    uint32_t *first;                   // [columns + 1]
    uint32_t *in_column;               // [boxes] number in its column
    uint32_t *ends, *begin;            // neighbours of a box: ends[begin[b]] ...; both directions
    double *offset_own, *offset_other; // of the link's ports, for each neighbour
    double *want;                      // [boxes] place in 0..1 while ordering; later y
} layout;

static int by_want(const void *a, const void *b, void *arg)
{
    const layout *l = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const mlt_scene_box *p = &l->s->boxes[x], *q = &l->s->boxes[y];
    if (p->band != q->band)
        return p->band < q->band ? -1 : 1;
    if (l->want[x] != l->want[y])
        return l->want[x] < l->want[y] ? -1 : 1;
    return l->in_column[x] < l->in_column[y] ? -1 : l->in_column[x] > l->in_column[y];
}

static void number_column(layout *l, uint32_t column)
{
    for (uint32_t i = l->first[column]; i < l->first[column + 1]; i++)
        l->in_column[l->order[i]] = i - l->first[column];
}

// Calls for each hop of each link, through dummy boxes.
typedef void flow_layout_hop(layout *l, uint32_t a, double offset_a, uint32_t b, double offset_b);

static void each_hop(layout *l, flow_layout_hop *f)
{
    const mlt_scene *s = l->s;
    for (uint32_t i = 0; i < s->link_count; i++) {
        const mlt_scene_link *k = &s->links[i];
        if (s->boxes[k->from].column == s->boxes[k->to].column)
            continue;
        if (k->back && s->boxes[k->from].column > s->boxes[k->to].column + 1)
            continue; // around
        uint32_t a = k->from;
        double at = s->boxes[a].ports[k->from_port].y;
        for (uint32_t n = 0; n < k->through_count; n++) {
            f(l, a, at, k->through[n], 0);
            a = k->through[n];
            at = 0;
        }
        f(l, a, at, k->to, s->boxes[k->to].ports[k->to_port].y);
    }
}

static void count_hop(layout *l, uint32_t a, double x, uint32_t b, double y)
{
    l->begin[a]++;
    l->begin[b]++;
}

static void put_hop(layout *l, uint32_t a, double x, uint32_t b, double y)
{
    uint32_t i = --l->begin[a];
    l->ends[i] = b;
    l->offset_own[i] = x;
    l->offset_other[i] = y;
    i = --l->begin[b];
    l->ends[i] = a;
    l->offset_own[i] = y;
    l->offset_other[i] = x;
}

static void find_neighbours(layout *l)
{
    uint32_t n = l->s->box_count;
    l->begin = mlt_xcalloc(n + 2, sizeof *l->begin);
    each_hop(l, count_hop);
    for (uint32_t i = 0; i < n; i++)
        l->begin[i + 1] += l->begin[i];
    l->begin[n] = n ? l->begin[n - 1] : 0;
    l->ends = mlt_xcalloc(l->begin[n] + 1, sizeof *l->ends);
    l->offset_own = mlt_xcalloc(l->begin[n] + 1, sizeof *l->offset_own);
    l->offset_other = mlt_xcalloc(l->begin[n] + 1, sizeof *l->offset_other);
    each_hop(l, put_hop);
}

// Instances of a vector stay in their order, in which they were before: they exchange what they
// want.
static void keep_vectors(layout *l, uint32_t column)
{
    const mlt_scene *s = l->s;
    for (uint32_t i = l->first[column]; i < l->first[column + 1]; i++)
        for (uint32_t k = i + 1; k < l->first[column + 1]; k++) {
            uint32_t a = l->order[i], b = l->order[k];
            if (a < s->real_count && b < s->real_count && s->boxes[a].group == s->boxes[b].group &&
                s->boxes[a].band == s->boxes[b].band && l->want[a] > l->want[b]) {
                double want = l->want[a];
                l->want[a] = l->want[b];
                l->want[b] = want;
            }
        }
}

// Sorts a column by where the boxes' neighbours in a column beside it stand.
static void sort_column(layout *l, uint32_t column, uint32_t neighbour_column)
{
    const mlt_scene *s = l->s;
    double other = (double)(l->first[neighbour_column + 1] - l->first[neighbour_column]);
    double own = (double)(l->first[column + 1] - l->first[column]);
    for (uint32_t i = l->first[column]; i < l->first[column + 1]; i++) {
        uint32_t b = l->order[i], n = 0;
        double sum = 0;
        for (uint32_t k = l->begin[b]; k < l->begin[b + 1]; k++)
            if (s->boxes[l->ends[k]].column == neighbour_column) {
                sum += ((double)l->in_column[l->ends[k]] + 0.5) / other +
                       l->offset_other[k] * 1e-6; // ports keep their order
                n++;
            }
        l->want[b] = n ? sum / n : ((double)l->in_column[b] + 0.5) / own;
    }
    keep_vectors(l, column);
    qsort_r(l->order + l->first[column], l->first[column + 1] - l->first[column], sizeof *l->order,
            by_want, l);
    number_column(l, column);
}

// How often links cross between columns. Too many links: 0, and the last order is taken.
static uint64_t crossings(const layout *l)
{
    const mlt_scene *s = l->s;
    uint64_t n = 0;
    if (l->begin[s->box_count] > MOST_HOPS)
        return 0;
    for (uint32_t a = 0; a < s->box_count; a++)
        for (uint32_t i = l->begin[a]; i < l->begin[a + 1]; i++) {
            if (s->boxes[l->ends[i]].column != s->boxes[a].column + 1)
                continue;
            uint32_t column = s->boxes[a].column;
            for (uint32_t k = l->first[column]; k < l->first[column + 1]; k++) {
                uint32_t b = l->order[k];
                for (uint32_t j = l->begin[b]; j < l->begin[b + 1] && b != a; j++)
                    n += s->boxes[l->ends[j]].column == column + 1 &&
                         l->in_column[a] < l->in_column[b] &&
                         l->in_column[l->ends[i]] > l->in_column[l->ends[j]];
            }
        }
    return n;
}

// Sorts the columns in turns, and keeps the order that had the fewest crossings; the order of the
// file if none is better.
static void keep_best(layout *l)
{
    const mlt_scene *s = l->s;
    size_t bytes = s->box_count * sizeof *l->order;
    uint32_t *best = mlt_xcalloc(s->box_count + 1, sizeof *best);
    memcpy(best, l->order, bytes);
    uint64_t fewest = crossings(l);
    for (int turn = 0; turn < SWEEPS && (fewest || l->begin[s->box_count] > MOST_HOPS); turn++) {
        for (uint32_t c = 1; c < s->columns; c++) {
            if (turn % 2 == 0)
                sort_column(l, c, c - 1);
            else
                sort_column(l, s->columns - 1 - c, s->columns - c);
        }
        uint64_t now = crossings(l);
        if (now < fewest || l->begin[s->box_count] > MOST_HOPS) {
            fewest = now;
            memcpy(best, l->order, bytes);
        }
    }
    memcpy(l->order, best, bytes);
    for (uint32_t c = 0; c < s->columns; c++)
        number_column(l, c);
}

static void find_order(layout *l)
{
    mlt_scene *s = l->s;
    l->order = mlt_xcalloc(s->box_count + 1, sizeof *l->order);
    l->in_column = mlt_xcalloc(s->box_count + 1, sizeof *l->in_column);
    l->want = mlt_xcalloc(s->box_count + 1, sizeof *l->want);
    l->first = mlt_xcalloc(s->columns + 2, sizeof *l->first);
    for (uint32_t b = 0; b < s->box_count; b++)
        l->first[s->boxes[b].column + 1]++;
    for (uint32_t c = 0; c < s->columns; c++)
        l->first[c + 1] += l->first[c];
    uint32_t *fill = mlt_xcalloc(s->columns + 1, sizeof *fill);
    for (uint32_t b = 0; b < s->box_count; b++)
        l->order[l->first[s->boxes[b].column] + fill[s->boxes[b].column]++] = b;
    for (uint32_t c = 0; c < s->columns; c++) {
        number_column(l, c);
        qsort_r(l->order + l->first[c], l->first[c + 1] - l->first[c], sizeof *l->order, by_want,
                l); // by bands
        number_column(l, c);
    }
    keep_best(l);
}

// ---- y

// Between two neighbours in a column.
static double gap_between(const mlt_scene *s, uint32_t a, uint32_t b)
{
    return a < s->real_count && b < s->real_count ? GAP : THIN;
}

static void find_bands(layout *l)
{
    mlt_scene *s = l->s;
    uint32_t bands = s->band_count ? s->band_count : 1;
    s->band_y = mlt_xcalloc(bands, sizeof *s->band_y);
    s->band_height = mlt_xcalloc(bands, sizeof *s->band_height);
    for (uint32_t c = 0; c < s->columns; c++) {
        double sum = 0;
        for (uint32_t i = l->first[c]; i < l->first[c + 1]; i++) {
            uint32_t b = l->order[i], band = s->boxes[b].band;
            bool again = i > l->first[c] && s->boxes[l->order[i - 1]].band == band;
            sum = (again ? sum + gap_between(s, l->order[i - 1], b) : 0) + s->boxes[b].height;
            if (sum > s->band_height[band])
                s->band_height[band] = sum;
        }
    }
    double y = FLOW_LAYOUT_TOP;
    for (uint32_t k = 0; k < bands; k++) {
        bool framed = s->band_count > 0;
        bool new_host =
            framed && s->host_count > 1 && (k == 0 || s->host_of_band[k] != s->host_of_band[k - 1]);
        if (new_host)
            y += MLT_SCENE_HOST_HEAD + (k ? MLT_SCENE_HOST_PAD * 2 : 0);
        if (s->band_height[k] < HEAD)
            s->band_height[k] = HEAD;
        s->band_y[k] = y + (framed ? MLT_SCENE_BAND_HEAD + MLT_SCENE_BAND_PAD / 2 : 0);
        y = s->band_y[k] + s->band_height[k] + (framed ? MLT_SCENE_BAND_PAD + BAND_GAP : 0);
    }
    s->bottom = y + (s->band_count && s->host_count > 1 ? MLT_SCENE_HOST_PAD : 0);
}

// As near to what each wants as the order allows, by least squares: neighbours that are in each
// other's way move as one block (pool adjacent violators), within the band.
static void settle(layout *l, uint32_t from, uint32_t to)
{
    mlt_scene *s = l->s;
    uint32_t n = to - from, blocks = 0;
    double *mean = mlt_xcalloc(n, sizeof *mean), *offset = mlt_xcalloc(n, sizeof *offset);
    uint32_t *size = mlt_xcalloc(n, sizeof *size);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = l->order[from + i];
        if (i > 0) {
            uint32_t a = l->order[from + i - 1];
            offset[i] = offset[i - 1] + s->boxes[a].height + gap_between(s, a, b);
        }
        mean[blocks] = l->want[b] - offset[i];
        size[blocks++] = 1;
        while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
            uint32_t both = size[blocks - 2] + size[blocks - 1];
            mean[blocks - 2] =
                (mean[blocks - 2] * size[blocks - 2] + mean[blocks - 1] * size[blocks - 1]) / both;
            size[blocks - 2] = both;
            blocks--;
        }
    }
    uint32_t band = s->boxes[l->order[from]].band, last = l->order[to - 1];
    double low = s->band_y[band],
           high = low + s->band_height[band] - offset[n - 1] - s->boxes[last].height;
    for (uint32_t k = 0, i = 0; k < blocks; k++)
        for (uint32_t m = 0; m < size[k]; m++, i++) {
            double y = mean[k] < low ? low : mean[k] > high ? high : mean[k];
            s->boxes[l->order[from + i]].y = y + offset[i];
        }
}

// side -1: neighbours to the left count, 1: to the right, 0: both.
static void want_ys(layout *l, uint32_t column, int side)
{
    const mlt_scene *s = l->s;
    for (uint32_t i = l->first[column]; i < l->first[column + 1]; i++) {
        uint32_t b = l->order[i], n = 0;
        double sum = 0;
        for (uint32_t k = l->begin[b]; k < l->begin[b + 1]; k++) {
            const mlt_scene_box *other = &s->boxes[l->ends[k]];
            if ((side < 0 && other->column > column) || (side > 0 && other->column < column))
                continue;
            sum += other->y + l->offset_other[k] - l->offset_own[k];
            n++;
        }
        l->want[b] = n ? sum / n : s->boxes[b].y;
    }
}

static void settle_column(layout *l, uint32_t column)
{
    const mlt_scene *s = l->s;
    for (uint32_t from = l->first[column], to; from < l->first[column + 1]; from = to) {
        to = from + 1;
        while (to < l->first[column + 1] &&
               s->boxes[l->order[to]].band == s->boxes[l->order[from]].band)
            to++;
        settle(l, from, to);
    }
}

static void find_y(layout *l)
{
    mlt_scene *s = l->s;
    for (uint32_t c = 0; c < s->columns; c++) { // at first in the middle of their band
        for (uint32_t i = l->first[c]; i < l->first[c + 1]; i++) {
            const mlt_scene_box *b = &s->boxes[l->order[i]];
            l->want[l->order[i]] = s->band_y[b->band] + (s->band_height[b->band] - b->height) / 2;
        }
        settle_column(l, c);
    }
    for (int turn = 0; turn < SWEEPS; turn++)
        for (uint32_t c = 0; c < s->columns; c++) {
            uint32_t column = turn % 2 ? s->columns - 1 - c : c;
            want_ys(l, column, turn + 3 > SWEEPS ? 0 : turn % 2 ? 1 : -1);
            settle_column(l, column);
        }
}

// ---- x

double mlt_scene_bow(const mlt_scene *s, const mlt_scene_link *l)
{
    double apart = s->boxes[l->from].y - s->boxes[l->to].y;
    double bow = 14 + 0.08 * (apart < 0 ? -apart : apart);
    return l->from == l->to ? 30 : bow > 130 ? 130 : bow;
}

static double link_space(const mlt_scene *s, uint32_t column)
{
    uint32_t links = 0;
    bool labels = false;
    double bow = 0;
    for (uint32_t i = 0; i < s->link_count; i++) {
        const mlt_scene_link *l = &s->links[i];
        uint32_t a = s->boxes[l->from].column, b = s->boxes[l->to].column;
        links += (a <= column && b > column) || (b == column && a == column + 1);
        labels = labels || (*l->text && a <= column && b > column);
        if (a == b && a == column && mlt_scene_bow(s, l) > bow)
            bow = mlt_scene_bow(s, l);
    }
    double space = 46 + 2.2 * links + (labels ? 30 : 0) + bow;
    space = space > 150 ? 150 : space;
    double steep = links ? 0.12 * (s->bottom - FLOW_LAYOUT_TOP) : 0; // curves need room
    return space > steep || !links ? space : steep > 220 ? 220 : steep;
}

static void find_x(layout *l)
{
    mlt_scene *s = l->s;
    double side =
        s->band_count ? MLT_SCENE_BAND_PAD + (s->host_count > 1 ? MLT_SCENE_HOST_PAD : 0) : 0;
    double x = MLT_SCENE_MARGIN + side;
    bool around = false;
    for (uint32_t i = 0; i < s->link_count; i++)
        around = around || (s->links[i].back && s->boxes[s->links[i].to].column + 1 <
                                                    s->boxes[s->links[i].from].column);
    x += around ? 26 : 0;
    s->column_x = mlt_xcalloc(s->columns + 1, sizeof *s->column_x);
    for (uint32_t c = 0; c < s->columns; c++) {
        double width = 0;
        for (uint32_t i = l->first[c]; i < l->first[c + 1]; i++)
            if (s->boxes[l->order[i]].width > width)
                width = s->boxes[l->order[i]].width;
        for (uint32_t i = l->first[c]; i < l->first[c + 1]; i++) {
            mlt_scene_box *b = &s->boxes[l->order[i]];
            b->x = x + (width - b->width) / 2;
        }
        s->column_x[c] = x;
        x += width;
        bool last = c + 1 == s->columns;
        double space = link_space(s, c);
        x += last ? (space > 46 ? space - 46 : 0) : space;
    }
    s->width = x + (around ? 26 : 0) + side + MLT_SCENE_MARGIN;
}

// Links that go around get a lane each below everything, the shortest nearest.
static void find_lanes(mlt_scene *s)
{
    uint32_t lanes = 0;
    for (uint32_t span = 2; span < s->columns; span++)
        for (uint32_t i = 0; i < s->link_count; i++) {
            mlt_scene_link *l = &s->links[i];
            if (l->back && s->boxes[l->from].column == s->boxes[l->to].column + span)
                l->lane = s->bottom + 8 + LANE * lanes++;
        }
    if (lanes)
        s->bottom += 14 + LANE * lanes;
}

void mlt_scene_lay_out(mlt_scene *s)
{
    layout l = {.s = s};
    find_columns(s);
    find_ports(s);
    size_boxes(s);
    split_long(s);
    find_neighbours(&l);
    find_order(&l);
    find_bands(&l);
    find_y(&l);
    find_x(&l);
    find_lanes(s);
    s->height = s->bottom + 44;
}
