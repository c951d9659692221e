// SPDX-License-Identifier: BSD-3-Clause
// Headers of modules, and the program except its roots (gen_wire.c).
#include "flowc/gen.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "flow/graph/arena.h"
#include "flowc/gen_int.h"

void mlt_gen_put(mlt_gen *g, const char *format, ...)
{
    mlt_text text = {0};
    MLT_TEXT_ADD(&text, format);
    for (const char *c = mlt_text_so_far(&text); *c; c++)
        g->line += *c == '\n';
    fputs(mlt_text_so_far(&text), g->to);
    mlt_text_free(&text);
}

// A literal of C.
static void put_string(mlt_gen *g, const char *text)
{
    fputc('"', g->to);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(g->to, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", g->to);
        else if (c < 0x20 || c == 0x7f || c == '?') // ?: no trigraphs
            fprintf(g->to, "\\%03o", c);
        else
            fputc(c, g->to);
    }
    fputc('"', g->to);
}

const mlt_flow_root_item *mlt_gen_root(const mlt_flow_file *file, const char *name)
{
    for (const mlt_flow_root_item *r = file->roots; r; r = r->next)
        if (strcmp(r->name, name) == 0)
            return r;
    return NULL;
}

// ---- modules of a file

static bool listed(const mlt_flow_declaration *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

mlt_flow_declaration *mlt_flow_gen_modules(const mlt_flow_file *file, size_t *count)
{
    size_t room = 1, n = 0;
    for (const mlt_flow_declaration *d = file->declarations; d; d = d->next)
        room++;
    for (const mlt_flow_root_item *r = file->roots; r; r = r->next)
        room += r->required_count;
    mlt_flow_declaration *list = mlt_xcalloc(room, sizeof *list);
    for (const mlt_flow_declaration *d = file->declarations; d; d = d->next)
        list[n++] = *d;
    for (const mlt_flow_root_item *r = file->roots; r; r = r->next)
        for (size_t i = 0; i < r->required_count; i++) {
            const char *name = r->required[i];
            if (!mlt_flow_built_in(name) && !mlt_gen_root(file, name) && !listed(list, n, name))
                list[n++] = (mlt_flow_declaration){
                    .name = name, .line = r->required_lines[i], .queues = mlt_flow_default_queues};
        }
    *count = n;
    return list;
}

// ---- headers

// All headers of a file have the same ones; they are taken once, so that they need no guards.
static void put_includes(mlt_gen *g)
{
    if (!g->file->include_count)
        return;
    const char *slash = strrchr(g->file->path, '/');
    char name[64];
    snprintf(name, sizeof name, "FLOW_INCLUDES_%.40s", slash ? slash + 1 : g->file->path);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    mlt_gen_put(g, "#ifndef %s\n#define %s\n", name, name);
    for (size_t i = 0; i < g->file->include_count; i++) {
        const char *file = g->file->includes[i];
        bool bare = *file != '"' && *file != '<';
        mlt_gen_put(g, "#include %s%s%s\n", bare ? "\"" : "", file, bare ? "\"" : "");
    }
    mlt_gen_put(g, "#endif\n");
}

static void put_struct(mlt_gen *g, const mlt_flow_declaration *m, const char *path)
{
    mlt_gen_put(g, "typedef struct %s {\n    flow_self flow;\n    struct {\n", m->name);
    for (const mlt_flow_queue_item *q = m->queues; q; q = q->next)
        mlt_gen_put(g, "        FLOW_QUEUE(%s) %s; // %s%s\n", q->type ? q->type : "void", q->name,
                    q->input ? "input" : "output", q->implied ? ", not declared" : "");
    mlt_gen_put(g, "    } q;\n");
    if (m->data && m->data[strspn(m->data, " \t\r\n")]) {
        mlt_gen_put(g, "#line %d ", m->data_line);
        put_string(g, g->file->path);
        mlt_gen_put(g, "\n%s", m->data);
        if (m->data[strlen(m->data) - 1] != '\n')
            mlt_gen_put(g, "\n");
        mlt_gen_put(g, "#line %d ", g->line + 1);
        put_string(g, path);
        mlt_gen_put(g, "\n");
    }
    mlt_gen_put(g, "} %s;\n", m->name);
}

void mlt_flow_gen_header(const mlt_flow_file *file, const mlt_flow_declaration *module,
                         const char *path, FILE *to)
{
    mlt_gen g = {.to = to, .line = 1, .file = file};
    const char *name = module->name;
    mlt_gen_put(&g,
                "// What module %s has, written by `millet flow` from %s:%d: change it there.\n"
                "#ifndef FLOW_MODULE_%s\n#define FLOW_MODULE_%s\n\n#include <millet/flow.h>\n",
                name, file->path, module->line, name, name);
    put_includes(&g);
    mlt_gen_put(&g, "\n");
    put_struct(&g, module, path);
    mlt_gen_put(&g,
                "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
                "void %s_init(%s *my); // need not be there\nint %s_run(%s *my);\n"
                "void %s_fini(%s *my); // need not be there\n"
                "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
                name, name, name, name, name, name);
}

void mlt_flow_gen_operations(const mlt_flow_file *file, FILE *to)
{
    mlt_gen g = {.to = to, .line = 1, .file = file};
    mlt_gen_put(
        &g,
        "// The reduction operations, written by `millet flow` from %s: change them there.\n"
        "// Each does into[i] = into[i] op with[i] for count values.\n"
        "#ifndef FLOW_OPERATIONS\n#define FLOW_OPERATIONS\n\n#include <millet/flow.h>\n",
        file->path);
    put_includes(&g);
    mlt_gen_put(&g, "\n");
    mlt_gen_put(&g, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (const mlt_flow_operation *o = file->operations; o; o = o->next)
        mlt_gen_put(&g,
                    "__attribute__((visibility(\"hidden\")))\n"
                    "void %s(%s *into, const %s *with, size_t count);\n",
                    o->name, o->type, o->type);
    mlt_gen_put(&g, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

// ---- expressions

// Priority: higher binds stronger.
static int priority(mlt_flow_expr_kind kind)
{
    static const int of[] = {
        [MLT_FLOW_NUMBER] = 4, [MLT_FLOW_EXPR_NAME] = 4, [MLT_FLOW_NEGATE] = 3,
        [MLT_FLOW_ADD] = 1,    [MLT_FLOW_SUBTRACT] = 1,  [MLT_FLOW_MULTIPLY] = 2,
        [MLT_FLOW_DIVIDE] = 2, [MLT_FLOW_REMAINDER] = 2};
    return of[kind];
}

// May this quotient have a divisor of 0 when constants are other ones?
static bool unsafe(const mlt_flow_expr *e)
{
    return (e->kind == MLT_FLOW_DIVIDE || e->kind == MLT_FLOW_REMAINDER) &&
           (e->right->kind != MLT_FLOW_NUMBER || e->right->number == 0);
}

static void add_expr(mlt_text *to, const mlt_flow_expr *e, bool as_c, int around)
{
    int own = priority(e->kind);
    if (e->kind == MLT_FLOW_NUMBER) {
        mlt_text_add(to, "%ld", e->number);
        return;
    }
    if (e->kind == MLT_FLOW_EXPR_NAME) {
        mlt_text_add(to, "%s", as_c ? mlt_gen_name(e->name).text : e->name);
        return;
    }
    mlt_text_add(to, own < around ? "(" : "");
    if (e->kind == MLT_FLOW_NEGATE) {
        mlt_text_add(to, "-");
        add_expr(to, e->left, as_c, own + 1);
    } else {
        bool careful = as_c && unsafe(e);
        add_expr(to, e->left, as_c, own);
        mlt_text_add(to, " %c ", mlt_flow_sign(e->kind));
        if (careful)
            mlt_text_add(to, "flow_nonzero(w, %d, ", e->line);
        add_expr(to, e->right, as_c, careful ? 0 : own + 1);
        mlt_text_add(to, careful ? ")" : "");
    }
    mlt_text_add(to, own < around ? ")" : "");
}

static const char *expr_text(mlt_gen *g, const mlt_flow_expr *e, bool as_c)
{
    mlt_text text = {0};
    add_expr(&text, e, as_c, 0);
    const char *kept = mlt_flow_arena_text(g->file->arena, text.text, text.length);
    mlt_text_free(&text);
    return kept;
}

const char *mlt_gen_written(mlt_gen *g, const mlt_flow_expr *e)
{
    return expr_text(g, e, false);
}

const char *mlt_gen_c(mlt_gen *g, const mlt_flow_expr *e)
{
    return expr_text(g, e, true);
}

bool mlt_gen_is_number(const mlt_flow_expr *e)
{
    return e && e->kind != MLT_FLOW_EXPR_NAME && (!e->left || mlt_gen_is_number(e->left)) &&
           (!e->right || mlt_gen_is_number(e->right));
}

mlt_gen_text mlt_gen_name(const char *name)
{
    // What else the program's functions see. Words of C are no names of the language.
    static const char *const taken[] = {
        "main",     "w",   "hosts", "FILE_NAME", "nullptr", "alignof", "thread_local",
        "offsetof", "EOF", "stdin", "stdout",    "stderr",  "I",
    };
    static const char *const beginnings[] = {"flow_", "FLOW_", "module_", "queues_",
                                             "root_", "op_",   "wire_",   "_"};
    bool change = false;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        change = change || strcmp(name, taken[i]) == 0;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        change = change || strncmp(name, beginnings[i], strlen(beginnings[i])) == 0;
    // A name that ends in an underscore gets one more, so that two names stay two.
    size_t n = strlen(name);
    change = change || (n && name[n - 1] == '_');
    mlt_gen_text t;
    // A long name is cut by no compiler, but by this: such are told apart by where they stand.
    snprintf(t.text, sizeof t.text, "%s%s", name, change ? "_" : "");
    return t;
}

// ---- the program

// Marks what the root instantiates, and lists it after its inner roots.
static void gen_reach(mlt_gen *g, const mlt_flow_root_item *root)
{
    for (size_t i = 0; i < g->root_count; i++)
        if (g->roots[i] == root)
            return;
    for (const mlt_flow_statement *s = root->statements; s; s = s->next) {
        if (s->kind != MLT_FLOW_INSTANCE)
            continue;
        const mlt_flow_root_item *inner = mlt_gen_root(g->file, s->module);
        if (inner && inner != root)
            gen_reach(g, inner);
        for (size_t i = 0; i < g->module_count && !inner; i++)
            if (strcmp(g->modules[i].name, s->module) == 0)
                g->used[i] = true;
    }
    g->roots[g->root_count++] = root;
}

static void put_queue(mlt_gen *g, const mlt_flow_queue_item *q, const char *module)
{
    mlt_gen_put(g, "    {.name = \"%s\"%s%s", q->name, q->input ? ", .input = true" : "",
                q->optional ? ", .optional = true" : "");
    if (q->type)
        mlt_gen_put(g, ", FLOW_CARRIES(%s)", q->type);
    if (mlt_gen_is_number(q->cap))
        mlt_gen_put(g, ", .cap = %s", mlt_gen_c(g, q->cap));
    if (module)
        mlt_gen_put(g, ", .offset = offsetof(%s, q.%s)", module, q->name);
    mlt_gen_put(g, "},\n");
}

// Not const if a capacity depends on a constant: wire_ROOT then fills it in.
static const char *constness(const mlt_flow_queue_item *queues)
{
    for (const mlt_flow_queue_item *q = queues; q; q = q->next)
        if (q->cap && !mlt_gen_is_number(q->cap))
            return "";
    return "const ";
}

static void put_module(mlt_gen *g, const mlt_flow_declaration *m)
{
    const char *n = m->name;
    mlt_gen_put(g, "FLOW_CALLS(%s)\n\nstatic %sflow_queue_decl queues_%s[] = {\n", n,
                constness(m->queues), n);
    for (const mlt_flow_queue_item *q = m->queues; q; q = q->next)
        put_queue(g, q, n);
    bool fixed = !m->weight || mlt_gen_is_number(m->weight);
    mlt_gen_put(g,
                "};\n\nstatic %sflow_module module_%s = {\n    .name = \"%s\",\n"
                "    .bytes = sizeof(%s),\n    .file = FILE_NAME,\n    .line = %d,\n"
                "    .queues = queues_%s,\n"
                "    .queue_count = sizeof queues_%s / sizeof *queues_%s,\n",
                fixed ? "const " : "", n, n, n, m->line, n, n, n);
    if (m->weight && fixed)
        mlt_gen_put(g, "    .weight = %s,\n", mlt_gen_c(g, m->weight));
    mlt_gen_put(g, "    .init = init_%s,\n    .run = run_%s,\n    .fini = fini_%s,\n};\n\n", n, n,
                n);
}

// ---- operations

static void put_operation(mlt_gen *g, const char *name)
{
    const mlt_flow_operation *o = g->file->operations;
    while (o && strcmp(o->name, name) != 0)
        o = o->next;
    if (o)
        mlt_gen_put(g,
                    "static void combine_%s(void *into, const void *with, size_t count)\n{\n"
                    "    %s(into, with, count);\n}\n\n"
                    "static const flow_op op_%s = {\n    .name = \"%s\", .combine = combine_%s, "
                    "FLOW_CARRIES(%s)%s};\n\n",
                    name, name, name, name, name, o->type, o->ordered ? ", .ordered = true" : "");
    else
        mlt_gen_put(g, "static const flow_op op_%s = {.name = \"%s\"};\n\n", name, name);
}

// Those that the roots name, each once.
static void put_operations(mlt_gen *g)
{
    mlt_name_table told = {0};
    for (size_t i = 0; i < g->root_count; i++)
        for (const mlt_flow_statement *s = g->roots[i]->statements; s; s = s->next)
            for (const mlt_flow_stage *t = s->stages; t; t = t->next)
                for (const mlt_flow_wire_part *p = t->parts; p; p = p->next)
                    if (p->op && !mlt_name_table_add(&told, p->op, g))
                        put_operation(g, p->op);
    mlt_name_table_free(&told);
}

// ---- all of it

static void put_top(mlt_gen *g)
{
    mlt_gen_put(g,
                "// The program that %s describes, written by `millet flow`: change it there.\n"
                "#include <millet/flow.h>\n#include <stddef.h>\n\n",
                g->file->path);
    for (size_t i = 0; i < g->module_count; i++)
        if (g->used[i])
            mlt_gen_put(g, "#include \"%s.flow.h\"\n", g->modules[i].name);
    if (g->file->operations)
        mlt_gen_put(g, "#include \"operations.flow.h\"\n");
    mlt_gen_put(g, "\n#define FILE_NAME ");
    put_string(g, g->file->path);
    mlt_gen_put(g, "\n\n");
}

// What wire_ROOT of a nested root joins to inner queues, and the root itself.
static void put_root(mlt_gen *g, const mlt_flow_root_item *root)
{
    if (root->queues) {
        mlt_gen_put(g, "static %sflow_queue_decl queues_%s[] = {\n", constness(root->queues),
                    root->name);
        for (const mlt_flow_queue_item *q = root->queues; q; q = q->next)
            put_queue(g, q, NULL);
        mlt_gen_put(g, "};\n\n");
    }
    mlt_gen_wire(g, root);
    mlt_gen_put(g,
                "static const flow_root root_%s = {\n    .name = \"%s\",\n    .file = FILE_NAME,\n"
                "    .line = %d,\n    .wire = wire_%s,\n",
                root->name, root->name, root->line, root->name);
    if (root->queues)
        mlt_gen_put(g,
                    "    .queues = queues_%s,\n"
                    "    .queue_count = sizeof queues_%s / sizeof *queues_%s,\n",
                    root->name, root->name, root->name);
    mlt_gen_put(g, "};\n\n");
}

static void put_hosts(mlt_gen *g, const char *hosts)
{
    mlt_gen_put(g, "// The hostfile that it was built with.\nstatic const char hosts[] =\n    ");
    if (!*hosts)
        mlt_gen_put(g, "\"\"");
    for (const char *line = hosts; *line;) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        char *text = mlt_xcalloc(1, n + 1);
        memcpy(text, line, n);
        text[n] = '\0';
        mlt_gen_put(g, line == hosts ? "" : "\n    ");
        put_string(g, text);
        free(text);
        line += n;
    }
    mlt_gen_put(g, ";\n\n");
}

// A file that includes mpi.h has modules that call MPI.
static void put_main(mlt_gen *g, const char *hosts)
{
    bool mpi = false;
    for (size_t i = 0; i < g->file->include_count; i++)
        mpi = mpi || strcmp(g->file->includes[i], "<mpi.h>") == 0 ||
              strcmp(g->file->includes[i], "\"mpi.h\"") == 0;
    mlt_gen_put(g, "int main(int argc, char **argv)\n{\n");
    if (mpi)
        mlt_gen_put(g,
                    "    MPI_Init(&argc, &argv);\n"
                    "    int status = flow_main(argc, argv, &root_%s, %s);\n"
                    "    MPI_Finalize();\n    return status;\n}\n",
                    g->main->name, hosts);
    else
        mlt_gen_put(g, "    return flow_main(argc, argv, &root_%s, %s);\n}\n", g->main->name,
                    hosts);
}

void mlt_flow_gen_program(const mlt_flow_file *file, const mlt_flow_override *overrides,
                          size_t override_count, const char *hosts, FILE *to)
{
    mlt_flow_messages none = {.first = NULL};
    mlt_gen g = {.to = to,
                 .line = 1,
                 .file = file,
                 .main = mlt_flow_main_root(file, &none),
                 .overrides = overrides,
                 .override_count = override_count};
    mlt_flow_messages_free(&none);
    size_t roots = 0;
    for (const mlt_flow_root_item *r = file->roots; r; r = r->next)
        roots++;
    g.roots = mlt_xcalloc(roots + 1, sizeof *g.roots);
    g.modules = mlt_flow_gen_modules(file, &g.module_count);
    g.used = mlt_xcalloc(g.module_count + 1, sizeof *g.used);
    if (g.main)
        gen_reach(&g, g.main);
    put_top(&g);
    mlt_gen_put(&g, "// ---- modules\n\n");
    for (size_t i = 0; i < g.module_count; i++)
        if (g.used[i])
            put_module(&g, &g.modules[i]);
    put_operations(&g);
    mlt_gen_put(&g, "// ---- wiring\n\n");
    mlt_gen_undefine(&g);
    for (size_t i = 0; i < g.root_count; i++)
        put_root(&g, g.roots[i]);
    if (hosts)
        put_hosts(&g, hosts);
    if (g.main)
        put_main(&g, hosts ? "hosts" : "NULL");
    free(g.roots);
    free(g.modules);
    free(g.used);
}
