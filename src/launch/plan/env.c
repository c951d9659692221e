// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/env.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "launch/plan/options_table.h"
#include "launch/program/libraries.h"

extern char **environ;

// What mpirun says itself; values of an outer job must not leak in.
static const char *const replaced[] = {
    "MILLET_JOB_FD",
    "MILLET_CTL_FD",
    "MILLET_PROC",
    "MILLET_LAUNCHER",
    "MILLET_HOST",
    "MILLET_LABEL",
    "MILLET_TIMESTAMP",
    "MILLET_HELD",
    "MILLET_OUTFILE",
    "MILLET_ERRFILE",
    "MILLET_GPU_DEAL",
    "MILLET_GPU_DEVICE",
    "MILLET_GPU_NODES",
    "MILLET_GRAIN",
    "MILLET_IFACE",
    "MILLET_PORT_RANGE",
    "MILLET_ENCRYPT",
    "MILLET_MIXED",
    "MILLET_PARENT",
    "MILLET_JOB",
    "MILLET_UNIVERSE",
    "MILLET_RSH",
    "MILLET_HOSTFILE",
    "MILLET_AGENT",
    "MILLET_SILENT",
    "MILLET_FAN_OUT",
    "MILLET_REPORT",
    "MILLET_TIMEOUT",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_NODE_RANK",
    "OMPI_UNIVERSE_SIZE",
};

// What belongs to a host or to a login on it.
static const char *const of_host[] = {
    "DBUS_SESSION_BUS_ADDRESS",
    "HOST",
    "HOSTNAME",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "WINDOWID",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_ID",
};

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && (b[n] == '=' || b[n] == '\0');
}

static bool is_one_of(const char *const *names, size_t count, const char *variable)
{
    for (size_t i = 0; i < count; i++)
        if (same_name(variable, names[i]))
            return true;
    return false;
}

void mlt_env_put(mlt_env *env, char *variable)
{
    for (size_t i = 0; i < env->common; i++)
        if (same_name(variable, env->items[i])) {
            env->items[i] = variable;
            return;
        }
    env->items = mlt_xrealloc(env->items, env->common + 1 + MLT_ENV_OWN + 1, sizeof *env->items);
    env->items[env->common++] = variable;
}

const char *mlt_env_value(const mlt_env *env, const char *name)
{
    for (size_t i = 0; i < env->common; i++)
        if (same_name(env->items[i], name))
            return strchr(env->items[i], '=') + 1;
    return NULL;
}

// A program for the standard's ABI, whoever compiled it, finds the library of this mpirun, also if
// a script starts it, and before that of another MPI.
static void put_library_path(mlt_env *env)
{
    const char *folder = mlt_libraries_folder(), *old = mlt_env_value(env, "LD_LIBRARY_PATH");
    if (!folder)
        return;
    size_t n = strlen(folder);
    if (old && strncmp(old, folder, n) == 0 && (old[n] == ':' || old[n] == '\0'))
        return; // mpirun under mpirun
    env->library_path =
        mlt_text_of("LD_LIBRARY_PATH=%s%s%s", folder, old && *old ? ":" : "", old ? old : "");
    mlt_env_put(env, env->library_path);
}

void mlt_env_collect(mlt_env *env, const mlt_options *options, const mlt_app *app)
{
    *env = (mlt_env){.items = mlt_xcalloc(MLT_ENV_OWN + 1, sizeof *env->items)};
    mlt_env_mode mode = app->env_mode != MLT_ENV_ALL ? app->env_mode : options->env_mode;
    const char *list = app->env_list ? app->env_list : options->env_list;
    size_t room = 0;
    while (environ[room])
        room++;
    env->items = mlt_xrealloc(env->items, room + MLT_ENV_OWN + 1, sizeof *env->items);
    for (char **e = environ; *e; e++) // no variable comes twice: no need to look for an old one
        if (mode == MLT_ENV_ALL
                ? !is_one_of(replaced, sizeof replaced / sizeof *replaced, *e)
                : mode == MLT_ENV_LIST && mlt_option_lists(list, ",", *e, strcspn(*e, "=")))
            env->items[env->common++] = *e;
    for (size_t i = 0; i < options->env.count; i++)
        mlt_env_put(env, options->env.items[i]);
    for (size_t i = 0; i < app->env.count; i++)
        mlt_env_put(env, app->env.items[i]);
}

void mlt_env_init(mlt_env *env, const mlt_options *options, const mlt_app *app)
{
    mlt_env_collect(env, options, app);
    put_library_path(env);
}

static bool has_name(const mlt_texts *list, const char *variable)
{
    return is_one_of((const char *const *)list->items, list->count, variable);
}

static bool is_of_host(const char *variable)
{
    return is_one_of(of_host, sizeof of_host / sizeof *of_host, variable) ||
           strncmp(variable, "DISPLAY=:", 9) == 0;
}

bool mlt_env_is_local(const char *variable, const mlt_options *options, const mlt_app *app)
{
    return is_of_host(variable) && !has_name(&options->env, variable) &&
           !has_name(&app->env, variable);
}

void mlt_env_add_local(mlt_texts *list)
{
    for (char **e = environ; *e; e++)
        if (is_of_host(*e) && !has_name(list, *e))
            mlt_texts_add(list, mlt_text_of("%s", *e));
}

void mlt_env_fini(mlt_env *env)
{
    free(env->items);
    free(env->library_path);
}

char **mlt_env_for(mlt_env *env, const mlt_placement *plan, const mlt_env_proc *own)
{
    const mlt_placement_proc *proc = &plan->procs[own->proc];
    uint32_t rank = proc->first_rank, ranks = plan->ranks;
    uint32_t local = proc->first_local, locals = plan->hosts[proc->host].ranks;
    const struct {
        const char *name;
        uint32_t value;
    } values[] = {
        {"MILLET_JOB_FD", (uint32_t)own->job_fd},
        {"MILLET_CTL_FD", (uint32_t)own->ctl_fd},
        {"MILLET_PROC", own->proc},
        {"MILLET_LAUNCHER", (uint32_t)getpid()},
        {"PMI_RANK", rank},
        {"PMI_SIZE", ranks},
        {"MPI_LOCALRANKID", local},
        {"MPI_LOCALNRANKS", locals},
        {"OMPI_COMM_WORLD_RANK", rank},
        {"OMPI_COMM_WORLD_SIZE", ranks},
        {"OMPI_COMM_WORLD_LOCAL_RANK", local},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", locals},
        {"OMPI_COMM_WORLD_NODE_RANK", local},
        {"OMPI_UNIVERSE_SIZE", ranks},
    };
    enum { VALUES = sizeof values / sizeof *values };
    _Static_assert((int)VALUES + 1 <= (int)MLT_ENV_OWN, "room for the process's own variables");
    size_t n = env->common;
    for (size_t i = 0; i < VALUES; i++) {
        int length =
            snprintf(env->own[i], sizeof env->own[i], "%s=%u", values[i].name, values[i].value);
        mlt_assert(length > 0 && (size_t)length < sizeof env->own[i]);
        env->items[n++] = env->own[i];
    }
    if (plan->host_count > 1) {
        snprintf(env->host, sizeof env->host, "MILLET_HOST=%s", plan->hosts[proc->host].host.name);
        env->items[n++] = env->host;
    }
    env->items[n] = NULL;
    return env->items;
}
