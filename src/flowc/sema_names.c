// SPDX-License-Identifier: BSD-3-Clause
// What names alone tell: unknown, declared twice, not required, of the wrong kind; roots that
// contain themselves; things that are never used.
#include <string.h>

#include "flow/graph/ops.h"
#include "flowc/sema_int.h"

// ---- declarations

static const mlt_flow_const *file_const(const mlt_sema *c, const char *name)
{
    for (const mlt_flow_const *k = c->file->consts; k; k = k->next)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

static bool requires_it(const mlt_flow_root_item *root, const char *name)
{
    for (size_t i = 0; i < root->required_count; i++)
        if (strcmp(root->required[i], name) == 0)
            return true;
    return false;
}

static void twice(const mlt_sema *c, int line, const char *name, int before)
{
    MLT_SEMA_ERROR(c, line, "%s is declared already (line %d)", name, before);
}

// A name of a module or root: free, or told of the later one.
static void check_module_name(const mlt_sema *c, const char *name, int line,
                              const mlt_flow_declaration *module, const mlt_flow_root_item *root)
{
    if (mlt_flow_built_in(name)) {
        MLT_SEMA_ERROR(c, line, "%s is a built-in module: choose another name", name);
        return;
    }
    for (const mlt_flow_declaration *d = c->file->declarations; d && d != module; d = d->next)
        if (strcmp(d->name, name) == 0 && d->line <= line) {
            twice(c, line, name, d->line);
            return;
        }
    for (const mlt_flow_root_item *r = c->file->roots; r && r != root; r = r->next)
        if (strcmp(r->name, name) == 0 && (root || r->line < line)) {
            twice(c, line, name, r->line);
            return;
        }
}

// The generated program has functions and variables beside what is declared: `A_run`, `root_Main`.
// Modules and operations are types and functions of C, so they cannot have such names.
static void check_c_name(mlt_sema *c, const char *name, int line)
{
    static const char *const before[] = {"module_", "queues_", "init_", "run_",    "fini_",
                                         "root_",   "wire_",   "op_",   "combine_"};
    static const char *const behind[] = {"_init", "_run", "_fini"};
    if (strncmp(name, "flow_", 5) == 0 || strncmp(name, "FLOW_", 5) == 0 ||
        strcmp(name, "main") == 0 || strcmp(name, "hosts") == 0 || strcmp(name, "FILE_NAME") == 0) {
        MLT_SEMA_ERROR(c, line, "%s is a name that the program itself uses: choose another name",
                       name);
        return;
    }
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t n = strlen(before[i]);
        const char *of = name + n;
        if (length > n && memcmp(name, before[i], n) == 0 &&
            (mlt_sema_module_of(c, of) || mlt_sema_root_of(c, of) || mlt_sema_op_of(c, of) ||
             (strcmp(before[i], "op_") == 0 && mlt_flow_op_known(of))))
            MLT_SEMA_ERROR(c, line,
                           "%s is a name that the program itself uses, for %s: choose another name",
                           name, of);
    }
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        size_t n = strlen(behind[i]);
        char of[128] = "";
        if (length > n && length - n < sizeof of && strcmp(name + length - n, behind[i]) == 0)
            memcpy(of, name, length - n);
        if (mlt_sema_module_of(c, of))
            MLT_SEMA_ERROR(c, line, "%s is a function of module %s: choose another name", name, of);
    }
}

static void check_queue_items(const mlt_sema *c, const char *owner,
                              const mlt_flow_queue_item *queues)
{
    for (const mlt_flow_queue_item *q = queues; q; q = q->next) {
        for (const mlt_flow_queue_item *p = queues; p != q; p = p->next)
            if (strcmp(p->name, q->name) == 0) {
                MLT_SEMA_ERROR(c, q->line, "%s has the queue %s already (line %d)", owner, q->name,
                               p->line);
                break;
            }
        if (strcmp(q->name, q->input ? "out" : "in") == 0)
            MLT_SEMA_ERROR(c, q->line, "%s is the name of the default %s, so %s cannot be an %s",
                           q->name, q->input ? "output" : "input", q->name,
                           q->input ? "input" : "output");
    }
}

