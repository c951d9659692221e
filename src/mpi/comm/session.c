// SPDX-License-Identifier: BSD-3-Clause
// Sessions. Everything here is local: a job's process sets are known from its start.
//
// MPI_Session_finalize does what the standard allows and a program expects: groups and
// communicators that stem from the session and were not freed end with it, and using their handles
// afterwards is caught like that of any freed object. (After it returns, no call that relates to
// the session is allowed, not even one that frees such an object.) With the info key
// strict_finalize it refuses, with a message that says what is left.
#include "mpi/comm/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/text.h"
#include "mpi/comm/group.h"
#include "mpi/comm/new.h"
#include "mpi/comm/shared.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/goal/goal.h"
#include "mpi/info/info.h"
#include "mpi/info/memkind.h"
#include "mpi/p2p/buffer.h"
#include "mpi/stream/stream.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"

static const struct {
    int level;
    const char *name;
} comm_session_levels[] = {
    {MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
    {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
    {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
    {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"},
};
enum { COMM_SESSION_LEVELS = sizeof comm_session_levels / sizeof *comm_session_levels };

int mlt_session_raise(mlt_rank *me, mlt_session *session, int class, const char *format, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    MLT_TEXT_PRINT(text, sizeof text, format);
    if (!session)
        return mlt_mpi_raise(me, NULL, me->fn, class, "%s", text);
    int code = mlt_mpi_code(me, me->fn, class, "%s", text);
    return mlt_errhandler_call(me, session->errhandler, session, code);
}

int mlt_bad_session(mlt_rank *me, uint16_t fn, MPI_Session handle)
{
    const mlt_session *other = mlt_session_of(handle);
    if (other)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_SESSION,
                             "argument session is a session of rank %d, but should be one of the "
                             "caller's own; " MLT_HANDLE_OF_OTHER,
                             other->rank->world);
    return mlt_bad_handle(me, NULL, fn, MPI_ERR_SESSION, "session", "session", (uintptr_t)handle);
}

mlt_session *mlt_session_mine(const mlt_rank *me, MPI_Session handle)
{
    mlt_session *s = mlt_session_of(handle);
    return s && s->rank == me ? s : NULL;
}

int mlt_bad_session_null(mlt_rank *me, MPI_Session handle, uint16_t fn, const char *name,
                         const char *should)
{
    mlt_session *s = me ? mlt_session_mine(me, handle) : NULL;
    if (!s)
        return mlt_bad_null(me, NULL, fn, MPI_ERR_ARG, name, should);
    int code =
        mlt_mpi_code(me, fn, MPI_ERR_ARG, "argument %s is NULL, but should be %s", name, should);
    return mlt_errhandler_call(me, s->errhandler, handle, code);
}

// The level that the info asks for; -1: a string that is none of the standard's.
static int wanted_level(const mlt_rank *me, const mlt_info *info)
{
    const char *name = mlt_info_get(info, "thread_level");
    if (!name)
        return mlt_thread_usual(me);
    for (int i = 0; i < COMM_SESSION_LEVELS; i++)
        if (strcmp(name, comm_session_levels[i].name) == 0)
            return comm_session_levels[i].level;
    return -1;
}

static const char *level_name(int level)
{
    int i = 0;
    while (comm_session_levels[i].level != level)
        i++;
    return comm_session_levels[i].name;
}

static int session_init(mlt_rank *me, mlt_first *first, MPI_Info info, MPI_Errhandler errhandler,
                        MPI_Session *session)
{
    int code = mlt_errhandler_check(me, NULL, me->fn, errhandler, MLT_ERRHANDLER_SESSION);
    if (code != MPI_SUCCESS)
        return code;
    const mlt_info *hints = mlt_info_of(info);
    if (!hints && info != MPI_INFO_NULL) {
        code = mlt_mpi_code(me, me->fn, MPI_ERR_INFO,
                            "argument info is %p, but should be a valid info object or "
                            "MPI_INFO_NULL (was it freed, or never set?)",
                            (void *)info);
        mlt_thread_first_ready(first);
        return mlt_errhandler_call(me, errhandler, MPI_SESSION_NULL, code);
    }
    int level = wanted_level(me, hints);
    if (level < 0) {
        code = mlt_mpi_code(me, me->fn, MPI_ERR_INFO_VALUE,
                            "info key thread_level is '%s', but should be MPI_THREAD_SINGLE, "
                            "MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                            mlt_info_get(hints, "thread_level"));
        mlt_thread_first_ready(first);
        return mlt_errhandler_call(me, errhandler, MPI_SESSION_NULL, code);
    }
    mlt_session *s = mlt_pool_take(&mlt_mpi_worker_of(me)->sessions);
    *s = (mlt_session){.magic = MLT_SESSION_MAGIC,
                       .provided = (uint16_t)mlt_thread_grant(me, level),
                       .strict = mlt_info_flag(hints, "strict_finalize", false),
                       .rank = me,
                       .errhandler = errhandler};
    const char *asked = mlt_info_get(hints, MLT_MEMKIND_KEY);
    if (asked)
        s->kinds = mlt_text_of("%s", asked);
    mlt_list_init(&s->groups);
    mlt_errhandler_hold(errhandler);
    mlt_mpi_of(me)->sessions++;
    mlt_thread_ready(me);
    *session = (MPI_Session)s;
    return MPI_SUCCESS;
}

int mlt_mpi_Session_init(mlt_rank *me, MPI_Info info, MPI_Errhandler errhandler,
                         MPI_Session *session)
{
    mlt_first first;
    me = mlt_thread_first_begin(me, MLT_FN_Session_init, &first);
    int code = session_init(me, &first, info, errhandler, session);
    mlt_thread_first_end(&first);
    return code;
}

// ---- the end

// A communicator of the session's that the user has not freed; NULL: none.
static mlt_comm *living_comm(mlt_rank *me, const mlt_session *s)
{
    mlt_list_node *comms = &mlt_mpi_of(me)->comms;
    MLT_LIST_EACH(mlt_comm, comm, comms, link) {
        if (comm->magic == MLT_COMM_MAGIC && comm->extra && comm->extra->session == s)
            return comm;
    }
    return NULL;
}

// What the user freed and the library still sends or receives. Requests that the user has are the
// user's to complete.
void mlt_comm_wait_freed(mlt_rank *me, const mlt_comm *comm)
{
    mlt_wait wait = {.call = mlt_mpi_call(me), .kind = MLT_WAIT_OTHER, .context = comm->context};
    mlt_comm_extra *extra = comm->extra;
    while (extra && extra->orphans > 0) {
        extra->waits = mlt_rank_fiber(me);
        mlt_fiber_park(me->worker->sched, &wait);
        extra->waits = NULL;
    }
}

// With strict_finalize: MPI_SUCCESS if nothing is left.
static int refuse_rest(mlt_rank *me, mlt_session *s)
{
    int groups = 0;
    for (const mlt_list_node *l = s->groups.next; l != &s->groups; l = l->next)
        groups++;
    mlt_comm *comm = living_comm(me, s);
    if (groups == 0 && !comm)
        return MPI_SUCCESS;
    return mlt_session_raise(me, s, MPI_ERR_PENDING,
                             "the session was made with strict_finalize and still has %d groups%s%s"
                             "; free them first",
                             groups, comm ? " and communicators, among them " : "",
                             comm ? mlt_comm_name(me, comm) : "");
}

// Frees what stems from the session. The first code of a delete function that fails is returned,
// but nothing stops.
static int free_rest(mlt_rank *me, mlt_session *s)
{
    int first = MPI_SUCCESS, code;
    for (mlt_comm *comm; (comm = living_comm(me, s));) {
        mlt_comm_wait_freed(me, comm);
        while ((code = mlt_comm_free(me, comm)) != MPI_SUCCESS) {
            mlt_attrs_forget_last(&comm->extra->attrs);
            mlt_attrs_raise(me, comm, code);
            first = first == MPI_SUCCESS ? code : first;
        }
    }
    while (!mlt_list_empty(&s->groups))
        mlt_group_end(me, mlt_container_of(s->groups.next, mlt_group, link));
    return first;
}

int mlt_mpi_Session_finalize(mlt_rank *me, MPI_Session *session)
{
    mlt_session *s = mlt_session_mine(me, *session);
    if (!s)
        return mlt_bad_session(me, me->fn, *session);
    int code = s->strict ? refuse_rest(me, s) : MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        return code;
    code = free_rest(me, s);
    mlt_bsend_drop(me, &s->buffer);
    mlt_errhandler_drop(s->errhandler);
    free(s->kinds);
    s->magic = 0;
    mlt_pool_give_last(&mlt_mpi_worker_of(me)->sessions, s);
    *session = MPI_SESSION_NULL;
    mlt_mpi *mpi = mlt_mpi_of(me);
    if (--mpi->sessions == 0 && (!mpi->inited || mpi->finalized)) {
        mlt_stream_end(me);
        mlt_goal_offload_end(me);
        mlt_mpi_drain_sends(me);
        mlt_life_set(me, mpi->inited ? MLT_LIFE_DONE : MLT_LIFE_NEW);
    }
    return code;
}

int mlt_mpi_Comm_disconnect(mlt_rank *me, MPI_Comm *comm)
{
    mlt_comm *c = mlt_comm_of(me, *comm);
    if (!c)
        return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_COMM, "comm", "communicator",
                              (uintptr_t)*comm);
    if (c == &mlt_mpi_of(me)->world || c == mlt_mpi_of(me)->self)
        return mlt_mpi_raise(me, c, me->fn, MPI_ERR_COMM,
                             "argument comm is %s, but should be a communicator that the program "
                             "has made",
                             mlt_comm_name(me, c));
    mlt_comm_wait_freed(me, c);
    if (mlt_comm_shared_of(c)->foreign)
        mlt_comm_agree(me, c); // none of the jobs leaves before all have come
    int code = mlt_comm_free(me, c);
    if (code != MPI_SUCCESS)
        return mlt_attrs_raise(me, c, code);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

// ---- what a session knows

// A new info object for the user.
static MPI_Info new_info(const char *key, const char *value, mlt_info **out)
{
    *out = mlt_info_new();
    mlt_info_set(*out, key, value);
    return mlt_info_handle(*out);
}

int mlt_mpi_Session_get_info(mlt_rank *me, mlt_session *s, MPI_Info *info_used)
{
    mlt_info *info;
    *info_used = new_info("thread_level", level_name(s->provided), &info);
    mlt_memkind_tell(info, s->kinds, NULL);
    mlt_info_set(info, "strict_finalize", s->strict ? "true" : "false");
    return MPI_SUCCESS;
}

// Hints about process sets: there are none, but the object must be one.
static int check_info(mlt_rank *me, mlt_session *s, MPI_Info info)
{
    if (info == MPI_INFO_NULL || mlt_info_of(info))
        return MPI_SUCCESS;
    return mlt_session_raise(me, s, MPI_ERR_INFO,
                             "argument info is %p, but should be a valid info object or "
                             "MPI_INFO_NULL (was it freed, or never set?)",
                             (void *)info);
}

int mlt_mpi_Session_get_num_psets(mlt_rank *me, mlt_session *s, MPI_Info info, int *npset_names)
{
    int code = check_info(me, s, info);
    if (code == MPI_SUCCESS)
        *npset_names = MLT_PSETS;
    return code;
}

int mlt_mpi_Session_get_nth_pset(mlt_rank *me, mlt_session *s, MPI_Info info, int n, int *pset_len,
                                 char *pset_name)
{
    int code = check_info(me, s, info);
    if (code != MPI_SUCCESS)
        return code;
    if (n < 0 || n >= MLT_PSETS)
        return mlt_session_raise(me, s, MPI_ERR_ARG,
                                 "argument n is %d, but should be the number of a process set, "
                                 "from 0 to %d",
                                 n, MLT_PSETS - 1);
    if (*pset_len < 0)
        return mlt_session_raise(me, s, MPI_ERR_ARG,
                                 "argument pset_len is %d, but should be at least 0", *pset_len);
    if (*pset_len > 0 && !pset_name)
        return mlt_session_raise(me, s, MPI_ERR_ARG,
                                 "argument pset_name is NULL, but should be the address of "
                                 "pset_len bytes, as pset_len is above 0");
    char name[MLT_PSET_NAME];
    mlt_pset_name(me, n, name);
    if (*pset_len > 0)
        snprintf(pset_name, (size_t)*pset_len, "%s", name);
    *pset_len = (int)strlen(name) + 1;
    return MPI_SUCCESS;
}

int mlt_mpi_Session_get_pset_info(mlt_rank *me, mlt_session *s, const char *pset_name,
                                  MPI_Info *info)
{
    mlt_map *map = pset_name ? mlt_pset_map(me, pset_name) : NULL;
    if (!map)
        return mlt_session_raise(me, s, MPI_ERR_ARG,
                                 "argument pset_name is %s, but should be the name of a process "
                                 "set; MPI_Session_get_nth_pset lists them",
                                 pset_name ? pset_name : "NULL");
    char size[16];
    mlt_info *made;
    snprintf(size, sizeof size, "%d", map->size);
    mlt_map_drop(map);
    *info = new_info("mpi_size", size, &made);
    return MPI_SUCCESS;
}

// A name that does not exist is no error: the standard wants MPI_GROUP_NULL.
int mlt_mpi_Group_from_session_pset(mlt_rank *me, mlt_session *s, const char *pset_name,
                                    MPI_Group *newgroup)
{
    if (!pset_name)
        return mlt_session_raise(me, s, MPI_ERR_ARG,
                                 "argument pset_name is NULL, but should be the name of a process "
                                 "set");
    mlt_map *map = mlt_pset_map(me, pset_name);
    if (!map)
        return mlt_session_raise(me, s, MPI_ERR_ARG,
                                 "argument pset_name is '%.200s', but should be the name of a "
                                 "process set, as MPI_Session_get_nth_pset gives them",
                                 pset_name);
    *newgroup = mlt_group_new(me, map, s);
    return MPI_SUCCESS;
}
