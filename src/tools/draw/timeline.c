// SPDX-License-Identifier: BSD-3-Clause
// The simulated timeline. Each CPU of each rank has a row; a bar is the time that an action holds
// its CPU (the overheads of messages, the work of calc and exec). A thin grey line before or after
// a bar is time that an action waits without a CPU: a receive that was posted early or late, a send
// whose message waits to be matched. Messages go from the end of the sender's bar to the beginning
// of the receiver's.
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "goal/text/text.h"
#include "tools/draw/draw.h"
#include "tools/draw/svg.h"

enum {
    TIMELINE_ROW = 30,
    TIMELINE_BAR = 18,
    TIMELINE_TOP = 92,
    LEFT = 96,
    TIMELINE_WIDTH = 1080,
    TIMELINE_MARGIN = 20,
    CPUS = 256
};

typedef struct timeline {
    const mlt_drawing *drawing;
    uint32_t *row;            // [ranks * CPUS]: row of a CPU; UINT32_MAX: it does nothing
    bool *hot;                // by the number of the action, from the first drawn one on
    uint64_t before;          // actions of ranks that are not drawn
    uint64_t from_ps, end_ps; // the left and the right edge
    uint32_t rows;
} timeline;

static uint64_t number_of(const timeline *t, uint32_t rank, uint32_t action)
{
    return t->drawing->pairs->first[rank] + action;
}

// Left of the left edge for what was before.
static double x_of(const timeline *t, uint64_t ps)
{
    return LEFT +
           ((double)ps - (double)t->from_ps) / (double)(t->end_ps - t->from_ps) * TIMELINE_WIDTH;
}

static uint32_t *row_of(const timeline *t, uint32_t rank, uint8_t cpu)
{
    return &t->row[(size_t)(rank - t->drawing->first) * CPUS + cpu];
}

static double y_of(const timeline *t, uint32_t rank, const mlt_goal_action *action)
{
    return TIMELINE_TOP + (double)*row_of(t, rank, action->cpu) * TIMELINE_ROW;
}

// How long the action holds its CPU, in ps.
static uint64_t timeline_cpu_ps(const mlt_drawing *d, uint32_t rank, uint32_t number)
{
    const mlt_goal_action *action = &d->program->rank[rank].actions[number];
    const mlt_loggops *m = d->machine;
    if (d->within && mlt_goal_is_message(action) &&
        d->host[rank] == d->host[d->sim->other[d->pairs->first[rank] + number].rank])
        m = d->within;
    double bytes = (double)mlt_goal_message_bytes(action), more = bytes > 0 ? bytes - 1 : 0;
    double ns = 0;
    if (action->kind == MLT_GOAL_SEND)
        ns = m->o + more * m->O;
    else if (mlt_goal_is_recv(action))
        ns = m->o + more * (m->O > m->G ? m->O : m->G) +
             (action->kind == MLT_GOAL_RECV ? 0 : m->exec * (double)action->size[0]);
    else if (action->kind == MLT_GOAL_EXEC || action->kind == MLT_GOAL_USER)
        ns = m->exec * (double)action->size[0];
    else if (action->kind == MLT_GOAL_CALC)
        ns = (double)action->size[0];
    return (uint64_t)(ns * 1000 + 0.5);
}

typedef struct times {
    uint64_t start, busy, idle, finish; // ps: waits from start, holds the CPU from busy to idle
} times;

static times drawn_times(const mlt_drawing *d, uint32_t rank, uint32_t action)
{
    const mlt_sim_result *sim = d->sim;
    uint64_t n = d->pairs->first[rank] + action;
    times at = {sim->action_start_ps[n], sim->cpu_start_ps[n], 0, sim->action_end_ps[n]};
    at.idle = at.busy + timeline_cpu_ps(d, rank, action);
    return at;
}

static uint64_t timeline_end_ps(const times *at)
{
    return at->idle > at->finish ? at->idle : at->finish;
}