static void check_declarations(mlt_sema *c)
{
    const mlt_flow_file *f = c->file;
    mlt_name_table consts = {0}, operations = {0};
    for (mlt_flow_const *k = f->consts; k; k = k->next) {
        const mlt_flow_const *before = mlt_name_table_add(&consts, k->name, k);
        if (before)
            twice(c, k->line, k->name, before->line);
    }
    for (mlt_flow_operation *o = f->operations; o; o = o->next) {
        const mlt_flow_operation *before = mlt_name_table_add(&operations, o->name, o);
        if (mlt_flow_op_known(o->name))
            MLT_SEMA_ERROR(c, o->line, "%s is a predefined operation: choose another name",
                           o->name);
        if (before)
            twice(c, o->line, o->name, before->line);
        const mlt_sema_module *m = mlt_sema_module_of(c, o->name);
        if (m)
            twice(c, o->line, o->name, m->module.line);
        check_c_name(c, o->name, o->line);
    }
    mlt_name_table_free(&consts);
    mlt_name_table_free(&operations);
    for (const mlt_sema_module *m = c->modules; m; m = m->next)
        check_c_name(c, m->module.name, m->module.line);
    for (const mlt_flow_declaration *d = f->declarations; d; d = d->next) {
        check_module_name(c, d->name, d->line, d, NULL);
        check_queue_items(c, d->name, d->queues);
    }
    for (const mlt_flow_root_item *r = f->roots; r; r = r->next) {
        check_module_name(c, r->name, r->line, NULL, r);
        check_queue_items(c, r->name, r->queues);
    }
}

// ---- roots

// What a root has a name for, up to the statement that is being checked.
typedef struct named {
    enum { QUEUE, INSTANCE, CONSTANT } kind;
    int line;
} named;

static void give_name(mlt_sema *c, mlt_name_table *names, const char *name, named what)
{
    named *own = mlt_sema_take(c, sizeof *own);
    *own = what;
    const named *before = mlt_name_table_add(names, name, own);
    const mlt_flow_const *k = file_const(c, name);
    if (before && what.kind != QUEUE)
        twice(c, what.line, name, before->line);
    else if (k)
        twice(c, what.line, name, k->line);
}

static void check_instance(mlt_sema *c, const mlt_flow_root_item *root, const mlt_flow_statement *s)
{
    mlt_sema_root *inner = mlt_sema_root_of(c, s->module);
    mlt_sema_module *module = mlt_sema_module_of(c, s->module);
    if (mlt_flow_built_in(s->module))
        return;
    if (!inner && !module) {
        mlt_sema_names names = {0};
        for (const mlt_sema_module *m = c->modules; m; m = m->next)
            mlt_sema_names_add(&names, m->module.name);
        for (const mlt_sema_root *r = c->roots; r; r = r->next)
            if (r->item != root)
                mlt_sema_names_add(&names, r->item->name);
        for (size_t i = 0; i < MLT_SEMA_BUILT_IN; i++)
            mlt_sema_names_add(&names, mlt_sema_built_ins[i]->name);
        MLT_SEMA_ERROR(c, s->line, "there is no module %s%s", s->module,
                       mlt_sema_hint_of(&names, s->module).text);
    } else if (root->required_count && !requires_it(root, s->module)) {
        MLT_SEMA_ERROR(c, s->line,
                       "%s does not require Module %s, so it cannot have instances of it",
                       root->name, s->module);
    }
    if (module)
        module->used = true;
}

