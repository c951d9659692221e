// SPDX-License-Identifier: BSD-3-Clause
// Sessions and handles of performance variables.
//
// A handle of a count holds what it has counted up to its last start, and where the count stood then.
// One of a watermark looks at its level whenever the rank does something. Variables that are continuous
// run from the allocation on.
#include <string.h>

#include "mpi/tool/pvar.h"
#include "mpi_bodies.h"

typedef struct mlt_tool_session {
    mlt_tool_object object; // in tool->sessions
    mlt_list_node handles;
} mlt_tool_session;

static mlt_registry sessions = MLT_REGISTRY_INIT(mlt_tool_session);
static mlt_registry handles = MLT_REGISTRY_INIT(mlt_tool_pvar_handle);

// ---- values

static bool is_sum(const mlt_tool_pvar *v)
{
    return v->class == MPI_T_PVAR_CLASS_COUNTER || v->class == MPI_T_PVAR_CLASS_AGGREGATE ||
           v->class == MPI_T_PVAR_CLASS_TIMER;
}

static bool is_extreme(const mlt_tool_pvar *v)
{
    return v->watch && (v->class == MPI_T_PVAR_CLASS_HIGHWATERMARK ||
                        v->class == MPI_T_PVAR_CLASS_LOWWATERMARK);
}

// Takes what has been counted since the last time into the handle, which runs.
static void tool_session_settle(mlt_tool_pvar_handle *h)
{
    for (int i = 0; i < h->var->count; i++) {
        uint64_t now = mlt_tool_pvar_now(h, i);
        if (is_sum(h->var)) {
            h->value[i] += now - h->from[i];
            h->from[i] = now;
        } else if (!is_extreme(h->var) ||
                   (h->var->class == MPI_T_PVAR_CLASS_HIGHWATERMARK) == (now > h->value[i])) {
            h->value[i] = now;
        }
    }
}

// The starting value: 0 of a count, the level now of anything else.
static void reset(mlt_tool_pvar_handle *h)
{
    for (int i = 0; i < h->var->count; i++) {
        h->from[i] = mlt_tool_pvar_now(h, i);
        h->value[i] = is_sum(h->var) ? 0 : h->from[i];
    }
}

static void copy_out(const mlt_tool_pvar_handle *h, void *buf)
{
    for (int i = 0; i < h->var->count; i++)
        switch ((mlt_tool_unit)h->var->unit) {
        case MLT_UNIT_COUNT:
            ((unsigned long long *)buf)[i] = h->value[i];
            break;
        case MLT_UNIT_NANOSECONDS:
        case MLT_UNIT_PARTS:
            ((double *)buf)[i] = (double)h->value[i] / MLT_TOOL_PARTS;
            break;
        case MLT_UNIT_STATE:
            ((int *)buf)[i] = (int)h->value[i];
            break;
        }
}

static void copy_in(mlt_tool_pvar_handle *h, const void *buf)
{
    for (int i = 0; i < h->var->count; i++) {
        h->from[i] = mlt_tool_pvar_now(h, i);
        if (h->var->unit == MLT_UNIT_COUNT)
            h->value[i] = ((const unsigned long long *)buf)[i];
        else
            h->value[i] = (uint64_t)(((const double *)buf)[i] * MLT_TOOL_PARTS);
    }
}

// A time that a program writes.
static bool can_take(const mlt_tool_pvar *v, const void *buf)
{
    const double *times = buf;
    return v->unit == MLT_UNIT_COUNT || (times[0] >= 0 && times[0] < 1e9);
}

// ---- running

static bool hears(const mlt_tool_pvar *v)
{
    return is_extreme(v) || v->comm;
}

static void tool_session_start(mlt_tool_pvar_handle *h)
{
    if (h->runs)
        return;
    h->runs = true;
    mlt_tool_watch(h->object.tool, 1);
    if (hears(h->var))
        mlt_list_push_back(&h->object.tool->hearers, &h->hearer);
    for (int i = 0; i < h->var->count; i++)
        h->from[i] = mlt_tool_pvar_now(h, i);
    if (!is_sum(h->var))
        tool_session_settle(h);
}

static void stop(mlt_tool_pvar_handle *h)
{
    if (!h->runs || !h->var->watch)
        return;
    tool_session_settle(h);
    h->runs = false;
    if (hears(h->var))
        mlt_list_remove(&h->hearer);
    mlt_tool_watch(h->object.tool, -1);
}

void mlt_tool_sessions_saw(mlt_tool *tool, const mlt_event *event)
{
    MLT_LIST_EACH(mlt_tool_pvar_handle, h, &tool->hearers, hearer) {
        if (is_extreme(h->var))
            tool_session_settle(h);
        else if (h->var->event == event->kind && h->context == event->context)
            h->seen += h->var->bytes ? event->bytes : 1;
    }
}

void mlt_tool_sessions_called(mlt_tool *tool)
{
    MLT_LIST_EACH(mlt_tool_pvar_handle, h, &tool->hearers, hearer) {
        if (h->var->event == MLT_EVENTS)
            h->seen = mlt_tool_pvar_now(h, 0);
    }
}

