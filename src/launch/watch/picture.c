// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "launch/watch/map.h"
#include "launch/watch/paint.h"

enum {
    TREE_HEAD = 40, // title and subtitle
    TREE_LABELS = 210,
    TREE_ROOM = MLT_PICTURE_WIDTH - TREE_LABELS - 20, // of the columns
    TREE_ROW = 34,
    TREE_BOX = 20,
    TREE_HOST = 18,    // a host's name
    TREE_COLUMNS = 64, // at most
    TREE_WIDEST = 94,  // of a column: eight of them fill the room
    TREE_STEPS = 40,   // rows
    TREE_LANE = 16,    // of a worker in the times
    TREE_LANES = 32,   // workers that have one
    TREE_PLAYER = 26,
};

// ---- the order of things

typedef enum tree_part { OF_RANK, OF_WORKER, OF_HOST, OF_ALL } tree_part;

typedef struct tree_step {
    char text[120];
    tree_part part;
    uint32_t order, back; // when it happens, when the result comes by; 0: nothing is done then
} tree_step;

typedef struct tree_steps {
    tree_step step[TREE_STEPS];
    uint32_t count, order;
} tree_steps;

static tree_step *add_step(tree_steps *s, tree_part part, const char *text)
{
    if (s->count == TREE_STEPS)
        return &s->step[TREE_STEPS - 1];
    tree_step *step = &s->step[s->count++];
    *step = (tree_step){.part = part, .order = ++s->order};
    snprintf(step->text, sizeof step->text, "%s", text);
    return step;
}

// The part of `stages` that says `where`, the n-th one: "reduce.linear". False: there is none.
static bool stage_at(const char *stages, const char *where, int n, char *text, size_t size)
{
    for (const char *at = stages; *at; at += *at == ',' ? 2 : 0) {
        size_t length = strcspn(at, ",");
        const char *found = strstr(at, where);
        if (found && found + strlen(where) == at + length && n-- == 0) {
            snprintf(text, size, "%.*s", (int)(found - at), at);
            return true;
        }
        at += length;
        if (*at && at[1] != ' ')
            return false;
    }
    return false;
}

// "b by tcp", of a wrapper `remote b by tcp`; "": there is none.
static void remote_of(const mlt_picture *t, char text[32])
{
    char name[MLT_CTL_NAME];
    text[0] = '\0';
    for (const char *at = t->stack; mlt_path_map_wrapper(&at, name);)
        if (strncmp(name, "remote ", 7) == 0)
            snprintf(text, 32, "%.24s", name + 7);
}

static void add_schedule(tree_steps *s, const mlt_picture *t)
{
    char text[120], own[120] = "", remote[32];
    remote_of(t, remote);
    static const char on_hosts[] = " on each host", between[] = " between hosts";
    tree_step *before = NULL;
    if (stage_at(t->stages, on_hosts, 0, text, sizeof text) &&
        strstr(t->stages, on_hosts) < strstr(t->stages, between))
        before = add_step(s, OF_HOST, text);
    if (stage_at(t->stages, between, 1, text, sizeof text) && // by way of one of them
        stage_at(t->stages, between, 0, own, sizeof own))
        snprintf(own + strlen(own), sizeof own - strlen(own), ", %.40s", text);
    if (own[0] || stage_at(t->stages, between, 0, own, sizeof own))
        snprintf(text, sizeof text, "%.60s between hosts%s%.24s", own, remote[0] ? ", on " : "",
                 remote);
    else if (t->count > 1 || !t->alg[0])
        snprintf(text, sizeof text, "%.80s", t->alg[0] ? t->alg : "in memory");
    else
        snprintf(text, sizeof text, "%.80s", t->alg);
    add_step(s, OF_ALL, text);
    if (stage_at(t->stages, on_hosts, before ? 1 : 0, text, sizeof text)) {
        if (before) {
            before->back = ++s->order;
            snprintf(before->text + strlen(before->text),
                     sizeof before->text - strlen(before->text), ", %.60s", text);
        } else {
            add_step(s, OF_HOST, text);
        }
    }
}

static tree_steps steps_of(const mlt_picture *t)
{
    tree_steps s = {.count = 0};
    char name[MLT_CTL_NAME];
    bool combined = false;
    tree_step *combine = NULL;
    for (const char *at = t->stack; mlt_path_map_wrapper(&at, name);) {
        bool is_combine = strcmp(name, "combine") == 0;
        if (strncmp(name, "remote ", 7) == 0)
            continue; // where the stage between hosts is
        if (is_combine && t->level != MLT_LEVEL_COMBINED) {
            combined = true;
            continue;
        }
        tree_step *step = add_step(&s, is_combine || combined ? OF_WORKER : OF_RANK, name);
        combined |= is_combine;
        combine = is_combine ? step : combine;
    }
    add_schedule(&s, t);
    if (combine)
        combine->back = ++s.order;
    return s;
}

