// SPDX-License-Identifier: BSD-3-Clause
// A scene as SVG: frames, links, boxes, legend, in this order, so that nothing hides a name.
#include <string.h>

#include "tools/draw/flow.h"
#include "tools/draw/svg.h"

enum { OUT = 26 };
#define STACK  3.5 // between boxes that stand for several
#define RADIUS 7.5 // of a round's number

static const struct {
    const char *fill, *line;
} module_colours[] = {
    {"#cfe3fa", "#2563a8"}, {"#d3f0d6", "#2b7a3b"}, {"#ece3f8", "#6d3fb0"}, {"#f9dcdc", "#a83232"},
    {"#d5eef0", "#1f7a80"}, {"#eee8d5", "#7a6a3a"}, {"#e1e5ea", "#4b5563"},
};

static const struct {
    const char *fill, *line;
} kind_colours[] = {
    [MLT_FLOW_REDUCE] = {"#fde6c4", "#a8620a"},
    [MLT_FLOW_BROADCAST] = {"#fff3b0", "#8a7400"},
    [MLT_FLOW_DEAL] = {"#e3eec2", "#637010"},
    [MLT_FLOW_COLLECT] = {"#fbd9ec", "#9c2f6b"},
};

// From cool to hot: no waiting to the most of all.
static const char *const heats[MLT_HEATS] = {"#6b9bd1", "#7fb3a6", "#c9b458",
                                             "#e8963d", "#d9480f", "#a30f0f"};

static const char *link_colour(const mlt_scene_link *l)
{
    if (l->heat >= 0)
        return heats[l->heat];
    switch (l->class_) {
    case MLT_SCENE_FAR:
        return MLT_SVG_MSG;
    case MLT_SCENE_SCHEDULE:
        return MLT_SVG_HOT;
    default:
        return "#4b5563";
    }
}

static bool is_back(const mlt_scene_link *l)
{
    return l->back && !l->ahead && l->class_ != MLT_SCENE_SCHEDULE;
}

static void head_name(const mlt_scene_link *l, char text[16])
{
    if (l->heat >= 0)
        snprintf(text, 16, "heat%d", l->heat);
    else
        snprintf(text, 16, "%s",
                 l->class_ == MLT_SCENE_FAR        ? "msg"
                 : l->class_ == MLT_SCENE_SCHEDULE ? "hot"
                                                   : "dep");
}

static void heat_heads(FILE *to)
{
    fprintf(to, "<defs>\n");
    for (int i = 0; i < MLT_HEATS; i++) {
        char id[16];
        snprintf(id, sizeof id, "heat%d", i);
        mlt_svg_marker(to, id, 12, "auto-start-reverse", heats[i]);
    }
    // Arrows for both ends of the schedule's edges.
    mlt_svg_marker(to, "hotback", 7, "auto-start-reverse", MLT_SVG_HOT);
    fprintf(to, "</defs>\n<style>.halo{paint-order:stroke;stroke:#ffffff;stroke-width:3px;"
                "stroke-linejoin:round}.small{font-size:9.5px}</style>\n");
}

// ---- boxes

static void slanted(FILE *to, const mlt_scene_box *b, double left, double right, const char *fill,
                    const char *line)
{
    // left, right: how much the upper and lower corners of a side are cut.
    fprintf(to,
            "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fz\" fill=\"%s\" stroke=\"%s\" "
            "stroke-linejoin=\"round\"/>\n",
            b->x, b->y + left, b->x + b->width, b->y + right, b->x + b->width,
            b->y + b->height - right, b->x, b->y + b->height - left, fill, line);
}

