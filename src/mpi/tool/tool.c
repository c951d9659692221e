// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end of MPI_T in a rank, strings, enumerations.
#include "mpi/tool/tool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/upcalls.h"
#include "host/entry.h"
#include "mpi/handle.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "wire/wire.h"

// Of a process that holds one rank: it may be asked for before there is a mlt_rank.
static mlt_tool only;
static _Atomic uint32_t tool_made;                        // all others
static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER; // `only` before there is a rank

bool mlt_tool_early_lock(uint16_t fn)
{
    if (strncmp(mlt_fn_name(fn), "MPI_T_", 6) != 0 || mlt_entry_many())
        return false;
    pthread_mutex_lock(&early);
    return true;
}

void mlt_tool_early_unlock(void)
{
    pthread_mutex_unlock(&early);
}

mlt_tool *mlt_tool_of(const mlt_rank *me)
{
    if (!mlt_entry_many())
        return &only;
    mlt_tool **tools = me ? mlt_mpi_worker_of(me)->tools : NULL;
    return tools ? tools[me - me->worker->ranks] : NULL;
}

// A thread that is no rank's must not look at what the rank's own thread changes.
static bool is_reachable(const mlt_rank *me, const mlt_tool *tool)
{
    return me || (!mlt_entry_many() && !tool->rank);
}

int mlt_tool_enter(mlt_rank *me, mlt_tool **out)
{
    mlt_tool *tool = mlt_tool_of(me);
    if (!tool || tool->inits == 0)
        return me || !mlt_entry_many() ? MPI_T_ERR_NOT_INITIALIZED : MPI_T_ERR_NOT_ACCESSIBLE;
    if (!is_reachable(me, tool))
        return MPI_T_ERR_NOT_ACCESSIBLE;
    *out = tool;
    return MPI_SUCCESS;
}

int mlt_tool_find(const char *name, int *index, int count, const char *(*name_of)(int i))
{
    int i = 0;
    while (i < count && strcmp(name_of(i), name) != 0)
        i++;
    if (i == count)
        return MPI_T_ERR_INVALID_NAME;
    *index = i;
    return MPI_SUCCESS;
}

int mlt_tool_bind(mlt_rank *me, const void *obj_handle, const mlt_comm **comm)
{
    if (!obj_handle)
        return MPI_T_ERR_INVALID;
    *comm = me && mlt_thread_is_ready(me) ? mlt_comm_of(me, *(const MPI_Comm *)obj_handle) : NULL;
    return *comm ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

// ---- handles

void *mlt_tool_object_new(mlt_registry *registry, uint32_t magic, const void *made, size_t bytes,
                          mlt_list_node *list)
{
    mlt_tool_object *o = mlt_registry_take(registry);
    mlt_registry_fill(o, made, bytes);
    mlt_list_push_back(list, &o->link);
    mlt_registry_name(&o->head, mlt_registry_owned(magic, o->tool->number));
    return o;
}

void mlt_tool_object_free(mlt_registry *registry, mlt_tool_object *o)
{
    mlt_registry_name(&o->head, 0);
    mlt_list_remove(&o->link);
    mlt_registry_give(registry, o);
}

void *mlt_tool_object_of(const mlt_tool *tool, uint32_t magic, const void *handle)
{
    mlt_tool_object *o = (mlt_tool_object *)(uintptr_t)handle;
    bool good = mlt_handle_is_address((uintptr_t)handle) &&
                mlt_registry_is(&o->head, mlt_registry_owned(magic, tool->number));
    return good ? o : NULL;
}

// ---- the beginning and the end

static mlt_tool *new_tool(mlt_rank *me)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (!w->tools)
        w->tools = mlt_xcalloc(me->worker->count, sizeof *w->tools);
    mlt_tool *tool = mlt_xcalloc(1, sizeof *tool);
    // Relaxed: all that matters is that each has its own.
    tool->number = atomic_fetch_add_explicit(&tool_made, 1, memory_order_relaxed);
    tool->rank = me;
    return w->tools[me - me->worker->ranks] = tool;
}

static void make_lists(mlt_tool *tool)
{
    mlt_list_init(&tool->cvars);
    mlt_list_init(&tool->sessions);
    mlt_list_init(&tool->hearers);
}

// Before the process joins its job, which does the same, control variables have their values too.
static bool read_settings(const mlt_tool *tool)
{
    char why[256];
    mlt_settings_table tables[MLT_SETTINGS_MOST];
    return tool->rank || tool->ended ||
           (mlt_settings_read(tables, mlt_upcalls.settings(tables, MLT_SETTINGS_MOST), why,
                              sizeof why) == MLT_OK &&
            mlt_upcalls.settings_check(why, sizeof why) == MLT_OK);
}

// Without a gate only one thread may look at the engine.
static int granted(const mlt_tool *tool, int required)
{
    bool inited = tool->rank && mlt_mpi_of(tool->rank)->inited;
    if (!tool->rank && !tool->ended && required > MPI_THREAD_FUNNELED) {
        // Nobody has a rank yet: the detour keeps threads apart.
        atomic_store_explicit(&mlt_mpi_whole_detour, true, memory_order_relaxed);
        mlt_mpi_take_detour(MLT_DETOUR_USUAL);
        return required;
    }
    int most = inited ? mlt_mpi_of(tool->rank)->provided : MPI_THREAD_FUNNELED;
    most = most > MPI_THREAD_FUNNELED ? most : MPI_THREAD_FUNNELED;
    return required < most ? required : most;
}