static void order_text(const tree_step *step, char *text, size_t size)
{
    if (step->back)
        snprintf(text, size, "%u, %u", step->order, step->back);
    else
        snprintf(text, size, "%u", step->order);
}

static const char *host_name(const mlt_picture *t, uint32_t host, char text[32])
{
    if (t->hosts && host < t->host_count)
        return t->hosts[host];
    snprintf(text, 32, "host %u", host);
    return text;
}

// ---- as text

static void print_worker(const mlt_picture *t, const tree_steps *s, const mlt_picture_worker *w,
                         uint32_t number, FILE *out)
{
    char order[32];
    fprintf(out, "        worker %u: ", number);
    if (w->ranks == 1)
        fprintf(out, "rank %u", w->first);
    else
        fprintf(out, "ranks %u-%u", w->first, w->first + w->ranks - 1);
    bool some = false;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->step[i].part == OF_WORKER) {
            order_text(&s->step[i], order, sizeof order);
            fprintf(out, "%s%s (%s)", some ? ", " : "; share ", s->step[i].text, order);
            some = true;
        }
    fputc('\n', out);
    (void)t;
}

static void print_part(const tree_steps *s, tree_part part, const char *who, FILE *out)
{
    char order[32];
    bool some = false;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->step[i].part == part) {
            order_text(&s->step[i], order, sizeof order);
            fprintf(out, "%s%s (%s)", some ? ", " : who, s->step[i].text, order);
            some = true;
        }
    if (some)
        fputc('\n', out);
}

void mlt_picture_print(const mlt_picture *t, FILE *out)
{
    tree_steps s = steps_of(t);
    char name[32];
    fprintf(out, "%s on %s: %u rank%s in %u worker%s on %u host%s (%s)\n", t->collective, t->object,
            t->ranks, t->ranks == 1 ? "" : "s", t->count, t->count == 1 ? "" : "s", t->host_count,
            t->host_count == 1 ? "" : "s", t->by);
    print_part(&s, OF_ALL, "    all: ", out);
    for (uint32_t h = 0; h < t->host_count; h++) {
        fprintf(out, "    %s", host_name(t, h, name));
        print_part(&s, OF_HOST, "; share ", out);
        bool shared = false;
        for (uint32_t i = 0; i < s.count; i++)
            shared |= s.step[i].part == OF_HOST;
        if (!shared)
            fputc('\n', out);
        for (uint32_t w = 0; w < t->count; w++)
            if (t->workers[w].host == h)
                print_worker(t, &s, &t->workers[w], w, out);
    }
    print_part(&s, OF_RANK, "    each rank: ", out);
}

// ---- as a drawing

// A column: a rank, or a worker where there are too many ranks.
typedef struct columns {
    const mlt_picture *tree;
    uint32_t *worker;     // [count] whose it is
    uint32_t count, left; // left: workers for which there is no column
    bool by_rank;
    double wide, x;
} columns;

static columns columns_of(const mlt_picture *t, double x)
{
    columns c = {.tree = t, .by_rank = t->ranks <= TREE_COLUMNS, .x = x + TREE_LABELS};
    c.worker = mlt_xcalloc(TREE_COLUMNS, sizeof *c.worker);
    uint32_t hosts = t->host_count ? t->host_count : 1;
    for (uint32_t h = 0; h < hosts; h++) // host by host
        for (uint32_t w = 0; w < t->count; w++) {
            uint32_t n = c.by_rank ? t->workers[w].ranks : 1;
            if ((t->workers[w].host < hosts ? t->workers[w].host : 0) != h)
                continue;
            if (n > TREE_COLUMNS - c.count) {
                c.left++;
                continue;
            }
            for (uint32_t r = 0; r < n; r++)
                c.worker[c.count++] = w;
        }
    c.wide = c.count ? (double)TREE_ROOM / c.count : TREE_ROOM;
    c.wide = c.wide > TREE_WIDEST ? TREE_WIDEST : c.wide;
    return c;
}

static uint32_t host_of_column(const columns *c, uint32_t column)
{
    uint32_t host = c->tree->workers[c->worker[column]].host;
    return host < c->tree->host_count ? host : 0;
}

