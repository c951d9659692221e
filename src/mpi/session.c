// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/session.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/pool.h"
#include "mpi/buffer.h"
#include "mpi/entry.h"
#include "mpi/errhandler.h"
#include "mpi/error.h"
#include "mpi_bodies.h"

int mlt_session_raise(mlt_rank *me, mlt_session *session, int class, const char *format, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!session)
        return mlt_mpi_raise(me, NULL, me->fn, class, "%s", text);
    int code = mlt_mpi_code(me, me->fn, class, "%s", text);
    return mlt_errhandler_call(me, session->errhandler, session, code);
}

int mlt_mpi_Session_init(mlt_rank *me, MPI_Info info, MPI_Errhandler errhandler,
                         MPI_Session *session)
{
    if (!me && !(me = mlt_entry_rank()))
        return mlt_mpi_not_ready(MLT_FN_Session_init);
    me->fn = MLT_FN_Session_init;
    int code = mlt_errhandler_check(me, NULL, me->fn, errhandler, MLT_ERRHANDLER_SESSION);
    if (code != MPI_SUCCESS)
        return code;
    mlt_session *s = mlt_pool_take(&mlt_mpi_worker_of(me)->sessions);
    *s = (mlt_session){.magic = MLT_SESSION_MAGIC,
                       .provided = MPI_THREAD_FUNNELED,
                       .rank = me,
                       .errhandler = errhandler};
    mlt_list_init(&s->groups);
    mlt_errhandler_hold(errhandler);
    mlt_mpi_of(me)->sessions++;
    me->life = MLT_LIFE_READY;
    *session = (MPI_Session)s;
    return MPI_SUCCESS;
}

int mlt_mpi_Session_finalize(mlt_rank *me, MPI_Session *session)
{
    mlt_session *s = mlt_session_of(*session);
    if (!s || s->rank != me) // ranks of one process share the program's globals
        return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_SESSION, "session", "session",
                              (uintptr_t)*session);
    mlt_buffer_drop(me, &s->buffer);
    mlt_errhandler_drop(s->errhandler);
    s->magic = 0;
    mlt_pool_give(&mlt_mpi_worker_of(me)->sessions, s);
    *session = MPI_SESSION_NULL;
    mlt_mpi *mpi = mlt_mpi_of(me);
    if (--mpi->sessions == 0 && (!mpi->inited || mpi->finalized))
        me->life = mpi->inited ? MLT_LIFE_DONE : MLT_LIFE_NEW;
    return MPI_SUCCESS;
}