static bool is_level(int required)
{
    return required == MPI_THREAD_SINGLE || required == MPI_THREAD_FUNNELED ||
           required == MPI_THREAD_SERIALIZED || required == MPI_THREAD_MULTIPLE;
}

int mlt_mpi_T_init_thread(mlt_rank *me, int required, int *provided)
{
    mlt_tool *tool = mlt_tool_of(me);
    if (!provided || !is_level(required))
        return MPI_T_ERR_INVALID;
    if (!tool && !me)
        return MPI_T_ERR_CANNOT_INIT;
    if (!tool)
        tool = new_tool(me);
    if (!is_reachable(me, tool) || tool->inits == UINT32_MAX ||
        (tool->inits == 0 && !read_settings(tool)))
        return MPI_T_ERR_CANNOT_INIT;
    if (tool->inits++ == 0)
        make_lists(tool);
    *provided = granted(tool, required);
    return MPI_SUCCESS;
}

int mlt_mpi_T_finalize(mlt_rank *me, mlt_tool *tool)
{
    if (--tool->inits > 0)
        return MPI_SUCCESS;
    mlt_tool_events_free(tool);
    mlt_tool_sessions_free(tool);
    mlt_tool_cvars_free(tool);
    return MPI_SUCCESS;
}

// ---- the worker

static void watch_worker(mlt_rank *rank, int change)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(rank);
    bool before = w->watchers > 0;
    w->watchers += (uint32_t)change;
    if (before == (w->watchers > 0))
        return;
    mlt_worker_watch(rank->worker, MLT_WATCH_TOOLS, !before);
    w->met_told = rank->worker->wire ? rank->worker->wire->met : 0;
    // Relaxed: the calling thread sees it, and whoever else goes the detour finds nothing there. It
    // stays, as others may want it.
    if (!before)
        mlt_mpi_take_detour(MLT_DETOUR_USUAL);
}

void mlt_tool_watch(mlt_tool *tool, int change)
{
    tool->watchers += (uint32_t)change;
    if (tool->rank)
        watch_worker(tool->rank, change);
}

void mlt_tool_worker_begins(mlt_worker *worker)
{
    if (mlt_entry_many())
        return;
    pthread_mutex_lock(&early);
    only.rank = &worker->ranks[0];
    only.ended = false;
    if (only.watchers > 0)
        watch_worker(only.rank, (int)only.watchers);
    pthread_mutex_unlock(&early);
}

static void end_tool(mlt_tool *tool)
{
    if (tool->inits > 0)
        mlt_tool_sessions_settle(tool);
    tool->rank = NULL;
    tool->ended = true;
}

void mlt_tool_worker_ends(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    if (!mlt_entry_many()) {
        end_tool(&only);
        return;
    }
    for (uint32_t i = 0; w->tools && i < worker->count; i++) {
        mlt_tool *tool = w->tools[i];
        if (!tool)
            continue;
        if (tool->inits > 0) {
            mlt_tool_events_free(tool);
            mlt_tool_sessions_free(tool);
            mlt_tool_cvars_free(tool);
        }
        free(tool);
    }
    free(w->tools);
}

// ---- strings and enumerations

void mlt_tool_text(const char *text, char *out, int *length)
{
    if (!length)
        return;
    size_t bytes = strlen(text) + 1;
    size_t room = out && *length > 0 ? (size_t)*length : 0;
    size_t n = bytes < room ? bytes : room;
    if (n > 0) {
        memcpy(out, text, n - 1);
        out[n - 1] = '\0';
    }
    *length = (int)bytes;
}

int mlt_tool_enum_count(const mlt_tool_enum *e)
{
    int n = 1;
    for (const char *c = e->items; *c; c++)
        n += *c == '|';
    return n;
}

void mlt_tool_enum_item(const mlt_tool_enum *e, int64_t index, char *item, size_t size)
{
    const char *at = e->items;
    for (int64_t i = 0; i < index; i++)
        at = strchr(at, '|') + 1;
    snprintf(item, size, "%.*s", (int)strcspn(at, "|"), at);
}

const mlt_tool_enum *mlt_tool_enum_of(MPI_T_enum handle)
{
    const mlt_tool_enum *e = (const mlt_tool_enum *)(uintptr_t)handle;
    return mlt_handle_is_address((uintptr_t)handle) && e->magic == MLT_TOOL_ENUM_MAGIC ? e : NULL;
}

int mlt_mpi_T_enum_get_info(mlt_rank *me, mlt_tool *tool, const mlt_tool_enum *e, int *num,
                            char *name, int *name_len)
{
    mlt_tool_put(num, mlt_tool_enum_count(e));
    mlt_tool_text(e->name, name, name_len);
    return MPI_SUCCESS;
}

int mlt_mpi_T_enum_get_item(mlt_rank *me, mlt_tool *tool, const mlt_tool_enum *e, int index,
                            int *value, char *name, int *name_len)
{
    if (index < 0 || index >= mlt_tool_enum_count(e))
        return MPI_T_ERR_INVALID_INDEX;
    char item[64];
    mlt_tool_enum_item(e, index, item, sizeof item);
    mlt_tool_put(value, index);
    mlt_tool_text(item, name, name_len);
    return MPI_SUCCESS;
}
