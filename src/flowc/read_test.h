// SPDX-License-Identifier: BSD-3-Clause
// A file printed as the language has it, for the tests of the reader: what is read again is the
// same. Everything is said once and in one order: includes, constants, operations, modules, roots.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "flowc/ast.h"

static inline int flow_rank(const mlt_flow_expr *e)
{
    return e->kind == MLT_FLOW_ADD || e->kind == MLT_FLOW_SUBTRACT ? 1
           : e->kind >= MLT_FLOW_MULTIPLY                          ? 2
                                                                   : 3;
}

// Parentheses only where they must be, so that it is not nested deeper than it was.
static inline void flow_print_expr(FILE *to, const mlt_flow_expr *e, int least)
{
    int rank = flow_rank(e);
    if (rank < least)
        fputc('(', to);
    if (e->kind == MLT_FLOW_NUMBER) {
        fprintf(to, "%ld", e->number);
    } else if (e->kind == MLT_FLOW_EXPR_NAME) {
        fputs(e->name, to);
    } else if (e->kind == MLT_FLOW_NEGATE) {
        fputc('-', to);
        flow_print_expr(to, e->left, 3);
    } else {
        flow_print_expr(to, e->left, rank);
        fprintf(to, " %c ", "+-*/%"[e->kind - MLT_FLOW_ADD]);
        flow_print_expr(to, e->right, rank + 1);
    }
    if (rank < least)
        fputc(')', to);
}

static inline void flow_print_option(FILE *to, const char *before, const mlt_flow_expr *e,
                                     const char *behind)
{
    if (!e)
        return;
    fputs(before, to);
    flow_print_expr(to, e, 1);
    fputs(behind, to);
}

static inline void flow_print_const(FILE *to, const mlt_flow_const *c)
{
    fprintf(to, "const %s", c->name);
    flow_print_option(to, " = ", c->value, ";\n");
}

static inline void flow_print_queues(FILE *to, const mlt_flow_queue_item *queue)
{
    for (; queue; queue = queue->next) {
        if (queue->implied)
            continue;
        fprintf(to, "%s %s %s", queue->input ? "in" : "out", queue->type ? queue->type : "void",
                queue->name);
        flow_print_option(to, " cap ", queue->cap, "");
        fputs(queue->optional ? " optional;\n" : ";\n", to);
    }
}

static inline void flow_print_stage(FILE *to, const mlt_flow_stage *stage)
{
    for (const mlt_flow_wire_part *part = stage->parts; part; part = part->next) {
        fputs(part->name, to);
        flow_print_option(to, "[", part->first, "");
        flow_print_option(to, ":", part->last, "");
        flow_print_option(to, ":", part->step, "");
        fputs(part->first ? "]" : "", to);
        if (part->queue)
            fprintf(to, ".%s", part->queue);
        if (part->op)
            fprintf(to, "(%s)", part->op);
        fputs(part->next ? ", " : "", to);
    }
}

static inline void flow_print_statement(FILE *to, const mlt_flow_statement *s)
{
    if (s->kind == MLT_FLOW_CONST) {
        flow_print_const(to, s->constant);
        return;
    }
    if (s->kind == MLT_FLOW_INSTANCE) {
        fprintf(to, "%s %s", s->module, s->name);
        flow_print_option(to, "[", s->count, "]");
        for (const mlt_flow_argument *a = s->arguments; a; a = a->next) {
            fprintf(to, "%s%s = ", a == s->arguments ? "(" : ", ", a->name);
            if (a->text)
                fprintf(to, "\"%s\"", a->text);
            flow_print_option(to, "", a->value, "");
            fputs(a->next ? "" : ")", to);
        }
    } else {
        static const char *const joints[] = {" ||| ", " -> ", " => "};
        for (const mlt_flow_stage *stage = s->stages; stage; stage = stage->next) {
            flow_print_stage(to, stage);
            fputs(stage->next ? joints[stage->next->joint] : "", to);
        }
        if (s->kind == MLT_FLOW_PLACE)
            fputs(" @ ", to);
        if (s->host)
            fprintf(to, "\"%s\"", s->host);
        flow_print_option(to, s->host ? ":" : "(", s->place, s->host ? "" : ")");
    }
    fputs(";\n", to);
}

static inline void flow_print(FILE *to, const mlt_flow_file *file)
{
    for (size_t i = 0; i < file->include_count; i++)
        fprintf(to, "include %s;\n", file->includes[i]);
    for (const mlt_flow_const *c = file->consts; c; c = c->next)
        flow_print_const(to, c);
    for (const mlt_flow_operation *op = file->operations; op; op = op->next)
        fprintf(to, "Declare Operation %s(%s)%s;\n", op->name, op->type,
                op->ordered ? " ordered" : "");
    for (const mlt_flow_declaration *module = file->declarations; module; module = module->next) {
        fprintf(to, "Declare Module %s {\n", module->name);
        if (module->data)
            fprintf(to, "data_section {%s}\n", module->data);
        flow_print_queues(to, module->queues);
        flow_print_option(to, "weight ", module->weight, ";\n");
        fputs("}\n", to);
    }
    for (const mlt_flow_root_item *root = file->roots; root; root = root->next) {
        fprintf(to, "Module %s is Root", root->name);
        for (size_t i = 0; i < root->required_count; i++)
            fprintf(to, "%s Module %s", i ? "," : " requires", root->required[i]);
        fputs(" {\n", to);
        flow_print_queues(to, root->queues);
        bool flow = false;
        for (const mlt_flow_statement *s = root->statements; s; s = s->next) {
            if (!flow && (s->kind == MLT_FLOW_STATEMENT_WIRE || s->kind == MLT_FLOW_PLACE)) {
                fputs("flow:\n", to);
                flow = true;
            }
            flow_print_statement(to, s);
        }
        fputs("}\n", to);
    }
}

static inline char *flow_printed(const mlt_flow_file *file)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        abort();
    flow_print(to, file);
    if (fclose(to) != 0)
        abort();
    return text;
}