static void paint_shape(FILE *to, const mlt_scene_box *b, const char *fill, const char *line)
{
    double h = b->height;
    switch (b->kind) {
    case MLT_FLOW_BROADCAST:
        slanted(to, b, h / 6, 0, fill, line);
        break;
    case MLT_FLOW_COLLECT:
        slanted(to, b, 0, h / 6, fill, line);
        break;
    case MLT_FLOW_DEAL:
        fprintf(to,
                "<path d=\"M%.1f %.1fl9 %.1fh%.1fl9 %.1fl-9 %.1fh%.1fz\" fill=\"%s\" "
                "stroke=\"%s\" stroke-linejoin=\"round\"/>\n",
                b->x, b->y + h / 2, -h / 2, b->width - 18, h / 2, h / 2, 18 - b->width, fill, line);
        break;
    default: {
        double round = b->kind == MLT_FLOW_REDUCE ? (h < 40 ? h : 40) / 2 : 4;
        fprintf(to,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" "
                "fill=\"%s\" stroke=\"%s\"/>\n",
                b->x, b->y, b->width, h, round, fill, line);
    }
    }
}

static void paint_box(FILE *to, const mlt_scene_box *b)
{
    enum { COLOURS = sizeof module_colours / sizeof *module_colours };
    bool module = b->kind == MLT_FLOW_MODULE;
    const char *fill =
        module ? module_colours[b->colour % COLOURS].fill : kind_colours[b->kind].fill;
    const char *line =
        module ? module_colours[b->colour % COLOURS].line : kind_colours[b->kind].line;
    double middle = b->x + b->width / 2;
    fprintf(to, "<g class=\"box\">");
    if (*b->tip)
        mlt_svg_tooltip(to, b->tip);
    for (int i = b->many ? 2 : 0; i > 0; i--) {
        mlt_scene_box behind = *b;
        behind.x += STACK * i;
        behind.y -= STACK * i;
        paint_shape(to, &behind, fill, line);
    }
    paint_shape(to, b, fill, line);
    mlt_svg_text(to, middle, b->y + (*b->note ? 15 : 22), "class=\"b\" text-anchor=\"middle\"",
                 b->title);
    if (*b->note)
        mlt_svg_text(to, middle, b->y + 28, "class=\"note\" text-anchor=\"middle\"", b->note);
    for (size_t i = 0; i < b->port_count; i++) {
        const mlt_scene_port *p = &b->ports[i];
        if (*p->label)
            mlt_svg_text(to, p->left ? b->x + 6 : b->x + b->width - 6, b->y + p->y + 3,
                         p->left ? "class=\"small\"" : "class=\"small\" text-anchor=\"end\"",
                         p->label);
    }
    fprintf(to, "</g>\n");
}

// ---- links

typedef struct point {
    double x, y;
} point;

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

static point port_at(const mlt_scene *s, uint32_t box, uint32_t port)
{
    const mlt_scene_box *b = &s->boxes[box];
    const mlt_scene_port *p = &b->ports[port];
    double cut = 0;
    if (b->kind == MLT_FLOW_DEAL) { // its sides lead to a point
        double off = distance(p->y, b->height / 2) / (b->height / 2);
        cut = 9 * off;
    } else if (b->kind == MLT_FLOW_REDUCE) {
        double r = (b->height < 40 ? b->height : 40) / 2, d = 0;
        if (p->y < r)
            d = r - p->y;
        else if (p->y > b->height - r)
            d = p->y - (b->height - r);
        cut = r - mlt_scene_root(r * r - d * d);
    }
    double right = b->x + b->width - cut + (b->many ? 2 * STACK : 0);
    return (point){p->left ? b->x + cut : right, b->y + p->y};
}

// An S that is level at both ends.
static void level(FILE *to, point a, point b)
{
    double half = (b.x - a.x) / 2;
    fprintf(to, "C%.1f %.1f %.1f %.1f %.1f %.1f", a.x + half, a.y, b.x - half, b.y, b.x, b.y);
}