// Columns from `column` on that are of the same part.
static uint32_t span_of(const columns *c, tree_part part, uint32_t column)
{
    uint32_t end = column + 1;
    while (end < c->count &&
           (part == OF_ALL || (part == OF_WORKER && c->worker[end] == c->worker[column]) ||
            (part == OF_HOST && host_of_column(c, end) == host_of_column(c, column))))
        end++;
    return end - column;
}

static void draw_title(const columns *c, double x, double y, FILE *out)
{
    const mlt_picture *t = c->tree;
    char text[256], left[48] = "";
    if (c->left)
        snprintf(left, sizeof left, "; %u more workers than drawn", c->left);
    snprintf(text, sizeof text, "%.40s on %.100s", t->collective, t->object);
    mlt_paint_text(out, x, y + 14, "b", text);
    snprintf(text, sizeof text,
             "who shares which wrappers: %u rank%s in %u worker%s on %u host%s, %.60s%s", t->ranks,
             t->ranks == 1 ? "" : "s", t->count, t->count == 1 ? "" : "s",
             t->host_count ? t->host_count : 1, t->host_count > 1 ? "s" : "", t->by, left);
    mlt_paint_text(out, x, y + 30, "note", text);
}

// Names are cut to the room that there is; the rectangle's title has them whole.
static void draw_hosts(const columns *c, double y, double height, FILE *out)
{
    char name[32], shown[128];
    for (uint32_t at = 0, n; at < c->count; at += n) {
        n = span_of(c, OF_HOST, at);
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" "
                "class=\"h\"><title>",
                c->x + at * c->wide + 1, y, n * c->wide - 2, height);
        mlt_paint_escaped(out, host_name(c->tree, host_of_column(c, at), name));
        fputs("</title></rect>\n", out);
        int room = (int)((n * c->wide - 12) / 6.7);
        snprintf(shown, sizeof shown, "%.*s", room > 0 ? room : 0,
                 host_name(c->tree, host_of_column(c, at), name));
        mlt_paint_text(out, c->x + at * c->wide + 8, y + 13, "note", shown);
    }
}

static void draw_ranks_of(const columns *c, uint32_t id, double y, FILE *out)
{
    char text[32];
    uint32_t number = 0;
    for (uint32_t at = 0; at < c->count; at++) {
        const mlt_picture_worker *w = &c->tree->workers[c->worker[at]];
        number = at > 0 && c->worker[at] == c->worker[at - 1] ? number + 1 : 0;
        double middle = c->x + (at + 0.5) * c->wide;
        fprintf(out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"n\" data-p=\"%u\" "
                "data-w=\"%u\" data-k=\"0\"><title>%s %u</title></circle>\n",
                middle, y + 9, c->wide < 20 ? c->wide / 2 - 1 : 9.0, id, c->worker[at],
                c->by_rank ? "rank" : "worker", c->by_rank ? w->first + number : c->worker[at]);
        if (c->by_rank)
            snprintf(text, sizeof text, "%u", w->first + number);
        else
            snprintf(text, sizeof text, "%u", w->ranks);
        if (c->wide >= 18)
            mlt_paint_text(out, middle, y + 13, "m", text);
    }
}

static bool step_fits(const tree_step *step, double wide)
{
    return wide > 6.7 * (double)strlen(step->text) + 8;
}

// What a row is, and what its boxes have no room to say.
static void draw_label(const columns *c, const tree_step *step, double y, FILE *out)
{
    char order[32], label[160];
    order_text(step, order, sizeof order);
    snprintf(label, sizeof label, "%s  %.30s", order,
             step->part == OF_HOST  ? "on each host"
             : step->part == OF_ALL ? "between all"
                                    : step->text);
    mlt_paint_text(out, c->x - TREE_LABELS, y + 11, "l", label);
    bool fits = true;
    for (uint32_t at = 0, n; at < c->count; at += n) {
        n = span_of(c, step->part, at);
        fits &= step_fits(step, n * c->wide - 4);
    }
    snprintf(label, sizeof label, "%.35s", step->text);
    if (step->part == OF_HOST && !fits)
        mlt_paint_text(out, c->x - TREE_LABELS, y + 22, "d", label);
}