// A name in a flow statement that is no instance of the root, but perhaps a constant.
static void unknown_part(mlt_sema *c, const mlt_flow_root_item *root, const mlt_flow_wire_part *p,
                         bool constant)
{
    const mlt_flow_statement *later = NULL, *example = NULL;
    mlt_sema_names names = {0};
    for (const mlt_flow_statement *s = root->statements; s; s = s->next)
        if (s->kind == MLT_FLOW_INSTANCE) {
            later = strcmp(s->name, p->name) == 0 ? s : later;
            example = strcmp(s->module, p->name) == 0 ? s : example;
            mlt_sema_names_add(&names, s->name);
        }
    for (const mlt_flow_queue_item *q = root->queues; q; q = q->next)
        mlt_sema_names_add(&names, q->name);
    mlt_sema_hint hint = mlt_sema_hint_of(&names, p->name);
    const char *name = p->name;
    if (later)
        MLT_SEMA_ERROR(c, p->line, "%s is declared only later, in line %d", name, later->line);
    else if (example)
        MLT_SEMA_ERROR(c, p->line,
                       "%s is a module: flow statements are about instances, such as %s", name,
                       example->name);
    else if (mlt_flow_built_in(name) || mlt_sema_module_of(c, name) || mlt_sema_root_of(c, name))
        MLT_SEMA_ERROR(c, p->line, "%s is a module, and %s has no instance of it", name,
                       root->name);
    else if (file_const(c, name) || constant)
        MLT_SEMA_ERROR(c, p->line, "%s is a constant, not an instance", name);
    else
        MLT_SEMA_ERROR(c, p->line, "there is no instance %s in %s%s", name, root->name, hint.text);
}

static void check_op_name(mlt_sema *c, const mlt_flow_wire_part *p)
{
    mlt_sema_op *op = mlt_sema_op_of(c, p->op);
    if (op) {
        op->used = true;
        return;
    }
    if (mlt_flow_op_known(p->op)) {
        op = mlt_sema_take(c, sizeof *op);
        op->op.name = p->op;
        op->used = true;
        op->next = c->ops;
        c->ops = op;
        return;
    }
    mlt_sema_names names = {0};
    for (const mlt_sema_op *o = c->ops; o; o = o->next)
        if (o->item)
            mlt_sema_names_add(&names, o->op.name);
    const char *near = mlt_flow_op_near(p->op);
    mlt_sema_hint hint = mlt_sema_hint_of(&names, p->op);
    if (near || strncmp(hint.text, ": did", 5) == 0)
        MLT_SEMA_ERROR(c, p->line, "there is no operation %s: did you mean %s%s", p->op,
                       near ? near : hint.text + strlen(": did you mean "), near ? "?" : "");
    else
        MLT_SEMA_ERROR(c, p->line, "there is no operation %s: declare it, or take one of %s", p->op,
                       mlt_flow_op_list());
}

static void check_part(mlt_sema *c, const mlt_flow_root_item *root, const mlt_name_table *names,
                       const mlt_flow_wire_part *p)
{
    const named *n = mlt_name_table_find(names, p->name);
    if (!n || n->kind == CONSTANT)
        unknown_part(c, root, p, n != NULL);
    else if (n->kind == QUEUE && (p->first || p->queue || p->op))
        MLT_SEMA_ERROR(c, p->line, "%s is a queue of %s, so nothing can follow its name", p->name,
                       root->name);
    if (p->op)
        check_op_name(c, p);
}

static void check_root(mlt_sema *c, const mlt_flow_root_item *root)
{
    mlt_name_table names = {0};
    for (const mlt_flow_queue_item *q = root->queues; q; q = q->next)
        give_name(c, &names, q->name, (named){QUEUE, q->line}); // those twice are told already
    for (const mlt_flow_statement *s = root->statements; s; s = s->next) {
        if (s->kind == MLT_FLOW_INSTANCE) {
            give_name(c, &names, s->name, (named){INSTANCE, s->line});
            check_instance(c, root, s);
        } else if (s->kind == MLT_FLOW_CONST) {
            give_name(c, &names, s->constant->name, (named){CONSTANT, s->line});
        }
        for (const mlt_flow_stage *t = s->stages; t; t = t->next)
            for (const mlt_flow_wire_part *p = t->parts; p; p = p->next)
                check_part(c, root, &names, p);
    }
    mlt_name_table_free(&names);
}

static bool instantiates(const mlt_flow_root_item *root, const char *name)
{
    for (const mlt_flow_statement *s = root->statements; s; s = s->next)
        if (s->kind == MLT_FLOW_INSTANCE && strcmp(s->module, name) == 0)
            return true;
    return false;
}

