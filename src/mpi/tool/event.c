// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tool/event.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/info/info.h"
#include "mpi/thread.h"
#include "mpi/tool/source.h"
#include "mpi_bodies.h"
#include "os/os.h"

enum { BUFFER = 1024, BUFFER_MOST = 1 << 20 };

// ---- types

// The kinds of events; the types below have this order.
enum { UNEXPECTED, COMM_UNEXPECTED, PARKED, WOKEN, LARGE, PLANNED, HOST_MET, KINDS };

#define ELEMENTS(items) MLT_TOOL_ENUM("elements", items)

const mlt_tool_event mlt_tool_event_types[] = {
    [UNEXPECTED] = {"message_unexpected", "p2p", "a message came to this rank before its receive",
                    ELEMENTS("source|tag|bytes"), 2, true, false, MLT_SOURCE_MESSAGES,
                    MPI_T_VERBOSITY_USER_BASIC},
    [COMM_UNEXPECTED] = {"comm_message_unexpected", "p2p",
                         "a message on the communicator came to this rank before its receive",
                         ELEMENTS("source|tag|bytes"), 2, true, true, MLT_SOURCE_MESSAGES,
                         MPI_T_VERBOSITY_USER_BASIC},
    [PARKED] = {"rank_parked", "fiber",
                "this rank waits: `wait` is a value of the enumeration of variable last_wait; of a "
                "message that it waits for or sends, the other rank and the tag",
                ELEMENTS("wait|peer|tag|bytes"), 3, true, false, MLT_SOURCE_MESSAGES,
                MPI_T_VERBOSITY_USER_BASIC},
    [WOKEN] = {"rank_woken", "fiber", "this rank goes on after it waited, for so many nanoseconds",
               ELEMENTS("wait|peer|tag|nanoseconds"), 3, true, false, MLT_SOURCE_MESSAGES,
               MPI_T_VERBOSITY_USER_BASIC},
    [LARGE] = {"large_message", "p2p",
               "a large message is moved to this rank: `protocol` is a value of the enumeration of "
               "variable large_message",
               ELEMENTS("protocol|source|tag|bytes"), 3, true, false, MLT_SOURCE_MESSAGES,
               MPI_T_VERBOSITY_TUNER_BASIC},
    [PLANNED] =
        {"collective_planned", "coll",
         "this rank's worker has planned a collective operation of a shape that it had not "
         "met: the first two are values of the enumerations of variables last_collective and "
         "last_algorithm",
         ELEMENTS("collective|algorithm|ranks|bytes"), 3, true, false, MLT_SOURCE_COLLECTIVES,
         MPI_T_VERBOSITY_TUNER_BASIC},
    [HOST_MET] = {"host_met", "tcp",
                  "this rank's worker has to do with a worker of another host for the first time: "
                  "the worker, its host, and how many there were so far",
                  ELEMENTS("worker|host|number"), 3, false, false, MLT_SOURCE_HOSTS,
                  MPI_T_VERBOSITY_USER_DETAIL},
};

int mlt_tool_event_count(void)
{
    return KINDS;
}

static int element_count(const mlt_tool_event *type)
{
    return type->numbers + type->large;
}

static bool event_is_large(const mlt_tool_event *type, int element)
{
    return element == type->numbers;
}

static size_t event_place_of(const mlt_tool_event *type, int element)
{
    return event_is_large(type, element) ? offsetof(mlt_tool_data, large)
                                         : (size_t)element * sizeof(int32_t);
}

const char *mlt_tool_event_name(int i)
{
    return mlt_tool_event_types[i].name;
}

static void put_elements(const mlt_tool_event *type, MPI_Datatype *types, MPI_Aint *places,
                         int *count)
{
    if (!count)
        return;
    for (int i = 0; i < element_count(type) && i < *count; i++) {
        if (types)
            types[i] = event_is_large(type, i) ? MPI_UINT64_T : MPI_INT;
        if (places)
            places[i] = (MPI_Aint)event_place_of(type, i);
    }
    *count = element_count(type);
}