// The boxes of a row, and lines from what is above.
static void draw_step(const columns *c, const tree_step *step, tree_part above, uint32_t id,
                      double y, FILE *out)
{
    static const char *const classes[] = {"w", "c", "a", "s"};
    draw_label(c, step, y, out);
    for (uint32_t at = 0, n; at < c->count; at += n) {
        n = span_of(c, step->part, at);
        double x = c->x + at * c->wide + 2, wide = n * c->wide - 4;
        for (uint32_t from = at, m; from < at + n; from += m) {
            m = span_of(c, above, from);
            double middle = c->x + (from + (m < at + n - from ? m : at + n - from) * 0.5) * c->wide;
            fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"e\"/>\n",
                    middle, y - (TREE_ROW - TREE_BOX), middle, y);
        }
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"4\" class=\"%s\" "
                "data-p=\"%u\" data-w=\"%u\" data-k=\"%d\"",
                x, y, wide, TREE_BOX, classes[step->part], id, c->worker[at], step->part);
        if (step->part == OF_HOST)
            fprintf(out, " data-h=\"%u\"", host_of_column(c, at));
        fputs("><title>", out);
        mlt_paint_escaped(out, step->text);
        fputs("</title></rect>\n", out);
        if (step->part == OF_ALL || step_fits(step, wide))
            mlt_paint_text(out, x + 6, y + 14, "t", step->text);
    }
}

// ---- times

static uint64_t last_moment(const mlt_picture *t, const mlt_picture_call *call)
{
    uint64_t last = 1;
    for (uint32_t w = 0; w < t->count; w++)
        for (int m = 0; m < MLT_MOMENTS; m++)
            last = call->time[w][m] > last ? call->time[w][m] : last;
    return last;
}

static const char *const spans[] = {"gather", "combine", "exchange", "spread"};

// What took time can be seen, however short it was.
static double lane_width(uint64_t from, uint64_t to, double scale)
{
    double wide = to > from ? (double)(to - from) * scale : 0;
    return wide > 0 && wide < 1.5 ? 1.5 : wide;
}

// A lane for each worker: when its stages were, in the last call.
static void draw_lanes(const mlt_picture *t, uint32_t id, double x, double y, FILE *out)
{
    const mlt_picture_call *call = &t->calls[t->call_count - 1];
    uint64_t last = last_moment(t, call);
    char text[96], a[MLT_NUMBER_BYTES], name[32];
    snprintf(text, sizeof text, "call %" PRIu64, call->number);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"b\" id=\"call%u\">%s</text>\n", x, y + 12, id,
            text);
    for (uint32_t i = 0; i < 4; i++) {
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"10\" class=\"g%u\"/>\n",
                x + TREE_LABELS + i * 90.0, y + 3, i);
        mlt_paint_text(out, x + TREE_LABELS + i * 90.0 + 16, y + 12, "note", spans[i]);
    }
    fprintf(
        out,
        "<text x=\"%.1f\" y=\"%.1f\" class=\"note\" text-anchor=\"end\" id=\"end%u\">%s</text>\n",
        x + TREE_LABELS + TREE_ROOM, y + 12, id, mlt_time(a, last));
    uint32_t lanes = t->count < TREE_LANES ? t->count : TREE_LANES;
    for (uint32_t w = 0; w < lanes; w++) {
        double top = y + 20 + w * (double)TREE_LANE;
        snprintf(text, sizeof text, "%s %u, %.20s",
                 t->level == MLT_LEVEL_COMBINED ? "worker" : "rank",
                 t->level == MLT_LEVEL_COMBINED ? w : t->workers[w].first,
                 host_name(t, t->workers[w].host, name));
        mlt_paint_text(out, x, top + 10, "l", text);
        for (uint32_t i = 0; i < 4; i++) {
            uint64_t from = call->time[w][i], to = call->time[w][i + 1];
            double scale = (double)TREE_ROOM / (double)last;
            fprintf(out,
                    "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"10\" class=\"g%u\" "
                    "id=\"g%u-%u-%u\"><title>%s: %s",
                    x + TREE_LABELS + (double)from * scale, top + 1, lane_width(from, to, scale), i,
                    id, w, i, spans[i], mlt_time(a, from));
            fprintf(out, " to %s</title></rect>\n", mlt_time(a, to));
        }
    }
    if (t->count > lanes) {
        snprintf(text, sizeof text, "and %u more", t->count - lanes);
        mlt_paint_text(out, x, y + 30 + lanes * (double)TREE_LANE, "note", text);
    }
    fprintf(
        out,
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"cursor\" id=\"cursor%u\" "
        "style=\"display:none\"/>\n",
        x + TREE_LABELS, y + 18, x + TREE_LABELS, y + 20 + lanes * (double)TREE_LANE, id);
}