// Where the text stands; the path is written.
static point paint_forward(const mlt_scene *s, FILE *to, const mlt_scene_link *l, point a, point b)
{
    point at = a, middle = {(a.x + b.x) / 2, (a.y + b.y) / 2};
    for (uint32_t i = 0; i < l->through_count; i++) {
        const mlt_scene_box *t = &s->boxes[l->through[i]];
        uint32_t column = t->column;
        double left = s->column_x[column], right = left;
        for (uint32_t k = 0; k < s->real_count; k++) // the column's width
            if (s->boxes[k].column == column && s->boxes[k].x + s->boxes[k].width > right)
                right = s->boxes[k].x + s->boxes[k].width;
        level(to, at, (point){left, t->y});
        fprintf(to, "H%.1f", right);
        at = (point){right, t->y};
        if (i == l->through_count / 2)
            middle = (point){(left + right) / 2, t->y};
    }
    level(to, at, b);
    return middle;
}

// Numbers of rounds that were painted: they should not hide each other.
typedef struct marks {
    point at[512]; // more of them are not looked at
    size_t count;
} marks;

static bool is_free(const marks *m, point p)
{
    for (size_t i = 0; i < m->count; i++) {
        double x = p.x - m->at[i].x, y = p.y - m->at[i].y;
        if (x * x + y * y < 4.2 * RADIUS * RADIUS)
            return false;
    }
    return true;
}

// On the bow from a to b, whose control points are at x: in the middle, or as near to it as is
// free.
static point mark_on_bow(const marks *m, point a, double x, point b)
{
    point middle = {(a.x + b.x) / 8 + x * 0.75, (a.y + b.y) / 2};
    for (int i = 0; i < 14; i++) {
        double t = 0.5 + (i % 2 ? -0.05 : 0.05) * ((i + 1) / 2), u = 1 - t;
        point p = {u * u * u * a.x + 3 * t * u * x + t * t * t * b.x,
                   (u * u * u + 3 * u * u * t) * a.y + (3 * u * t * t + t * t * t) * b.y};
        if (is_free(m, p))
            return p;
    }
    return middle;
}

static point paint_path(const mlt_scene *s, FILE *to, const mlt_scene_link *l, const marks *m)
{
    point a = port_at(s, l->from, l->from_port), b = port_at(s, l->to, l->to_port);
    uint32_t from = s->boxes[l->from].column, at = s->boxes[l->to].column;
    fprintf(to, "M%.1f %.1f", a.x, a.y);
    if (!l->back)
        return paint_forward(s, to, l, a, b);
    if (at + 1 == from) {
        level(to, a, b);
        return (point){(a.x + b.x) / 2, (a.y + b.y) / 2};
    }
    if (at == from) { // a bow beside the column
        double right = a.x > b.x ? a.x : b.x, bow = mlt_scene_bow(s, l);
        if (l->from == l->to) {
            fprintf(to, "C%.1f %.1f %.1f %.1f %.1f %.1f", right + 30, a.y - 26, right + 30,
                    b.y + 26, b.x, b.y);
            return (point){right + 36, (a.y + b.y) / 2 + 8};
        }
        fprintf(to, "C%.1f %.1f %.1f %.1f %.1f %.1f", right + bow, a.y, right + bow, b.y, b.x, b.y);
        return mark_on_bow(m, a, right + bow, b);
    }
    double down = l->lane;
    fprintf(to, "C%.1f %.1f %.1f %.1f %.1f %.1f", a.x + OUT, a.y, a.x + OUT, a.y, a.x + OUT,
            a.y + (down > a.y ? 18 : -18));
    fprintf(to, "L%.1f %.1fQ%.1f %.1f %.1f %.1f", a.x + OUT, down - 10, a.x + OUT, down,
            a.x + OUT - 10, down);
    fprintf(to, "L%.1f %.1fQ%.1f %.1f %.1f %.1f", b.x - OUT + 10, down, b.x - OUT, down, b.x - OUT,
            down - 10);
    fprintf(to, "L%.1f %.1f", b.x - OUT, b.y + 18);
    fprintf(to, "C%.1f %.1f %.1f %.1f %.1f %.1f", b.x - OUT, b.y, b.x - OUT, b.y, b.x, b.y);
    return (point){(a.x + b.x) / 2, down};
}

