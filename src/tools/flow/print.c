// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/print.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { FLOW_PRINT_NAME_BYTES = 200, MOST_RANGES = 6 };

const char *mlt_flow_range(const mlt_flow_vector *v, const uint32_t *index, size_t count,
                           char *text, size_t size)
{
    if (v->scalar) {
        snprintf(text, size, "%s", v->name);
        return text;
    }
    mlt_text out = mlt_text_on(text, size);
    mlt_text_add(&out, "%s[", v->name);
    for (size_t i = 0, n, ranges = 0; i < count; i += n, ranges++) {
        for (n = 1; i + n < count && index[i + n] == index[i] + n;)
            n++;
        if (ranges == MOST_RANGES) {
            mlt_text_add(&out, ",...,%" PRIu32, index[count - 1]);
            break;
        }
        mlt_text_add(&out, "%s%" PRIu32, i ? "," : "", index[i]);
        if (n > 1)
            mlt_text_add(&out, "%s%" PRIu32, n > 2 ? ".." : ",", index[i + n - 1]);
    }
    mlt_text_add(&out, "]");
    return text;
}

static const char *suffix(const mlt_flow_vector *v, uint16_t queue, const char *usual, char *text,
                          size_t size)
{
    const char *name = v->kind == MLT_FLOW_MODULE ? v->module->queues[queue].name : usual;
    bool said = strcmp(name, usual) != 0;
    snprintf(text, size, "%s%s", said ? "." : "", said ? name : "");
    return text;
}

const char *mlt_flow_out_suffix(const mlt_flow_graph *g, const mlt_flow_edge *e, char *text,
                                size_t size)
{
    return suffix(mlt_flow_vector_of(g, e->from), e->out, "out", text, size);
}

const char *mlt_flow_in_suffix(const mlt_flow_graph *g, const mlt_flow_edge *e, char *text,
                               size_t size)
{
    return suffix(mlt_flow_vector_of(g, e->to), e->in, "in", text, size);
}

// ---- the parts

static void print_constants(const mlt_flow_graph *g, FILE *to)
{
    for (uint32_t i = 0; i < g->constant_count; i++) {
        if (i == 0)
            fprintf(to, "constants\n");
        fprintf(to, "  %s = %ld%s\n", g->constants[i].name, g->constants[i].value,
                g->constants[i].overridden ? " (from the command line)" : "");
    }
}

static void print_instances(const mlt_flow_graph *g, FILE *to)
{
    int width = 0;
    char name[FLOW_PRINT_NAME_BYTES];
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 1)
            fprintf(to, "instances\n");
        for (uint32_t i = 0; i < g->vector_count; i++) {
            const mlt_flow_vector *v = &g->vectors[i];
            int n = v->scalar ? snprintf(name, sizeof name, "%s", v->name)
                              : snprintf(name, sizeof name, "%s[%" PRIu32 "]", v->name, v->count);
            if (turn == 0) {
                width = n > width ? n : width;
                continue;
            }
            fprintf(to, "  %-*s  %s", width, name, v->module->name);
            if (v->op)
                fprintf(to, " (%s)", v->op->name);
            for (size_t k = 0, said = 0; k < v->parameter_count; k++) {
                const mlt_flow_parameter *p = &v->parameters[k];
                if (!p->written)
                    continue;
                fprintf(to, "%s%s = ", said++ ? ", " : " (", p->decl->name);
                if (p->text)
                    fprintf(to, "\"%s\"", p->text);
                else
                    fprintf(to, "%ld", p->number);
            }
            fprintf(to, "%s", v->parameter_count ? ")" : "");
            if (v->kind == MLT_FLOW_MODULE && v->weight != 1)
                fprintf(to, ", weight %" PRIu32, v->weight);
            fprintf(to, "\n");
        }
    }
}

static bool alike(const mlt_flow_graph *g, const mlt_flow_edge *a, const mlt_flow_edge *b)
{
    return a->line == b->line && g->vector_of[a->from] == g->vector_of[b->from] &&
           g->vector_of[a->to] == g->vector_of[b->to] && a->out == b->out && a->in == b->in;
}

// The ends of `count` edges without those that repeat the one before.
static const char *ends(const mlt_flow_graph *g, const mlt_flow_edge *e, uint32_t count, bool from,
                        uint32_t *index, char *text, size_t size)
{
    size_t n = 0;
    const mlt_flow_vector *v = mlt_flow_vector_of(g, from ? e->from : e->to);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (from ? e[i].from : e[i].to) - v->first;
        if (n == 0 || index[n - 1] != at)
            index[n++] = at;
    }
    return mlt_flow_range(v, index, n, text, size);
}

static void print_wires(const mlt_flow_graph *g, FILE *to)
{
    uint32_t *index = mlt_xcalloc(g->edge_count + 1, sizeof *index);
    fprintf(to, "wires\n");
    for (uint32_t i = 0; i < g->edge_count;) {
        const mlt_flow_edge *e = &g->edges[i];
        uint32_t n = 1;
        while (i + n < g->edge_count && alike(g, e, e + n))
            n++;
        char from[FLOW_PRINT_NAME_BYTES], out[FLOW_PRINT_NAME_BYTES], into[FLOW_PRINT_NAME_BYTES],
            in[FLOW_PRINT_NAME_BYTES];
        fprintf(to, "  %s%s -> %s%s", ends(g, e, n, true, index, from, sizeof from),
                mlt_flow_out_suffix(g, e, out, sizeof out),
                ends(g, e, n, false, index, into, sizeof into),
                mlt_flow_in_suffix(g, e, in, sizeof in));
        fprintf(to, "    (line %d", e->line);
        if (n > 1)
            fprintf(to, ", %" PRIu32 " wires", n);
        fprintf(to, ")\n");
        i += n;
    }
}

void mlt_flow_print(const mlt_flow_graph *graph, FILE *to)
{
    print_constants(graph, to);
    print_instances(graph, to);
    print_wires(graph, to);
}