bool mlt_draw_is_shown(const mlt_drawing *drawing, uint32_t rank, uint32_t action)
{
    times at = drawn_times(drawing, rank, action);
    return timeline_end_ps(&at) >= drawing->from_ps && at.busy <= drawing->to_ps;
}

// ---- what is where

static void timeline_init(timeline *t)
{
    const mlt_drawing *d = t->drawing;
    size_t ranks = d->last - d->first + 1;
    t->row = mlt_xcalloc(ranks * CPUS, sizeof *t->row);
    t->before = d->pairs->first[d->first];
    uint64_t actions = d->pairs->first[d->last + 1] - t->before;
    t->hot = mlt_xcalloc(actions + 1, sizeof *t->hot);
    memset(t->row, 0xff, ranks * CPUS * sizeof *t->row);
    for (uint32_t r = d->first; r <= d->last; r++) {
        const mlt_goal_rank *rank = &d->program->rank[r];
        *row_of(t, r, 0) = 0; // a rank that does nothing has a row too
        for (uint32_t a = 0; a < rank->count; a++)
            *row_of(t, r, rank->actions[a].cpu) = 0;
        for (int cpu = 0; cpu < CPUS; cpu++)
            if (*row_of(t, r, (uint8_t)cpu) == 0)
                *row_of(t, r, (uint8_t)cpu) = t->rows++;
        for (uint32_t a = 0; a < rank->count; a++) {
            times at = drawn_times(t->drawing, r, a);
            t->end_ps = timeline_end_ps(&at) > t->end_ps ? timeline_end_ps(&at) : t->end_ps;
        }
    }
    for (uint64_t i = 0; i < d->sim->path_count; i++) {
        const mlt_goal_place *place = &d->sim->path[i].place;
        if (place->rank >= d->first && place->rank <= d->last)
            t->hot[number_of(t, place->rank, place->action) - t->before] = true;
    }
    t->from_ps = d->from_ps;
    t->end_ps = d->to_ps < t->end_ps ? d->to_ps : t->end_ps;
    if (t->end_ps <= t->from_ps) // of these ranks nobody does anything then
        t->end_ps = t->from_ps + 1;
}

// ---- axes