static void paint_link(const mlt_scene *s, FILE *to, const mlt_scene_link *l, marks *m)
{
    char head[16];
    head_name(l, head);
    fprintf(to, "<g class=\"link\">");
    if (*l->tip)
        mlt_svg_tooltip(to, l->tip);
    fprintf(to, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"%s marker-end=\"url(#%s)\"",
            link_colour(l), l->class_ == MLT_SCENE_WIRE || l->heat >= 0 ? l->thickness : 2.2,
            is_back(l) ? " stroke-dasharray=\"6 3\"" : "", head);
    if (l->both)
        fprintf(to, " marker-start=\"url(#hotback)\"");
    fprintf(to, " d=\"");
    point middle = paint_path(s, to, l, m);
    fprintf(to, "\"/>\n");
    if (*l->text && l->class_ == MLT_SCENE_SCHEDULE) {
        fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#ffffff\" stroke=\"%s\"/>\n",
                middle.x, middle.y, RADIUS, MLT_SVG_HOT);
        if (m->count < sizeof m->at / sizeof *m->at)
            m->at[m->count++] = middle;
        mlt_svg_text(to, middle.x, middle.y + 3.5, "class=\"small\" text-anchor=\"middle\"",
                     l->text);
    } else if (*l->text) {
        mlt_svg_text(to, middle.x, middle.y - 5, "class=\"small halo\" text-anchor=\"middle\"",
                     l->text);
    }
    fprintf(to, "</g>\n");
}

// ---- frames

// A frame, or (fill NULL) its name, which stands above the lines that cross it.
static void frame(FILE *to, double x, double y, double width, double height, const char *fill,
                  const char *line, const char *name)
{
    if (!fill) {
        mlt_svg_text(to, x + 10, y + 15, "class=\"b halo\"", name);
        return;
    }
    fprintf(to,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"7\" fill=\"%s\" "
            "stroke=\"%s\"/>\n",
            x, y, width, height, fill, line);
}

static void paint_frames(const mlt_scene *s, FILE *to, bool names)
{
    double inset = s->host_count > 1 ? MLT_SCENE_HOST_PAD : 0;
    for (uint32_t k = 0, next; k < s->band_count && s->host_count > 1; k = next) {
        next = k + 1;
        while (next < s->band_count && s->host_of_band[next] == s->host_of_band[k])
            next++;
        double top =
            s->band_y[k] - MLT_SCENE_BAND_HEAD - MLT_SCENE_BAND_PAD / 2.0 - MLT_SCENE_HOST_HEAD - 4;
        double bottom = s->band_y[next - 1] + s->band_height[next - 1] + MLT_SCENE_BAND_PAD / 2.0 +
                        MLT_SCENE_HOST_PAD;
        frame(to, MLT_SCENE_MARGIN - 6, top, s->width - 2 * MLT_SCENE_MARGIN + 12, bottom - top,
              names ? NULL : "#ffffff", "#9ca3af", s->host_name[s->host_of_band[k]]);
    }
    for (uint32_t k = 0; k < s->band_count; k++)
        frame(to, MLT_SCENE_MARGIN + inset,
              s->band_y[k] - MLT_SCENE_BAND_HEAD - MLT_SCENE_BAND_PAD / 2.0 + 2,
              s->width - 2 * (MLT_SCENE_MARGIN + inset),
              s->band_height[k] + MLT_SCENE_BAND_HEAD + MLT_SCENE_BAND_PAD,
              names ? NULL : MLT_SVG_LANE, "#d1d5db", s->band_name[k]);
}

// ---- legend

static double sample(FILE *to, double x, double y, const char *colour, double width,
                     const char *dashes, const char *name)
{
    fprintf(to, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"%s d=\"M%.1f %.1fh26\"/>\n",
            colour, width, dashes, x, y - 4);
    mlt_svg_text(to, x + 32, y, "", name);
    return x + 32 + (double)mlt_svg_letters(name) * MLT_SVG_CHAR + 20;
}

