// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tool/cvar.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/upcalls.h"
#include "mpi_bodies.h"

enum { CVAR_MOST = 256, TEXT_MOST = 4096 };

static mlt_tool_cvar vars[CVAR_MOST];
static const char *layers[MLT_SETTINGS_MOST];
static int var_count, layer_count;
static const mlt_tool_enum no_yes = MLT_TOOL_ENUM("no_yes", "no|yes");

static void cvar_add_table(const mlt_settings_table *table)
{
    layers[layer_count++] = table->layer;
    for (size_t i = 0; i < table->count; i++) {
        const mlt_setting *s = &table->settings[i];
        if (s->scope == MLT_SCOPE_INTERNAL)
            continue;
        mlt_assert(var_count < CVAR_MOST);
        vars[var_count++] = (mlt_tool_cvar){s, table->layer, MLT_TOOL_ENUM(s->name, s->choices)};
    }
}

static void find_vars(void)
{
    mlt_settings_table tables[MLT_SETTINGS_MOST];
    size_t count = mlt_upcalls.settings(tables, MLT_SETTINGS_MOST);
    for (size_t t = 0; t < count; t++)
        cvar_add_table(&tables[t]);
}

const mlt_tool_cvar *mlt_tool_cvars(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_vars);
    return vars;
}

int mlt_tool_cvar_count(void)
{
    (void)mlt_tool_cvars();
    return var_count;
}

int mlt_tool_layers(const char *const **names)
{
    (void)mlt_tool_cvars();
    *names = layers;
    return layer_count;
}

// ---- what there is

const char *mlt_tool_cvar_name(int i)
{
    return vars[i].setting->name;
}

static MPI_Datatype cvar_type_of(const mlt_setting *s)
{
    static const MPI_Datatype types[] = {[MLT_SETTING_INT] = MPI_COUNT,
                                         [MLT_SETTING_SIZE] = MPI_UNSIGNED_LONG_LONG,
                                         [MLT_SETTING_BOOL] = MPI_INT,
                                         [MLT_SETTING_CHOICE] = MPI_INT,
                                         [MLT_SETTING_TEXT] = MPI_CHAR};
    return types[s->kind];
}

static const mlt_tool_enum *cvar_enum_of(const mlt_tool_cvar *v)
{
    return v->setting->kind == MLT_SETTING_BOOL     ? &no_yes
           : v->setting->kind == MLT_SETTING_CHOICE ? &v->enumtype
                                                    : NULL;
}

static int scope_of(const mlt_setting *s)
{
    static const int scopes[] = {[MLT_SCOPE_JOB] = MPI_T_SCOPE_ALL_EQ,
                                 [MLT_SCOPE_PROCESS] = MPI_T_SCOPE_LOCAL,
                                 [MLT_SCOPE_WORKER] = MPI_T_SCOPE_LOCAL,
                                 [MLT_SCOPE_LAUNCH] = MPI_T_SCOPE_CONSTANT};
    return scopes[s->scope];
}

int mlt_mpi_T_cvar_get_info(mlt_rank *me, mlt_tool *tool, int cvar_index, char *name, int *name_len,
                            int *verbosity, MPI_Datatype *datatype, MPI_T_enum *enumtype,
                            char *desc, int *desc_len, int *bind, int *scope)
{
    const mlt_setting *s = vars[cvar_index].setting;
    mlt_tool_text(s->name, name, name_len);
    mlt_tool_text(s->help, desc, desc_len);
    mlt_tool_put(verbosity, s->scope == MLT_SCOPE_WORKER ? MPI_T_VERBOSITY_TUNER_BASIC
                                                         : MPI_T_VERBOSITY_USER_BASIC);
    if (datatype)
        *datatype = cvar_type_of(s);
    if (enumtype)
        *enumtype = mlt_tool_enum_handle(cvar_enum_of(&vars[cvar_index]));
    mlt_tool_put(bind, MPI_T_BIND_NO_OBJECT);
    mlt_tool_put(scope, scope_of(s));
    return MPI_SUCCESS;
}

// ---- handles

typedef struct mlt_tool_cvar_handle {
    mlt_tool_object object; // in tool->cvars
    const mlt_tool_cvar *var;
} cvar_handle;

static mlt_registry cvar_handles = MLT_REGISTRY_INIT(cvar_handle);

int mlt_mpi_T_cvar_handle_alloc(mlt_rank *me, mlt_tool *tool, int cvar_index, void *obj_handle,
                                MPI_T_cvar_handle *handle, int *count)
{
    if (tool->handles >= MLT_TOOL_HANDLES)
        return MPI_T_ERR_OUT_OF_HANDLES;
    cvar_handle made = {{.tool = tool}, &vars[cvar_index]};
    *handle =
        mlt_tool_object_new(&cvar_handles, MLT_TOOL_CVAR_MAGIC, &made, sizeof made, &tool->cvars);
    tool->handles++;
    *count = made.var->setting->kind == MLT_SETTING_TEXT ? TEXT_MOST : 1;
    return MPI_SUCCESS;
}

