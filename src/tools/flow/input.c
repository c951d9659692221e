// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/input.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flow/graph/number.h"
#include "tools/goal/source.h"

// "N=32" -> its name and value. False: it is not of that form.
static bool read_define(const char *text, char **name, long *value)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    if (n == 0 || isdigit((unsigned char)text[0]) || text[n] != '=' ||
        !mlt_flow_number(text + n + 1, value))
        return false;
    *name = mlt_take(1, n + 1);
    memcpy(*name, text, n);
    return true;
}

static int read_defines(const mlt_arg_command *command, const mlt_arg_texts *defines,
                        mlt_flow_input *out)
{
    out->overrides = mlt_take(defines->count + 1, sizeof *out->overrides);
    for (size_t i = 0; i < defines->count; i++) {
        char *name;
        if (!read_define(defines->items[i], &name, &out->overrides[i].value))
            return mlt_args_wrong(command, "option -D is '%s', but should be NAME=NUMBER",
                                  defines->items[i]);
        out->overrides[i].name = name;
        out->override_count = i + 1;
    }
    return MLT_ARGS_GO;
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

int mlt_flow_input_read(const mlt_arg_command *command, const char *path,
                        const mlt_arg_texts *defines, mlt_flow_input *out)
{
    *out = (mlt_flow_input){.file = NULL};
    int code = read_defines(command, defines, out);
    mlt_source_file bytes;
    if (code == MLT_ARGS_GO)
        code = mlt_source_file_read(command, path, &bytes);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_flow_messages messages = {.first = NULL};
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    out->file = mlt_flow_read(name, bytes.bytes, bytes.size, &messages);
    mlt_source_file_drop(&bytes);
    for (size_t i = 0; i < out->override_count && !messages.errors; i++)
        if (!is_constant(out->file, out->overrides[i].name))
            code = mlt_args_wrong(command, "option -D is for %s, but %s has no such constant",
                                  out->overrides[i].name, name);
    if (code == MLT_ARGS_GO && !messages.errors)
        out->graph = mlt_flow_check(out->file, out->overrides, out->override_count, &messages);
    input_tell(name, &messages);
    out->warnings = messages.warnings;
    if (code == MLT_ARGS_GO && !out->graph)
        code = MLT_EXIT_FOUND;
    mlt_flow_messages_free(&messages);
    return code;
}

void mlt_flow_input_free(mlt_flow_input *input)
{
    mlt_flow_graph_free(input->graph);
    mlt_flow_file_free(input->file);
    for (size_t i = 0; i < input->override_count; i++)
        free((char *)input->overrides[i].name);
    free(input->overrides);
    *input = (mlt_flow_input){.file = NULL};
}

char **mlt_flow_argv(int *argc, char **argv)
{
    static char letter[] = "-D", nfg[] = "--nfg";
    char **out = mlt_take((size_t)*argc * 2 + 1, sizeof *out);
    int n = 0;
    bool behind = false;
    for (int i = 0; i < *argc; i++) {
        behind = behind || strcmp(argv[i], "--") == 0;
        if (!behind && strncmp(argv[i], "-D", 2) == 0 && argv[i][2]) {
            out[n++] = letter;
            out[n++] = argv[i] + 2;
        } else {
            out[n++] = !behind && strcmp(argv[i], "-nfg") == 0 ? nfg : argv[i];
        }
    }
    *argc = n;
    return out;
}

int mlt_flow_input_text(const mlt_arg_command *command, const char *path, char **text)
{
    *text = NULL;
    if (!path)
        return MLT_ARGS_GO;
    mlt_source_file bytes;
    int code = mlt_source_file_read(command, path, &bytes);
    if (code != MLT_ARGS_GO)
        return code;
    *text = mlt_take(1, bytes.size + 1);
    memcpy(*text, bytes.bytes, bytes.size);
    mlt_source_file_drop(&bytes);
    return MLT_ARGS_GO;
}

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

char *mlt_flow_stem(const char *path)
{
    size_t at = strchr(path, '/') ? folder_length(path) + 1 : 0, n = strlen(path + at);
    if (n > 5 && strcmp(path + at + n - 5, ".flow") == 0)
        n -= 5;
    char *stem = mlt_take(1, n + 1);
    memcpy(stem, path + at, n);
    return stem;
}

char *mlt_flow_folder(const char *path)
{
    size_t n = folder_length(path);
    char *folder = mlt_take(1, n + 2);
    memcpy(folder, path, n);
    if (n == 0)
        folder[0] = *path == '/' ? '/' : '.';
    return folder;
}