// Returns where it ends.
static double paint_legend(const mlt_scene *s, FILE *to, double y)
{
    bool kinds[MLT_FLOW_KINDS] = {false}, back = false, far = false, plan = false;
    for (uint32_t i = 0; i < s->real_count; i++)
        kinds[s->boxes[i].kind] = true;
    for (uint32_t i = 0; i < s->link_count; i++) {
        const mlt_scene_link *l = &s->links[i];
        back = back || is_back(l);
        far = far || l->class_ == MLT_SCENE_FAR;
        plan = plan || l->class_ == MLT_SCENE_SCHEDULE;
    }
    double x = MLT_SCENE_MARGIN;
    for (int k = MLT_FLOW_REDUCE; k < MLT_FLOW_KINDS; k++) {
        if (!kinds[k])
            continue;
        mlt_scene_box b = {
            .kind = (mlt_flow_kind)k, .x = x, .y = y - 12, .width = 26, .height = 14};
        paint_shape(to, &b, kind_colours[k].fill, kind_colours[k].line);
        const char *name = mlt_flow_kind_name((mlt_flow_kind)k);
        mlt_svg_text(to, x + 32, y, "", name);
        x += 32 + (double)strlen(name) * MLT_SVG_CHAR + 20;
    }
    if (back)
        x = sample(to, x, y, "#4b5563", 1.3, " stroke-dasharray=\"6 3\"", "back");
    if (far && !*s->legend)
        x = sample(to, x, y, MLT_SVG_MSG, 2.2, "", "to another worker");
    if (plan)
        x = sample(to, x, y, MLT_SVG_HOT, 2.2, "", "reduction, by round");
    double widest = x;
    if (*s->legend) { // a line of its own
        x = MLT_SCENE_MARGIN;
        y += 20;
        for (int i = 0; i < MLT_HEATS; i++, x += 12)
            fprintf(to, "<path stroke=\"%s\" stroke-width=\"4\" d=\"M%.1f %.1fh12\"/>\n", heats[i],
                    x, y - 4);
        mlt_svg_text(to, x + 6, y, "", s->legend);
        x += 26 + (double)mlt_svg_letters(s->legend) * MLT_SVG_CHAR;
    }
    return x > widest ? x : widest;
}

void mlt_scene_paint(const mlt_scene *s, FILE *to)
{
    char *memory = NULL;
    size_t bytes = 0;
    FILE *later = open_memstream(&memory, &bytes);
    double legend = later ? paint_legend(s, later, s->bottom + 28) : 0;
    if (later)
        fclose(later);
    double title = (double)mlt_svg_letters(s->title) * 9.2 + 2 * MLT_SCENE_MARGIN;
    double note = (double)mlt_svg_letters(s->note) * MLT_SVG_CHAR + 2 * MLT_SCENE_MARGIN;
    double width = s->width;
    width = width < legend ? legend : width;
    width = width < title ? title : width;
    width = width < note ? note : width;
    mlt_svg_begin(to, width, s->height + (*s->legend ? 20 : 0), s->title);
    heat_heads(to);
    mlt_svg_text(to, MLT_SCENE_MARGIN, 28, "class=\"title\"", s->title);
    mlt_svg_text(to, MLT_SCENE_MARGIN, 46, "class=\"note\"", s->note);
    marks m = {.count = 0};
    paint_frames(s, to, false);
    for (uint32_t i = 0; i < s->link_count; i++)
        if (s->links[i].class_ != MLT_SCENE_SCHEDULE)
            paint_link(s, to, &s->links[i], &m);
    for (uint32_t i = 0; i < s->link_count; i++)
        if (s->links[i].class_ == MLT_SCENE_SCHEDULE)
            paint_link(s, to, &s->links[i], &m);
    paint_frames(s, to, true);
    for (uint32_t i = 0; i < s->real_count; i++)
        paint_box(to, &s->boxes[i]);
    fwrite(memory, 1, bytes, to);
    mlt_svg_end(to);
}
