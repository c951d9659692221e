// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/errhandler.h"

#include <pthread.h>
#include <string.h>

#include "base/pool.h"
#include "mpi/error.h"
#include "mpi/session.h"
#include "mpi_bodies.h"

// One pool for the process: handlers may outlive their rank's MPI. The lock is never held across a
// switch.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mlt_pool pool;

static MPI_Errhandler errhandler_new(mlt_errhandler_kind kind)
{
    pthread_mutex_lock(&lock);
    if (!pool.object_size)
        mlt_pool_init(&pool, sizeof(mlt_errhandler), 16);
    mlt_errhandler *e = mlt_pool_take(&pool);
    pthread_mutex_unlock(&lock);
    *e = (mlt_errhandler){.magic = MLT_ERRHANDLER_MAGIC, .refs = 1, .kind = kind};
    return (MPI_Errhandler)e;
}

void mlt_errhandler_hold(MPI_Errhandler handle)
{
    mlt_errhandler *e = mlt_errhandler_of(handle);
    if (e)
        e->refs++;
}

void mlt_errhandler_drop(MPI_Errhandler handle)
{
    mlt_errhandler *e = mlt_errhandler_of(handle);
    if (!e || --e->refs > 0)
        return;
    e->magic = 0;
    pthread_mutex_lock(&lock);
    mlt_pool_give(&pool, e);
    pthread_mutex_unlock(&lock);
}

// True if it may be attached to an object of this kind.
static bool fits(MPI_Errhandler handle, mlt_errhandler_kind kind)
{
    const mlt_errhandler *e = mlt_errhandler_of(handle);
    return mlt_errhandler_is_predefined(handle) || (e && e->kind == kind);
}

static void replace(MPI_Errhandler *place, MPI_Errhandler handle)
{
    mlt_errhandler_hold(handle);
    mlt_errhandler_drop(*place);
    *place = handle;
}

int mlt_mpi_Comm_create_errhandler(mlt_rank *me, MPI_Comm_errhandler_function *fn,
                                   MPI_Errhandler *errhandler)
{
    if (!fn)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, "comm_errhandler_fn", "a function");
    *errhandler = errhandler_new(MLT_ERRHANDLER_COMM);
    mlt_errhandler_of(*errhandler)->fn.comm = fn;
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_set_errhandler(mlt_rank *me, mlt_comm *comm, MPI_Errhandler errhandler)
{
    if (!fits(errhandler, MLT_ERRHANDLER_COMM))
        return mlt_bad_handle(me, comm, me->fn, MPI_ERR_ERRHANDLER, "errhandler",
                              "error handler for communicators", (uintptr_t)errhandler);
    replace(&comm->errhandler, errhandler);
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_get_errhandler(mlt_rank *me, mlt_comm *comm, MPI_Errhandler *errhandler)
{
    *errhandler = comm->errhandler;
    mlt_errhandler_hold(*errhandler);
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_call_errhandler(mlt_rank *me, mlt_comm *comm, int errorcode)
{
    mlt_mpi_raise_code(me, comm, me->fn, errorcode);
    return MPI_SUCCESS;
}

int mlt_mpi_Session_create_errhandler(mlt_rank *me, MPI_Session_errhandler_function *fn,
                                      MPI_Errhandler *errhandler)
{
    if (!fn)
        return mlt_bad_null(me, NULL, MLT_FN_Session_create_errhandler, MPI_ERR_ARG,
                            "session_errhandler_fn", "a function");
    *errhandler = errhandler_new(MLT_ERRHANDLER_SESSION);
    mlt_errhandler_of(*errhandler)->fn.session = fn;
    return MPI_SUCCESS;
}

static int bad_session(mlt_rank *me, uint16_t fn, MPI_Session session)
{
    return mlt_bad_handle(me, NULL, fn, MPI_ERR_SESSION, "session", "session", (uintptr_t)session);
}

int mlt_mpi_Session_set_errhandler(mlt_rank *me, MPI_Session session, MPI_Errhandler errhandler)
{
    mlt_session *s = mlt_session_of(session);
    if (!s)
        return bad_session(me, me->fn, session);
    if (!fits(errhandler, MLT_ERRHANDLER_SESSION))
        return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_ERRHANDLER, "errhandler",
                              "error handler for sessions", (uintptr_t)errhandler);
    replace(&s->errhandler, errhandler);
    return MPI_SUCCESS;
}

int mlt_mpi_Session_get_errhandler(mlt_rank *me, MPI_Session session, MPI_Errhandler *errhandler)
{
    mlt_session *s = mlt_session_of(session);
    if (!s)
        return bad_session(me, me->fn, session);
    *errhandler = s->errhandler;
    mlt_errhandler_hold(*errhandler);
    return MPI_SUCCESS;
}

int mlt_mpi_Session_call_errhandler(mlt_rank *me, MPI_Session session, int errorcode)
{
    mlt_session *s = mlt_session_of(session);
    if (!s)
        return bad_session(me, MLT_FN_Session_call_errhandler, session);
    if (s->errhandler == MPI_ERRORS_RETURN)
        return MPI_SUCCESS;
    mlt_errhandler *e = mlt_errhandler_of(s->errhandler);
    int class;
    mlt_mpi_code_class(errorcode, &class);
    if (!e)
        mlt_mpi_abort(me, class, mlt_mpi_sentence(me, errorcode));
    e->fn.session(&session, &errorcode);
    return MPI_SUCCESS;
}

int mlt_mpi_Errhandler_free(mlt_rank *me, MPI_Errhandler *errhandler)
{
    if (!mlt_errhandler_is_predefined(*errhandler) && !mlt_errhandler_of(*errhandler))
        return mlt_bad_handle(me, NULL, MLT_FN_Errhandler_free, MPI_ERR_ERRHANDLER, "errhandler",
                              "error handler", (uintptr_t)*errhandler);
    mlt_errhandler_drop(*errhandler);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int mlt_mpi_Error_class(mlt_rank *me, int errorcode, int *errorclass)
{
    if (!mlt_mpi_code_class(errorcode, errorclass))
        return mlt_bad_value(me, NULL, MLT_FN_Error_class, MPI_ERR_ARG, "errorcode", errorcode,
                             "an error code");
    return MPI_SUCCESS;
}

int mlt_mpi_Error_string(mlt_rank *me, int errorcode, char *string, int *resultlen)
{
    int class;
    if (!mlt_mpi_code_class(errorcode, &class))
        return mlt_bad_value(me, NULL, MLT_FN_Error_string, MPI_ERR_ARG, "errorcode", errorcode,
                             "an error code");
    const char *text = mlt_mpi_sentence(me, errorcode);
    *resultlen = (int)strlen(text);
    memcpy(string, text, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}