void mlt_tool_cvar_drop(cvar_handle *h)
{
    h->object.tool->handles--;
    mlt_tool_object_free(&cvar_handles, &h->object);
}

void mlt_tool_cvars_free(mlt_tool *tool)
{
    while (!mlt_list_empty(&tool->cvars))
        mlt_tool_cvar_drop(mlt_container_of(tool->cvars.next, cvar_handle, object.link));
}

// ---- values

// What a setting of a worker is there; -1: it has no worker, or no value of its own.
static int64_t tuned(const mlt_tool *tool, const mlt_setting *s)
{
    return s->scope == MLT_SCOPE_WORKER && tool->rank
               ? mlt_worker_tuned(tool->rank->worker, s->value)
               : -1;
}

static void cvar_read_number(const mlt_tool *tool, const mlt_setting *s, void *buf)
{
    int64_t now = tuned(tool, s);
    int64_t value = now >= 0 ? now : *(const int64_t *)s->value;
    if (cvar_type_of(s) == MPI_INT)
        *(int *)buf = (int)value;
    else
        *(int64_t *)buf = value;
}

int mlt_mpi_T_cvar_read(mlt_rank *me, mlt_tool *tool, cvar_handle *h, void *buf)
{
    if (h->var->setting->kind == MLT_SETTING_TEXT)
        snprintf(buf, TEXT_MOST, "%s", *(const char *const *)h->var->setting->value);
    else
        cvar_read_number(tool, h->var->setting, buf);
    return MPI_SUCCESS;
}

static int64_t number_in(const mlt_setting *s, const void *buf)
{
    return cvar_type_of(s) == MPI_INT ? *(const int *)buf : *(const int64_t *)buf;
}

// Whether a number is one that the setting can have.
static bool is_allowed(const mlt_tool_cvar *v, int64_t number)
{
    const mlt_tool_enum *e = cvar_enum_of(v);
    if (e)
        return number >= 0 && number < mlt_tool_enum_count(e);
    return v->setting->kind == MLT_SETTING_INT || number >= 0;
}

// As a user would write it.
static void write_text(const mlt_tool_cvar *v, const void *buf, char text[TEXT_MOST])
{
    const mlt_setting *s = v->setting;
    if (s->kind == MLT_SETTING_TEXT)
        snprintf(text, TEXT_MOST, "%.*s", TEXT_MOST - 1, (const char *)buf);
    else if (s->kind == MLT_SETTING_CHOICE)
        mlt_tool_enum_item(&v->enumtype, number_in(s, buf), text, TEXT_MOST);
    else
        snprintf(text, TEXT_MOST, "%" PRId64, number_in(s, buf));
}

// The value lies in the environment, where the process finds it when it joins its job.
static int write_early(const mlt_tool_cvar *v, const void *buf)
{
    char name[64], why[256], text[TEXT_MOST];
    const mlt_setting *s = v->setting;
    mlt_setting_variable(s, name, sizeof name);
    const char *before = getenv(name);
    char *old = before ? strdup(before) : NULL;
    write_text(v, buf, text);
    int code = MPI_SUCCESS;
    if (setenv(name, text, 1) != 0 || (before && !old)) {
        code = MPI_T_ERR_MEMORY;
    } else if (mlt_setting_parse(s, getenv(name), why, sizeof why) != MLT_OK ||
               mlt_upcalls.settings_check(why, sizeof why) != MLT_OK) {
        code = MPI_T_ERR_INVALID;
        if (old)
            (void)setenv(name, old, 1);
        else
            (void)unsetenv(name);
        (void)!mlt_setting_parse(s, old ? getenv(name) : s->initial, why, sizeof why);
    }
    free(old);
    return code;
}

int mlt_mpi_T_cvar_write(mlt_rank *me, mlt_tool *tool, cvar_handle *h, const void *buf)
{
    const mlt_tool_cvar *v = h->var;
    const mlt_setting *s = v->setting;
    if (s->scope == MLT_SCOPE_LAUNCH)
        return MPI_T_ERR_CVAR_SET_NEVER;
    if (s->kind != MLT_SETTING_TEXT && !is_allowed(v, number_in(s, buf)))
        return MPI_T_ERR_INVALID;
    if (!tool->rank && !tool->ended)
        return write_early(v, buf);
    if (tuned(tool, s) < 0)
        return MPI_T_ERR_CVAR_SET_NOT_NOW;
    if (number_in(s, buf) < 0)
        return MPI_T_ERR_INVALID;
    mlt_worker_tune(tool->rank->worker, s->value, number_in(s, buf));
    return MPI_SUCCESS;
}