int mlt_mpi_T_event_get_info(mlt_rank *me, mlt_tool *tool, int event_index, char *name,
                             int *name_len, int *verbosity, MPI_Datatype array_of_datatypes[],
                             MPI_Aint array_of_displacements[], int *num_elements,
                             MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
                             int *bind)
{
    const mlt_tool_event *type = &mlt_tool_event_types[event_index];
    mlt_tool_text(type->name, name, name_len);
    mlt_tool_text(type->help, desc, desc_len);
    mlt_tool_put(verbosity, type->verbosity);
    put_elements(type, array_of_datatypes, array_of_displacements, num_elements);
    if (enumtype)
        *enumtype = mlt_tool_enum_handle(&type->elements);
    if (info)
        *info = mlt_info_handle(mlt_info_new());
    mlt_tool_put(bind, type->comm ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
    return MPI_SUCCESS;
}

// ---- registrations

enum { EVENT_LEVELS = 4 };
static const MPI_T_cb_safety event_levels[EVENT_LEVELS] = {
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};

typedef struct mlt_tool_registration {
    mlt_tool_object object; // in its tool's events->all
    const mlt_tool_event *type;
    uint32_t context; // of the communicator it is bound to
    struct {
        MPI_T_event_cb_function *call; // NULL: none
        void *user_data;
    } by[EVENT_LEVELS];
    MPI_T_event_dropped_cb_function *on_drop; // NULL: none
    uint32_t waiting, most;                   // events
    uint64_t dropped;
    bool freed; // in a callback: it goes when that is over
    MPI_T_event_free_cb_function *on_free;
    void *free_data;
} registration;

typedef mlt_tool_instance instance;

typedef struct mlt_tool_events {
    mlt_list_node all;     // registrations
    mlt_list_node waiting; // instances, the oldest first
    mlt_pool instances;
    uint64_t count, dropped; // instances that wait; and all that were dropped, of any registration
    instance now;            // the handle that callbacks get is its address
    bool calls;              // a callback runs
    bool cleared;            // ... in which MPI_T_finalize has freed all registrations
} mlt_tool_events;

static mlt_registry registrations = MLT_REGISTRY_INIT(registration);

registration *mlt_tool_registration_of(const mlt_tool *tool, MPI_T_event_registration handle)
{
    registration *r = mlt_tool_object_of(tool, MLT_TOOL_REGISTRATION_MAGIC, handle);
    return r && !r->freed ? r : NULL;
}

static int level_of(MPI_T_cb_safety safety)
{
    for (int i = 0; i < EVENT_LEVELS; i++)
        if (event_levels[i] == safety)
            return i;
    return -1;
}

// The callback of the lowest level; -1: there is none.
static int event_lowest(const registration *r)
{
    for (int i = 0; i < EVENT_LEVELS; i++)
        if (r->by[i].call)
            return i;
    return -1;
}

static mlt_tool_events *events_of(mlt_tool *tool)
{
    if (tool->events)
        return tool->events;
    mlt_tool_events *e = mlt_xcalloc(1, sizeof *e);
    mlt_list_init(&e->all);
    mlt_list_init(&e->waiting);
    mlt_pool_init(&e->instances, sizeof(instance), 16);
    return tool->events = e;
}

// The hints that the library knows; a value that is none of these is ignored, as hints are.
static void take_hints(registration *r, const mlt_info *info)
{
    const char *text = mlt_info_get(info, "millet_buffer");
    long most = text ? strtol(text, NULL, 10) : 0;
    if (most >= 1 && most <= BUFFER_MOST)
        r->most = (uint32_t)most;
}

static bool is_info(MPI_Info info)
{
    return info == MPI_INFO_NULL || mlt_info_of(info);
}

int mlt_mpi_T_event_handle_alloc(mlt_rank *me, mlt_tool *tool, int event_index, void *obj_handle,
                                 MPI_Info info, MPI_T_event_registration *event_registration)
{
    int code = MPI_SUCCESS;
    if (!is_info(info))
        return MPI_T_ERR_INVALID;
    if (tool->handles >= MLT_TOOL_HANDLES)
        return MPI_T_ERR_OUT_OF_HANDLES;
    const mlt_comm *comm = NULL;
    const mlt_tool_event *type = &mlt_tool_event_types[event_index];
    if (type->comm && (code = mlt_tool_bind(me, obj_handle, &comm)) != MPI_SUCCESS)
        return code;
    registration made = {.object = {.tool = tool},
                         .type = type,
                         .context = comm ? comm->context : 0,
                         .most = BUFFER};
    take_hints(&made, mlt_info_of(info));
    *event_registration = mlt_tool_object_new(&registrations, MLT_TOOL_REGISTRATION_MAGIC, &made,
                                              sizeof made, &events_of(tool)->all);
    tool->handles++;
    return MPI_SUCCESS;
}

static void forget(mlt_tool_events *e, instance *i)
{
    i->to->waiting--;
    e->count--;
    mlt_list_remove(&i->link);
    mlt_pool_give(&e->instances, i);
}

static void free_registration(registration *r)
{
    mlt_tool *tool = r->object.tool;
    mlt_tool_events *e = tool->events;
    MLT_LIST_EACH_SAFE(instance, i, &e->waiting, link)
        if (i->to == r)
            forget(e, i);
    if (event_lowest(r) >= 0)
        mlt_tool_watch(tool, -1);
    tool->handles--;
    mlt_tool_object_free(&registrations, &r->object);
}

void mlt_tool_events_free(mlt_tool *tool)
{
    mlt_tool_events *e = tool->events;
    if (!e)
        return;
    while (!mlt_list_empty(&e->all))
        free_registration(mlt_container_of(e->all.next, registration, object.link));
    e->cleared = e->calls;
    if (e->calls)
        return; // the callback that runs is called by something that looks at it
    mlt_pool_fini(&e->instances);
    free(e);
    tool->events = NULL;
}

// Around a function of the user's, which may call anything: outside the rank's gate.
static mlt_outside step_out(mlt_tool *tool)
{
    tool->events->calls = true;
    return mlt_thread_step_out(tool->rank);
}

// False: it has called MPI_T_finalize, and no registration from before is there.
static bool step_in(mlt_tool *tool, mlt_outside outside)
{
    mlt_tool_events *e = tool->events;
    mlt_thread_step_in(tool->rank, outside);
    bool cleared = e->cleared;
    e->calls = e->cleared = false;
    if (cleared && mlt_list_empty(&e->all))
        mlt_tool_events_free(tool);
    return !cleared;
}

// No callback of it runs any more. False: as above.
static bool bury(mlt_tool *tool, registration *r)
{
    MPI_T_event_free_cb_function *call = r->on_free;
    void *data = r->free_data;
    MPI_T_event_registration handle = (MPI_T_event_registration)r;
    free_registration(r);
    if (!call)
        return true;
    mlt_outside outside = step_out(tool);
    call(handle, MPI_T_CB_REQUIRE_NONE, data);
    return step_in(tool, outside);
}

int mlt_mpi_T_event_handle_free(mlt_rank *me, mlt_tool *tool, registration *r, void *user_data,
                                MPI_T_event_free_cb_function free_cb_function)
{
    bool nested = tool->events->calls;
    if (!nested)
        mlt_tool_events_deliver(tool); // what happened before
    if (!nested && mlt_tool_registration_of(tool, (MPI_T_event_registration)r) != r)
        return MPI_SUCCESS; // a callback has freed it
    r->freed = true;
    r->on_free = free_cb_function;
    r->free_data = user_data;
    if (!nested)
        (void)bury(tool, r);
    return MPI_SUCCESS;
}

// ---- hints

MPI_Info mlt_tool_registration_hints(const registration *r)
{
    char text[16];
    mlt_info *info = mlt_info_new();
    snprintf(text, sizeof text, "%u", r->most);
    mlt_info_set(info, "millet_buffer", text);
    return mlt_info_handle(info);
}

int mlt_mpi_T_event_handle_set_info(mlt_rank *me, mlt_tool *tool, registration *r, MPI_Info info)
{
    if (!is_info(info))
        return MPI_T_ERR_INVALID;
    take_hints(r, mlt_info_of(info));
    return MPI_SUCCESS;
}

static bool has_callback(const registration *r, MPI_T_cb_safety safety)
{
    int level = level_of(safety);
    return level >= 0 && r->by[level].call;
}

// No hint is about a single callback.
int mlt_mpi_T_event_callback_get_info(mlt_rank *me, mlt_tool *tool, registration *r,
                                      MPI_T_cb_safety cb_safety, MPI_Info *info_used)
{
    if (!has_callback(r, cb_safety))
        return MPI_T_ERR_INVALID;
    *info_used = mlt_info_handle(mlt_info_new());
    return MPI_SUCCESS;
}

int mlt_mpi_T_event_callback_set_info(mlt_rank *me, mlt_tool *tool, registration *r,
                                      MPI_T_cb_safety cb_safety, MPI_Info info)
{
    return has_callback(r, cb_safety) && is_info(info) ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

// ---- callbacks

int mlt_mpi_T_event_register_callback(mlt_rank *me, mlt_tool *tool, registration *r,
                                      MPI_T_cb_safety cb_safety, MPI_Info info, void *user_data,
                                      MPI_T_event_cb_function event_cb_function)
{
    int level = level_of(cb_safety);
    if (level < 0 || !is_info(info))
        return MPI_T_ERR_INVALID;
    bool before = event_lowest(r) >= 0;
    r->by[level].call = event_cb_function;
    r->by[level].user_data = user_data;
    int change = (event_lowest(r) >= 0) - before;
    if (change)
        mlt_tool_watch(tool, change);
    return MPI_SUCCESS;
}

int mlt_mpi_T_event_set_dropped_handler(mlt_rank *me, mlt_tool *tool, registration *r,
                                        MPI_T_event_dropped_cb_function dropped_cb_function)
{
    r->on_drop = dropped_cb_function;
    return MPI_SUCCESS;
}

// ---- events happen

static void happen(mlt_tool *tool, int kind, uint32_t context, const mlt_tool_data *data)
{
    mlt_tool_events *e = tool->events;
    uint64_t now = 0;
    MLT_LIST_EACH(registration, r, &e->all, object.link) {
        if (r->type != &mlt_tool_event_types[kind] || (r->type->comm && r->context != context) ||
            event_lowest(r) < 0 || r->freed)
            continue;
        if (r->waiting == r->most) {
            r->dropped++;
            e->dropped++;
            continue;
        }
        now = now ? now : mlt_os_now_ns();
        instance *i = mlt_pool_take(&e->instances);
        *i = (instance){.to = r, .type = r->type, .time_ns = now, .data = *data};
        mlt_list_push_back(&e->waiting, &i->link);
        r->waiting++;
        e->count++;
    }
}

void mlt_tool_events_saw(mlt_tool *tool, const mlt_event *event)
{
    if (!tool->events)
        return;
    mlt_tool_data data = {.number = {event->how, event->peer, event->tag}, .large = event->bytes};
    switch ((mlt_event_kind)event->kind) {
    case MLT_EVENT_UNEXPECTED:
        data.number[0] = event->peer;
        data.number[1] = event->tag;
        data.number[2] = 0;
        happen(tool, UNEXPECTED, event->context, &data);
        happen(tool, COMM_UNEXPECTED, event->context, &data);
        break;
    case MLT_EVENT_PARKS:
        happen(tool, PARKED, event->context, &data);
        break;
    case MLT_EVENT_GOES_ON:
        happen(tool, WOKEN, event->context, &data);
        break;
    case MLT_EVENT_LARGE:
        happen(tool, LARGE, event->context, &data);
        break;
    case MLT_EVENT_PLANNED:
        data.number[0]++; // 0: none yet
        data.number[1]++;
        happen(tool, PLANNED, event->context, &data);
        break;
    default:
        break;
    }
}

void mlt_tool_events_met(mlt_tool *tool, int32_t worker, int32_t host, int32_t number)
{
    mlt_tool_data data = {.number = {worker, host, number}};
    if (tool->events)
        happen(tool, HOST_MET, 0, &data);
}

// ---- telling

// Those that could not be kept, of each registration. False: as step_in.
static bool tell_dropped(mlt_tool *tool)
{
    mlt_tool_events *e = tool->events;
    e->dropped = 0;
    MLT_LIST_EACH(registration, r, &e->all, object.link) {
        int level = event_lowest(r);
        MPI_Count dropped = (MPI_Count)r->dropped;
        r->dropped = 0;
        if (!dropped || !r->on_drop || r->freed)
            continue;
        mlt_outside outside = step_out(tool);
        r->on_drop(dropped, (MPI_T_event_registration)r, r->type->source, MPI_T_CB_REQUIRE_NONE,
                   level >= 0 ? r->by[level].user_data : NULL);
        if (!step_in(tool, outside))
            return false;
    }
    return true;
}

static bool tell_oldest(mlt_tool *tool)
{
    mlt_tool_events *e = tool->events;
    instance *oldest = mlt_container_of(e->waiting.next, instance, link);
    const registration *r = oldest->to;
    int level = event_lowest(r);
    e->now = *oldest;
    forget(e, oldest);
    if (level < 0 || r->freed)
        return true;
    mlt_outside outside = step_out(tool);
    r->by[level].call((MPI_T_event_instance)&e->now, (MPI_T_event_registration)(uintptr_t)r,
                      MPI_T_CB_REQUIRE_NONE, r->by[level].user_data);
    return step_in(tool, outside);
}

// Registrations that were freed in callbacks.
static void bury_freed(mlt_tool *tool)
{
    mlt_list_node *all = &tool->events->all, *l = all->next;
    while (l != all) {
        registration *r = mlt_container_of(l, registration, object.link);
        l = l->next;
        if (!r->freed)
            continue;
        if (!bury(tool, r))
            return;
        l = all->next; // its callback may have freed others
    }
}

// What callbacks cause in turn waits for the next time.
void mlt_tool_events_deliver(mlt_tool *tool)
{
    mlt_tool_events *e = tool->events;
    if (!e || e->calls || !tool->rank || (e->count == 0 && e->dropped == 0) ||
        tool->rank->worker->sched->pinned)
        return;
    uint64_t count = e->count;
    if (e->dropped > 0 && !tell_dropped(tool))
        return;
    for (; count > 0 && e->count > 0; count--)
        if (!tell_oldest(tool))
            return;
    bury_freed(tool);
}

// ---- what a callback asks for

const instance *mlt_tool_instance_of(const mlt_tool *tool, MPI_T_event_instance handle)
{
    const mlt_tool_events *e = tool->events;
    return e && e->calls && handle == (MPI_T_event_instance)&e->now ? &e->now : NULL;
}

int mlt_mpi_T_event_read(mlt_rank *me, mlt_tool *tool, const instance *i, int element_index,
                         void *buffer)
{
    if (element_index < 0 || element_index >= element_count(i->type))
        return MPI_T_ERR_INVALID_INDEX;
    memcpy(buffer, (const char *)&i->data + event_place_of(i->type, element_index),
           event_is_large(i->type, element_index) ? sizeof i->data.large : sizeof *i->data.number);
    return MPI_SUCCESS;
}

int mlt_mpi_T_event_copy(mlt_rank *me, mlt_tool *tool, const instance *i, void *buffer)
{
    memcpy(buffer, &i->data,
           i->type->large ? sizeof i->data : i->type->numbers * sizeof *i->data.number);
    return MPI_SUCCESS;
}
