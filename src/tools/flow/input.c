// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/input.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "flow/graph/number.h"
#include "tools/goal/source.h"

mlt_arg_texts mlt_flow_defines;

// "N=32" -> its name and value. False: it is not of that form.
static bool read_define(const char *text, char **name, long *value)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    if (n == 0 || isdigit((unsigned char)text[0]) || text[n] != '=' ||
        !mlt_flow_number_parse(text + n + 1, value))
        return false;
    *name = mlt_xcalloc(1, n + 1);
    memcpy(*name, text, n);
    return true;
}

static void read_defines(mlt_flow_input *out)
{
    const mlt_arg_texts *defines = &mlt_flow_defines;
    out->overrides = mlt_xcalloc(defines->count + 1, sizeof *out->overrides);
    for (size_t i = 0; i < defines->count; i++) {
        char *name;
        if (!read_define(defines->items[i], &name, &out->overrides[i].value))
            mlt_args_wrong("option -D is '%s', but should be NAME=NUMBER", defines->items[i]);
        out->overrides[i].name = name;
        out->override_count = i + 1;
    }
}

static bool is_constant(const mlt_flow_file *file, const char *name)
{
    for (const mlt_flow_const *c = file->consts; c; c = c->next)
        if (strcmp(c->name, name) == 0)
            return true;
    for (const mlt_flow_root_item *r = file->roots; r; r = r->next)
        for (const mlt_flow_statement *s = r->statements; s; s = s->next)
            if (s->kind == MLT_FLOW_CONST && strcmp(s->constant->name, name) == 0)
                return true;
    return false;
}

static void input_tell(const char *path, const mlt_flow_messages *messages)
{
    fflush(stdout);
    for (const mlt_flow_message *m = messages->first; m; m = m->next) {
        fprintf(stderr, "%s:", path);
        if (m->line > 0)
            fprintf(stderr, "%d:", m->line);
        if (m->line > 0 && m->column > 0)
            fprintf(stderr, "%d:", m->column);
        fprintf(stderr, " %s: %s\n", m->warning ? "warning" : "error", m->text);
    }
}

mlt_flow_input mlt_flow_input_read(const char *path)
{
    mlt_flow_input in = {.file = NULL};
    mlt_flow_messages messages = {.first = NULL};
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    read_defines(&in);
    mlt_source_file bytes = mlt_source_file_read(path);
    in.file = mlt_flow_read(name, bytes.bytes, bytes.size, &messages);
    mlt_source_file_drop(&bytes);
    for (size_t i = 0; i < in.override_count && !messages.errors; i++)
        if (!is_constant(in.file, in.overrides[i].name)) {
            input_tell(name, &messages);
            mlt_args_wrong("option -D is for %s, but %s has no such constant", in.overrides[i].name,
                           name);
        }
    if (!messages.errors)
        in.graph = mlt_flow_check(in.file, in.overrides, in.override_count, &messages);
    input_tell(name, &messages);
    if (!in.graph)
        exit(MLT_EXIT_FOUND);
    return in;
}

char *mlt_flow_stem(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    return mlt_text_of("%.*s", (int)(n > 5 && strcmp(name + n - 5, ".flow") == 0 ? n - 5 : n),
                       name);
}

char *mlt_flow_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? mlt_text_of(".")
                  : mlt_text_of("%.*s", (int)(slash > path ? slash - path : 1), path);
}