void mlt_tool_sessions_settle(mlt_tool *tool)
{
    MLT_LIST_EACH(mlt_tool_session, s, &tool->sessions, object.link)
        MLT_LIST_EACH(mlt_tool_pvar_handle, h, &s->handles, object.link) {
            if (h->runs)
                tool_session_settle(h);
            memset(h->from, 0, sizeof h->from);
        }
}

// ---- making and freeing

int mlt_mpi_T_pvar_session_create(mlt_rank *me, mlt_tool *tool, MPI_T_pvar_session *pe_session)
{
    if (tool->session_count >= MLT_TOOL_SESSIONS)
        return MPI_T_ERR_OUT_OF_SESSIONS;
    mlt_tool_session made = {.object = {.tool = tool}};
    mlt_tool_session *s =
        mlt_tool_object_new(&sessions, MLT_TOOL_SESSION_MAGIC, &made, sizeof made, &tool->sessions);
    mlt_list_init(&s->handles);
    tool->session_count++;
    *pe_session = (MPI_T_pvar_session)s;
    return MPI_SUCCESS;
}

void mlt_tool_pvar_drop(mlt_tool_pvar_handle *h)
{
    stop(h);
    h->object.tool->handles--;
    mlt_tool_object_free(&handles, &h->object);
}

void mlt_tool_session_drop(mlt_tool_session *s)
{
    while (!mlt_list_empty(&s->handles))
        mlt_tool_pvar_drop(mlt_container_of(s->handles.next, mlt_tool_pvar_handle, object.link));
    s->object.tool->session_count--;
    mlt_tool_object_free(&sessions, &s->object);
}

void mlt_tool_sessions_free(mlt_tool *tool)
{
    while (!mlt_list_empty(&tool->sessions))
        mlt_tool_session_drop(mlt_container_of(tool->sessions.next, mlt_tool_session, object.link));
}

int mlt_mpi_T_pvar_handle_alloc(mlt_rank *me, mlt_tool *tool, mlt_tool_session *s, int pvar_index,
                                void *obj_handle, MPI_T_pvar_handle *handle, int *count)
{
    int code = MPI_SUCCESS;
    if (tool->handles >= MLT_TOOL_HANDLES)
        return MPI_T_ERR_OUT_OF_HANDLES;
    const mlt_tool_pvar *var = &mlt_tool_pvars[pvar_index];
    mlt_tool_pvar_handle made = {
        .object = {.tool = tool}, .session = s, .var = var, .runs = !var->watch};
    if (var->comm && (code = mlt_tool_bind(me, obj_handle, &made.comm)) != MPI_SUCCESS)
        return code;
    made.context = made.comm ? made.comm->context : 0;
    mlt_tool_pvar_handle *h =
        mlt_tool_object_new(&handles, MLT_TOOL_PVAR_MAGIC, &made, sizeof made, &s->handles);
    reset(h);
    tool->handles++;
    *handle = (MPI_T_pvar_handle)h;
    *count = h->var->count;
    return MPI_SUCCESS;
}

// ---- one handle, or all of a session

static bool can_start(const mlt_tool_pvar *v)
{
    return v->watch;
}

static bool can_reset(const mlt_tool_pvar *v)
{
    return !v->read_only;
}

int mlt_tool_pvar_act(mlt_tool_session *s, MPI_T_pvar_handle handle, mlt_tool_act act)
{
    static const struct {
        bool (*can)(const mlt_tool_pvar *v);
        void (*act)(mlt_tool_pvar_handle *h);
        int refusal;
    } acts[] = {
        [MLT_TOOL_START] = {can_start, tool_session_start, MPI_T_ERR_PVAR_NO_STARTSTOP},
        [MLT_TOOL_STOP] = {can_start, stop, MPI_T_ERR_PVAR_NO_STARTSTOP},
        [MLT_TOOL_RESET] = {can_reset, reset, MPI_T_ERR_PVAR_NO_WRITE},
    };
    bool all = handle == MPI_T_PVAR_ALL_HANDLES;
    mlt_tool_pvar_handle *h =
        all ? NULL : mlt_tool_object_of(s->object.tool, MLT_TOOL_PVAR_MAGIC, handle);
    if (all) {
        MLT_LIST_EACH(mlt_tool_pvar_handle, one, &s->handles, object.link)
            if (acts[act].can(one->var))
                acts[act].act(one);
        return MPI_SUCCESS;
    }
    if (!h || h->session != s)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!acts[act].can(h->var))
        return acts[act].refusal;
    acts[act].act(h);
    return MPI_SUCCESS;
}

int mlt_tool_pvar_read(mlt_tool_pvar_handle *h, bool resets, void *buf)
{
    if (resets && h->var->read_only)
        return MPI_T_ERR_PVAR_NO_ATOMIC;
    if (h->runs)
        tool_session_settle(h);
    copy_out(h, buf);
    if (resets)
        reset(h);
    return MPI_SUCCESS;
}

int mlt_mpi_T_pvar_write(mlt_rank *me, mlt_tool *tool, mlt_tool_session *s, mlt_tool_pvar_handle *h,
                         const void *buf)
{
    if (h->var->read_only)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (!can_take(h->var, buf))
        return MPI_T_ERR_INVALID;
    copy_in(h, buf);
    return MPI_SUCCESS;
}