static double lanes_height(const mlt_picture *t)
{
    uint32_t lanes = t->count < TREE_LANES ? t->count : TREE_LANES;
    return t->call_count
               ? 24 + lanes * (double)TREE_LANE + (t->count > lanes ? 16 : 0) + TREE_PLAYER
               : 0;
}

// The bar to play with, which only a script can; and what it plays.
static void draw_player(const mlt_picture *t, uint32_t id, double x, double y, FILE *out)
{
    double left = x + TREE_LABELS;
    fprintf(out,
            "<g id=\"player%u\" class=\"player\" style=\"display:none\" data-x=\"%.1f\" "
            "data-wide=\"%d\" tabindex=\"0\"><title>plays the last %u calls; drag it, or use the "
            "arrow keys</title><text x=\"%.1f\" y=\"%.1f\" class=\"b go\">&#9654; play</text>"
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"16\" class=\"track\"/>"
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"4\" rx=\"2\" class=\"rail\"/>"
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"7\" class=\"knob\"/></g>\n",
            id, left, TREE_ROOM, t->call_count, x, y + 15, left, y + 3, TREE_ROOM, left, y + 9,
            TREE_ROOM, left + TREE_ROOM, y + 11);
    fprintf(out, "<metadata class=\"calls\" data-p=\"%u\" data-calls='[", id);
    for (uint32_t i = 0; i < t->call_count; i++) {
        fprintf(out, "%s{\"n\":%" PRIu64 ",\"t\":[", i ? "," : "", t->calls[i].number);
        for (uint32_t w = 0; w < t->count; w++) {
            fprintf(out, "%s[", w ? "," : "");
            for (int m = 0; m < MLT_MOMENTS; m++)
                fprintf(out, "%s%" PRIu64, m ? "," : "", t->calls[i].time[w][m]);
            fputc(']', out);
        }
        fputs("]}", out);
    }
    fputs("]' data-hosts='[", out);
    for (uint32_t w = 0; w < t->count; w++)
        fprintf(out, "%s%u", w ? "," : "",
                t->workers[w].host < t->host_count ? t->workers[w].host : 0);
    fputs("]'/>\n", out);
}

double mlt_picture_height(const mlt_picture *t)
{
    tree_steps s = steps_of(t);
    return TREE_HEAD + TREE_HOST + TREE_ROW * (s.count + 1.0) + 16 + lanes_height(t);
}

void mlt_picture_draw(const mlt_picture *t, uint32_t id, double x, double y, FILE *out)
{
    tree_steps s = steps_of(t);
    columns c = columns_of(t, x);
    draw_title(&c, x, y, out);
    y += TREE_HEAD;
    uint32_t inside = 0;
    while (inside < s.count && s.step[inside].part != OF_ALL)
        inside++;
    draw_hosts(&c, y, TREE_HOST + TREE_ROW * (inside + 1.0) - 8, out);
    y += TREE_HOST;
    mlt_paint_text(out, x, y + 13, "l", c.by_rank ? "ranks" : "workers, by their ranks");
    draw_ranks_of(&c, id, y, out);
    tree_part above = OF_RANK;
    for (uint32_t i = 0; i < s.count; i++) {
        y += TREE_ROW;
        draw_step(&c, &s.step[i], above, id, y, out);
        above = s.step[i].part;
    }
    free(c.worker);
    y += TREE_ROW + 8;
    if (!t->call_count)
        return;
    draw_lanes(t, id, x, y, out);
    draw_player(t, id, x, y + lanes_height(t) - TREE_PLAYER, out);
}

const char mlt_picture_style[] =
    ".h{fill:#f3f4f6}.n{fill:#ffffff;stroke:#1f2430}.m{text-anchor:middle;font-size:9px}"
    ".l{fill:#1f2430}.d{fill:#6b7280;font-size:10px}.e{stroke:#9ca3af}"
    ".g0{fill:#c7d2fe}.g1{fill:#86c49a}.g2{fill:#2563a8}.g3{fill:#f4b183}"
    ".track{fill:transparent}.rail{fill:#d1d5db}.knob{fill:#d9480f}.player{cursor:pointer}"
    ".cursor{stroke:#d9480f}.lit{fill:#ffd8a8!important;stroke:#d9480f!important;"
    "stroke-width:2}.over{opacity:.45}";