// The step between ticks: 1, 2 or 5 times a power of ten, so that there are at most a dozen.
static double tick_ps(uint64_t shown_ps)
{
    double step = 1;
    for (int i = 0; (double)shown_ps / step > 12; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

static void draw_axis(const timeline *t, FILE *to, double bottom)
{
    static const struct {
        double ps;
        const char *name;
    } units[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}};
    double step = tick_ps(t->end_ps - t->from_ps);
    int unit = 0;
    while (unit < 4 && (double)t->end_ps < 2 * units[unit].ps)
        unit++;
    uint64_t first = (uint64_t)((double)t->from_ps / step);
    first += (double)first * step < (double)t->from_ps;
    for (uint64_t i = first; (double)i * step <= (double)t->end_ps * 1.0001; i++) {
        char text[48];
        double at = (double)i * step, x = x_of(t, (uint64_t)at);
        snprintf(text, sizeof text, "%.10g", at / units[unit].ps);
        fprintf(to,
                "<path d=\"M%.1f %dV%.1f\" stroke=\"#d8dce2\" stroke-width=\"1\" fill=\"none\"/>\n",
                x, TIMELINE_TOP - 14, bottom);
        mlt_svg_text(to, x, TIMELINE_TOP - 20, "class=\"note\" text-anchor=\"middle\"", text);
    }
    mlt_svg_text(to, TIMELINE_MARGIN, TIMELINE_TOP - 20, "class=\"note\"", units[unit].name);
}

static void draw_rows(const timeline *t, FILE *to)
{
    const mlt_drawing *d = t->drawing;
    for (uint32_t r = d->first; r <= d->last; r++)
        for (int cpu = 0; cpu < CPUS; cpu++) {
            uint32_t row = *row_of(t, r, (uint8_t)cpu);
            if (row == UINT32_MAX)
                continue;
            char name[48];
            double y = TIMELINE_TOP + (double)row * TIMELINE_ROW;
            snprintf(name, sizeof name, cpu ? "cpu %d" : "rank %" PRIu32, cpu ? (uint32_t)cpu : r);
            fprintf(to, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
                    LEFT, y, TIMELINE_WIDTH, TIMELINE_BAR, MLT_SVG_LANE);
            mlt_svg_text(to, LEFT - 10, y + 13, "text-anchor=\"end\"", name);
        }
}

// ---- bars and messages

static void wait_line(const timeline *t, FILE *to, double y, uint64_t from_ps, uint64_t to_ps)
{
    if (to_ps > from_ps)
        fprintf(to, "<path class=\"wait\" d=\"M%.2f %.1fH%.2f\"/>\n", x_of(t, from_ps),
                y + TIMELINE_BAR / 2.0, x_of(t, to_ps));
}

static void draw_waits(const timeline *t, FILE *to, uint32_t rank, uint32_t a)
{
    const mlt_goal_action *action = &t->drawing->program->rank[rank].actions[a];
    times at = drawn_times(t->drawing, rank, a);
    double y = y_of(t, rank, action);
    if (mlt_goal_is_recv(action))
        wait_line(t, to, y, at.start, at.busy);
    wait_line(t, to, y, at.idle, at.finish);
}

static void tooltip(const timeline *t, FILE *to, uint32_t rank, uint32_t action, const times *at)
{
    char text[MLT_DRAW_TEXT_BYTES], whole[MLT_DRAW_TEXT_BYTES + 128];
    mlt_goal_describe(t->drawing->program, rank, action, text, sizeof text);
    snprintf(whole, sizeof whole, "%s\nstarted at %.3f ns, finished at %.3f ns", text,
             (double)at->start / 1000, (double)at->finish / 1000);
    mlt_svg_tooltip(to, whole);
}

// What fits into a bar: the label, or the kind, or nothing.
static const char *bar_text(const timeline *t, const mlt_goal_action *action, double width,
                            mlt_svg_colours c)
{
    const char *label = mlt_draw_label(t->drawing->program, action);
    const char *text = *label ? label : c.name;
    return (double)strlen(text) * MLT_SVG_CHAR + 6 <= width ? text : "";
}

static void draw_bar(const timeline *t, FILE *to, uint32_t rank, uint32_t a)
{
    const mlt_goal_action *action = &t->drawing->program->rank[rank].actions[a];
    times at = drawn_times(t->drawing, rank, a);
    double y = y_of(t, rank, action), x = x_of(t, at.busy), width = x_of(t, at.idle) - x;
    mlt_svg_colours c = mlt_svg_colours_of(action->kind);
    bool hot = t->hot[number_of(t, rank, a) - t->before];
    fprintf(to, "<g class=\"action\">");
    tooltip(t, to, rank, a, &at);
    fprintf(to,
            "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" rx=\"2\" fill=\"%s\" "
            "stroke=\"%s\" stroke-width=\"%s\"/>\n",
            x, y, width < 1.5 ? 1.5 : width, TIMELINE_BAR, c.fill, hot ? MLT_SVG_HOT : c.line,
            hot ? "2" : "1");
    const char *text = bar_text(t, action, width, c);
    if (*text)
        mlt_svg_text(to, x + width / 2, y + 13, "text-anchor=\"middle\"", text);
    fprintf(to, "</g>\n");
}

static void draw_message(const timeline *t, FILE *to, uint32_t rank, uint32_t a, bool hot)
{
    const mlt_drawing *d = t->drawing;
    const mlt_goal_action *send = &d->program->rank[rank].actions[a];
    if (send->kind != MLT_GOAL_SEND)
        return;
    mlt_goal_place other = d->sim->other[number_of(t, rank, a)];
    if (other.rank < d->first || other.rank > d->last)
        return;
    bool both = t->hot[number_of(t, rank, a) - t->before] &&
                t->hot[number_of(t, other.rank, other.action) - t->before];
    if (both != hot)
        return;
    const mlt_goal_action *recv = &d->program->rank[other.rank].actions[other.action];
    times from = drawn_times(t->drawing, rank, a),
          till = drawn_times(t->drawing, other.rank, other.action);
    if (till.busy < t->from_ps || from.idle > t->end_ps)
        return;
    double y0 = y_of(t, rank, send), y1 = y_of(t, other.rank, recv);
    bool down = y1 > y0;
    fprintf(to, "<path class=\"%s\" marker-end=\"url(#%s)\" d=\"M%.2f %.1fL%.2f %.1f\"/>\n",
            hot ? "hot" : "msg", hot ? "hot" : "msg", x_of(t, from.idle),
            down ? y0 + TIMELINE_BAR : y0, x_of(t, till.busy), down ? y1 : y1 + TIMELINE_BAR);
}

// Lines first, then bars: no line goes through a text.
static void timeline_draw_actions(const timeline *t, FILE *to)
{
    const mlt_drawing *d = t->drawing;
    for (int pass = 0; pass < 4; pass++)
        for (uint32_t r = d->first; r <= d->last; r++)
            for (uint32_t a = 0; a < d->program->rank[r].count; a++) {
                if (pass == 1 || pass == 2)
                    draw_message(t, to, r, a, pass == 2); // the critical path's on top
                else if (!mlt_draw_is_shown(d, r, a))
                    continue;
                else if (pass == 0)
                    draw_waits(t, to, r, a);
                else
                    draw_bar(t, to, r, a);
            }
}

static void timeline_draw_legend(const timeline *t, FILE *to, double y)
{
    const mlt_drawing *d = t->drawing;
    bool used[MLT_GOAL_KINDS] = {false}, messages = false;
    for (uint32_t r = d->first; r <= d->last; r++)
        for (uint32_t a = 0; a < d->program->rank[r].count; a++) {
            used[d->program->rank[r].actions[a].kind] = true;
            messages = messages || d->program->rank[r].actions[a].kind == MLT_GOAL_SEND;
        }
    double x = mlt_svg_legend(to, LEFT, y, used);
    if (messages)
        x = mlt_svg_sample(to, x, y, "msg", "message");
    x = mlt_svg_sample(to, x, y, "wait", "waits");
    mlt_svg_sample(to, x, y, "hot", "critical path");
}

void mlt_draw_timeline(const mlt_drawing *drawing, FILE *to)
{
    timeline t = {.drawing = drawing};
    timeline_init(&t);
    const mlt_loggops *m = drawing->machine;
    double bottom = TIMELINE_TOP + (double)t.rows * TIMELINE_ROW;
    char note[256];
    snprintf(note, sizeof note,
             "%.10g ns in all; L %g, o %g, g %g, G %g, O %g ns, S %" PRIu64 " bytes, exec %g ns",
             (double)drawing->sim->total_ps / 1000, m->L, m->o, m->g, m->G, m->O, m->S, m->exec);
    mlt_svg_begin(to, LEFT + TIMELINE_WIDTH + TIMELINE_MARGIN + 20, bottom + 40, drawing->title);
    mlt_svg_text(to, TIMELINE_MARGIN, 28, "class=\"title\"", drawing->title);
    mlt_svg_text(to, TIMELINE_MARGIN, 46, "class=\"note\"", note);
    draw_rows(&t, to);
    draw_axis(&t, to, bottom);
    // What reaches beyond the edges ends there.
    fprintf(to,
            "<clipPath id=\"window\"><rect x=\"%d\" y=\"0\" width=\"%d\" height=\"%.1f\"/>"
            "</clipPath>\n<g clip-path=\"url(#window)\">\n",
            LEFT - 2, TIMELINE_WIDTH + 4, bottom);
    timeline_draw_actions(&t, to);
    fprintf(to, "</g>\n");
    timeline_draw_legend(&t, to, bottom + 26);
    mlt_svg_end(to);
}