static void check_required(mlt_sema *c, const mlt_flow_root_item *root)
{
    for (size_t i = 0; i < root->required_count; i++) {
        const char *name = root->required[i];
        int line = root->required_lines[i];
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= strcmp(root->required[k], name) == 0;
        if (again)
            MLT_SEMA_WARNING(c, line, "%s requires Module %s twice", root->name, name);
        else if (instantiates(root, name))
            continue;
        else if (!mlt_flow_built_in(name) && !mlt_sema_root_of(c, name) &&
                 !mlt_sema_module_of(c, name)->declaration)
            MLT_SEMA_ERROR(c, line,
                           "%s requires Module %s, which is declared nowhere and has no instance",
                           root->name, name);
        else
            MLT_SEMA_WARNING(c, line, "%s requires Module %s, but has no instance of it",
                             root->name, name);
    }
}

// Marks what is reached. A root that contains itself is told once.
static void check_names_reach(mlt_sema *c, mlt_sema_root *root)
{
    root->on_path = root->used = true;
    for (const mlt_flow_statement *s = root->item->statements; s; s = s->next) {
        mlt_sema_root *inner = s->kind == MLT_FLOW_INSTANCE ? mlt_sema_root_of(c, s->module) : NULL;
        if (inner && inner->on_path)
            MLT_SEMA_ERROR(c, s->line, "%s would contain itself: %s in %s is an instance of it",
                           inner->item->name, s->name, root->item->name);
        else if (inner && !inner->used)
            check_names_reach(c, inner);
    }
    root->on_path = false;
}

static void check_unused(const mlt_sema *c)
{
    for (const mlt_sema_root *r = c->roots; r; r = r->next)
        if (!r->used)
            MLT_SEMA_WARNING(c, r->item->line, "root %s is used nowhere", r->item->name);
    for (const mlt_sema_module *m = c->modules; m; m = m->next)
        if (!m->used && m->declaration)
            MLT_SEMA_WARNING(c, m->declaration->line, "module %s is declared, but has no instance",
                             m->module.name);
    for (const mlt_sema_op *o = c->ops; o; o = o->next)
        if (!o->used && o->item)
            MLT_SEMA_WARNING(c, o->item->line, "operation %s is declared, but no Reduce has it",
                             o->op.name);
}

void mlt_sema_all_names(mlt_sema *c, const mlt_flow_root_item *main_root)
{
    size_t errors = c->messages->errors;
    check_declarations(c);
    for (const mlt_flow_root_item *r = c->file->roots; r; r = r->next) {
        check_root(c, r);
        check_required(c, r);
    }
    if (main_root && c->messages->errors == errors)
        check_names_reach(c, mlt_sema_root_of(c, main_root->name));
    if (main_root && c->messages->errors == errors)
        check_unused(c);
}

const mlt_flow_root_item *mlt_flow_main_root(const mlt_flow_file *file, mlt_flow_messages *messages)
{
    const mlt_flow_root_item *first = NULL, *second = NULL;
    for (const mlt_flow_root_item *r = file->roots; r; r = r->next) {
        if (strcmp(r->name, "Main") == 0)
            return r;
        bool inner = false;
        for (const mlt_flow_root_item *o = file->roots; o && !inner; o = o->next)
            inner = o != r && instantiates(o, r->name);
        if (inner)
            continue;
        if (!first)
            first = r;
        else if (!second)
            second = r;
    }
    if (!file->roots)
        mlt_flow_say(messages, 1, 0, MLT_FLOW_ERROR,
                     "there is no root: a program needs `Module Main is Root { ... }`");
    else if (!first)
        mlt_flow_say(messages, file->roots->line, 0, MLT_FLOW_ERROR,
                     "no root is the main one: each is instantiated by another");
    else if (second)
        mlt_flow_say(messages, second->line, 0, MLT_FLOW_ERROR,
                     "%s and %s could both be the main root: call one of them Main", first->name,
                     second->name);
    return second ? NULL : first;
}