void mlt_picture_script(FILE *out)
{
    fputs(
        "<script><![CDATA[\n"
        "(function(){\n"
        "'use strict';\n"
        "var units=[['ns',1],['us',1e3],['ms',1e6],['s',1e9]];\n"
        "function words(ns){var u=units[0];units.forEach(function(v){if(ns>=v[1])u=v});\n"
        " return (ns/u[1]).toPrecision(3)+' '+u[0]}\n"
        "function byId(id){return document.getElementById(id)}\n"
        "document.querySelectorAll('metadata.calls').forEach(function(data){\n"
        " var p=data.dataset.p,calls=JSON.parse(data.dataset.calls),\n"
        " hosts=JSON.parse(data.dataset.hosts),player=byId('player'+p),\n"
        " left=+player.dataset.x,wide=+player.dataset.wide,knob=player.querySelector('.knob'),\n"
        " go=player.querySelector('.go'),cursor=byId('cursor'+p),shown=-1,at=1,timer=0,\n"
        " things=document.querySelectorAll('[data-k][data-p=\"'+p+'\"]');\n"
        " function end(call){var most=1;call.t.forEach(function(w){\n"
        "  w.forEach(function(v){if(v>most)most=v})});return most}\n"
        " function lanes(call){var k=wide/end(call);call.t.forEach(function(w,i){\n"
        "  for(var s=0;s<4;s++){var r=byId('g'+p+'-'+i+'-'+s);if(!r)continue;\n"
        "   r.setAttribute('x',left+w[s]*k);\n"
        "   r.setAttribute('width',w[s+1]>w[s]?Math.max(1.5,(w[s+1]-w[s])*k):0)}});\n"
        "  byId('end'+p).textContent=words(end(call))}\n"
        " // What a worker does: 0 gathers, 1 combines, 2 exchanges, 3 spreads; -1 before, 4 "
        "after.\n"
        " function state(w,t){if(t<w[0])return -1;for(var s=1;s<5;s++)if(t<w[s])return s-1;return "
        "4}\n"
        " function lit(el,call,t){var k=+el.dataset.k,h=el.dataset.h,some=false,done=true;\n"
        "  call.t.forEach(function(w,i){\n"
        "   if(k<2&&i!=el.dataset.w||k==2&&hosts[i]!=h)return;\n"
        "   var "
        "s=state(w,t);if(k==0?s==0:k==1?s==0||s==1||s==3:s==2)some=true;if(s<4)done=false});\n"
        "  el.classList.toggle('lit',some);el.classList.toggle('over',done)}\n"
        " function show(to){at=Math.min(1,Math.max(0,to));\n"
        "  var n=Math.min(calls.length-1,Math.floor(at*calls.length)),call=calls[n],\n"
        "  t=(at*calls.length-n)*end(call);\n"
        "  if(n!=shown){lanes(call);shown=n}\n"
        "  things.forEach(function(el){lit(el,call,t)});\n"
        "  byId('call'+p).textContent='call '+call.n+' + '+words(t);\n"
        "  knob.setAttribute('cx',left+wide*at);\n"
        "  var x=left+wide*t/end(call);cursor.setAttribute('x1',x);cursor.setAttribute('x2',x);\n"
        "  cursor.style.display=''}\n"
        " function stop(){clearInterval(timer);timer=0;go.textContent='\\u25b6 play'}\n"
        " function play(){if(timer)return stop();if(at>=1)at=0;go.textContent='\\u25a0 stop';\n"
        "  timer=setInterval(function(){show(at+.004/Math.max(1,calls.length/2));\n"
        "   if(at>=1)stop()},30)}\n"
        " function pull(e){var svg=player.ownerSVGElement,q=svg.createSVGPoint();\n"
        "  q.x=e.clientX;q.y=e.clientY;q=q.matrixTransform(svg.getScreenCTM().inverse());\n"
        "  stop();show((q.x-left)/wide)}\n"
        " player.style.display='';\n"
        " player.addEventListener('pointerdown',function(e){\n"
        "  if(e.target==go)return play();player.setPointerCapture(e.pointerId);pull(e)});\n"
        " player.addEventListener('pointermove',function(e){if(e.buttons&&e.target!=go)pull(e)});\n"
        " player.addEventListener('keydown',function(e){\n"
        "  var step={ArrowRight:.01,ArrowLeft:-.01}[e.key];\n"
        "  if(e.key==' '||e.key=='Enter')play();else "
        "if(step){stop();show(at+step/calls.length*2)}\n"
        "  else return;e.preventDefault()});\n"
        "});\n"
        "})();\n"
        "]]></script>\n",
        out);
}
