// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/errhandler.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/entry.h"
#include "mpi/comm/session.h"
#include "mpi/error/answer.h"
#include "mpi/error/error.h"
#include "mpi/error/user.h"
#include "mpi/file/file.h"
#include "mpi/fortran.h"
#include "mpi/registry.h"
#include "mpi/self.h"
#include "mpi/settings.h"
#include "mpi/thread.h"
#include "mpi/win/win.h"
#include "mpi_bodies.h"

static mlt_registry errhandlers = MLT_REGISTRY_INIT(mlt_errhandler);
static pthread_mutex_t errhandler_lock = PTHREAD_MUTEX_INITIALIZER; // guards all counts

static mlt_errhandler *errhandler_new(mlt_errhandler_kind kind, MPI_Errhandler *handle)
{
    mlt_errhandler *e = mlt_registry_take(&errhandlers);
    e->kind = kind;
    e->refs = 1;
    e->fortran = false;
    atomic_store_explicit(&e->handles, 1, memory_order_relaxed);
    mlt_registry_name(&e->head, MLT_ERRHANDLER_MAGIC);
    *handle = (MPI_Errhandler)e;
    // Its answers are given by the detour (answer.h).
    atomic_store_explicit(&mlt_mpi_whole_detour, true, memory_order_relaxed);
    atomic_store_explicit(&mlt_mpi_detour, true, memory_order_relaxed);
    return e;
}

// The object of a handler that an MPI object has: the user may have freed all handles to it.
static mlt_errhandler *attached(MPI_Errhandler handle)
{
    if (mlt_errhandler_is_predefined(handle))
        return NULL;
    mlt_errhandler *e = (mlt_errhandler *)handle;
    mlt_assert(e && mlt_registry_is(&e->head, MLT_ERRHANDLER_MAGIC));
    return e;
}

// handles: how many of the references are handles.
static void errhandler_count(mlt_errhandler *e, int refs, int handles)
{
    pthread_mutex_lock(&errhandler_lock);
    e->refs += (uint32_t)refs;
    atomic_fetch_add_explicit(&e->handles, (uint32_t)handles, memory_order_relaxed);
    bool last = e->refs == 0;
    if (last)
        mlt_registry_name(&e->head, 0);
    pthread_mutex_unlock(&errhandler_lock);
    if (last)
        mlt_registry_give(&errhandlers, e);
}

void mlt_errhandler_hold(MPI_Errhandler handle)
{
    mlt_errhandler *e = attached(handle);
    if (e)
        errhandler_count(e, 1, 0);
}

void mlt_errhandler_drop(MPI_Errhandler handle)
{
    mlt_errhandler *e = attached(handle);
    if (e)
        errhandler_count(e, -1, 0);
}

void mlt_errhandler_replace(MPI_Errhandler *place, MPI_Errhandler errhandler)
{
    mlt_errhandler_hold(errhandler);
    mlt_errhandler_drop(*place);
    *place = errhandler;
}

MPI_Errhandler mlt_errhandler_show(MPI_Errhandler errhandler)
{
    mlt_errhandler *e = attached(errhandler);
    if (e)
        errhandler_count(e, 1, 1);
    return errhandler;
}

int mlt_errhandler_check(mlt_rank *me, mlt_comm *comm, uint16_t fn, MPI_Errhandler errhandler,
                         mlt_errhandler_kind kind)
{
    static const char *const objects[] = {
        [MLT_ERRHANDLER_COMM] = "communicators",
        [MLT_ERRHANDLER_SESSION] = "sessions",
        [MLT_ERRHANDLER_WIN] = "windows",
        [MLT_ERRHANDLER_FILE] = "files",
    };
    if (mlt_errhandler_is_predefined(errhandler))
        return MPI_SUCCESS;
    const mlt_errhandler *e = mlt_errhandler_of(errhandler);
    if (!e)
        return mlt_bad_handle(me, comm, fn, MPI_ERR_ERRHANDLER, "errhandler", "error handler",
                              (uintptr_t)errhandler);
    if (e->kind != kind)
        return mlt_mpi_raise(me, comm, fn, MPI_ERR_ERRHANDLER,
                             "argument errhandler is an error handler for %s, but should be one "
                             "for %s",
                             objects[e->kind], objects[kind]);
    return MPI_SUCCESS;
}

MPI_Errhandler mlt_errhandler_initial(void)
{
    static const MPI_Errhandler handlers[] = {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT,
                                              MPI_ERRORS_RETURN};
    static _Atomic uintptr_t known; // 0: not yet; relaxed: all find the same
    uintptr_t found = atomic_load_explicit(&known, memory_order_relaxed);
    if (MLT_LIKELY(found))
        return (MPI_Errhandler)found;
    if (mlt_entry_joined()) {
        found = (uintptr_t)handlers[mlt_mpi_settings.initial_errhandler];
        atomic_store_explicit(&known, found, memory_order_relaxed);
        return (MPI_Errhandler)found;
    }
    const char *word = getenv("MILLET_INITIAL_ERRHANDLER"); // settings have not been read yet
    return word && strcmp(word, "mpi_errors_return") == 0  ? MPI_ERRORS_RETURN
           : word && strcmp(word, "mpi_errors_abort") == 0 ? MPI_ERRORS_ABORT
                                                           : MPI_ERRORS_ARE_FATAL;
}

int mlt_errhandler_bad_null(mlt_rank *me, MPI_Errhandler errhandler, uint16_t fn, const char *name,
                            const char *should)
{
    const mlt_errhandler *e = me ? mlt_errhandler_of(errhandler) : NULL;
    if (!e && errhandler != MPI_ERRORS_RETURN)
        return mlt_bad_null(me, NULL, fn, MPI_ERR_ARG, name, should);
    int code =
        mlt_mpi_code(me, fn, MPI_ERR_ARG, "argument %s is NULL, but should be %s", name, should);
    bool session = e && e->kind == MLT_ERRHANDLER_SESSION;
    return mlt_errhandler_call(me, errhandler,
                               session ? (void *)MPI_SESSION_NULL : (void *)MPI_COMM_NULL, code);
}

int mlt_errhandler_call(mlt_rank *me, MPI_Errhandler errhandler, void *object, int code)
{
    if (errhandler == MPI_ERRORS_RETURN)
        return code;
    const mlt_errhandler *e = attached(errhandler);
    int class, told = code;
    if (!e) {
        // The shell sees the class, and must see that something failed.
        bool small = mlt_mpi_code_class(code, &class) && class > 0 && class <= MPI_ERR_LASTCODE;
        mlt_mpi_abort(me, small ? class : MPI_ERR_OTHER, mlt_mpi_sentence(me, code));
    }
    mlt_outside outside = mlt_thread_step_out(me);
    if (e->fortran) {
        e->fn.fortran(&(MPI_Fint){mlt_fortran_number(object)}, &told);
        mlt_thread_step_in(me, outside);
        return told == code ? code : mlt_mpi_set_answer(me, code, told);
    }
    switch (e->kind) {
    case MLT_ERRHANDLER_COMM:
        e->fn.comm(&(MPI_Comm){object}, &told);
        break;
    case MLT_ERRHANDLER_SESSION:
        e->fn.session(&(MPI_Session){object}, &told);
        break;
    case MLT_ERRHANDLER_WIN:
        e->fn.win(&(MPI_Win){object}, &told);
        break;
    case MLT_ERRHANDLER_FILE:
        e->fn.file(&(MPI_File){object}, &told);
        break;
    }
    mlt_thread_step_in(me, outside);
    return told == code ? code : mlt_mpi_set_answer(me, code, told);
}

void mlt_fortran_mark_errhandler(MPI_Errhandler errhandler)
{
    mlt_errhandler *e = mlt_errhandler_of(errhandler);
    if (e)
        e->fortran = true;
}

int mlt_mpi_Errhandler_free(mlt_rank *me, MPI_Errhandler *errhandler)
{
    mlt_errhandler *e = mlt_errhandler_of(*errhandler);
    if (!e && !mlt_errhandler_is_predefined(*errhandler))
        return mlt_bad_handle(me, NULL, MLT_FN_Errhandler_free, MPI_ERR_ERRHANDLER, "errhandler",
                              "error handler", (uintptr_t)*errhandler);
    if (e)
        errhandler_count(e, -1, -1);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

// ---- communicators. MPI_X_call_errhandler passes any number on: it is the program's.

int mlt_mpi_Comm_create_errhandler(mlt_rank *me, MPI_Comm_errhandler_function *fn,
                                   MPI_Errhandler *errhandler)
{
    if (!fn)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, "comm_errhandler_fn", "a function");
    errhandler_new(MLT_ERRHANDLER_COMM, errhandler)->fn.comm = fn;
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_set_errhandler(mlt_rank *me, mlt_comm *comm, MPI_Errhandler errhandler)
{
    int code = mlt_errhandler_check(me, comm, me->fn, errhandler, MLT_ERRHANDLER_COMM);
    if (code != MPI_SUCCESS)
        return code;
    mlt_errhandler_replace(&comm->errhandler, errhandler);
    if (comm == mlt_mpi_of(me)->self)
        mlt_mpi_of(me)->self_handled = true;
    return code;
}

int mlt_mpi_Comm_get_errhandler(mlt_rank *me, mlt_comm *comm, MPI_Errhandler *errhandler)
{
    *errhandler = mlt_errhandler_show(comm->errhandler);
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_call_errhandler(mlt_rank *me, mlt_comm *comm, int errorcode)
{
    mlt_mpi_raise_code(me, comm, me->fn, errorcode);
    return MPI_SUCCESS;
}

// ---- sessions

int mlt_mpi_Session_create_errhandler(mlt_rank *me, MPI_Session_errhandler_function *fn,
                                      MPI_Errhandler *errhandler)
{
    if (!fn)
        return mlt_bad_null(me, NULL, MLT_FN_Session_create_errhandler, MPI_ERR_ARG,
                            "session_errhandler_fn", "a function");
    errhandler_new(MLT_ERRHANDLER_SESSION, errhandler)->fn.session = fn;
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
    int code = mlt_errhandler_check(me, NULL, me->fn, errhandler, MLT_ERRHANDLER_SESSION);
    if (code == MPI_SUCCESS)
        mlt_errhandler_replace(&s->errhandler, errhandler);
    return code;
}

int mlt_mpi_Session_get_errhandler(mlt_rank *me, MPI_Session session, MPI_Errhandler *errhandler)
{
    mlt_session *s = mlt_session_of(session);
    if (!s)
        return bad_session(me, me->fn, session);
    *errhandler = mlt_errhandler_show(s->errhandler);
    return MPI_SUCCESS;
}

int mlt_mpi_Session_call_errhandler(mlt_rank *me, MPI_Session session, int errorcode)
{
    mlt_session *s = mlt_session_of(session);
    if (!s)
        return bad_session(me, MLT_FN_Session_call_errhandler, session);
    mlt_errhandler_call(me, s->errhandler, session, errorcode);
    return MPI_SUCCESS;
}

// ---- windows

int mlt_mpi_Win_create_errhandler(mlt_rank *me, MPI_Win_errhandler_function *fn,
                                  MPI_Errhandler *errhandler)
{
    if (!fn)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, "win_errhandler_fn", "a function");
    errhandler_new(MLT_ERRHANDLER_WIN, errhandler)->fn.win = fn;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_set_errhandler(mlt_rank *me, MPI_Win win, MPI_Errhandler errhandler)
{
    mlt_win *w = mlt_win_mine(me, win);
    if (!w)
        return mlt_bad_win(me, win);
    int code = mlt_errhandler_check(me, NULL, me->fn, errhandler, MLT_ERRHANDLER_WIN);
    if (code == MPI_SUCCESS)
        mlt_errhandler_replace(&mlt_win_notes_of(w)->errhandler, errhandler);
    return code;
}

int mlt_mpi_Win_get_errhandler(mlt_rank *me, MPI_Win win, MPI_Errhandler *errhandler)
{
    mlt_win *w = mlt_win_mine(me, win);
    if (!w)
        return mlt_bad_win(me, win);
    *errhandler = mlt_errhandler_show(mlt_win_errhandler(w));
    return MPI_SUCCESS;
}

int mlt_mpi_Win_call_errhandler(mlt_rank *me, MPI_Win win, int errorcode)
{
    mlt_win *w = mlt_win_mine(me, win);
    if (!w)
        return mlt_bad_win(me, win);
    mlt_errhandler_call(me, mlt_win_errhandler(w), win, errorcode);
    return MPI_SUCCESS;
}

// ---- files

int mlt_mpi_File_create_errhandler(mlt_rank *me, MPI_File_errhandler_function *fn,
                                   MPI_Errhandler *errhandler)
{
    if (!fn)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, "file_errhandler_fn", "a function");
    errhandler_new(MLT_ERRHANDLER_FILE, errhandler)->fn.file = fn;
    return MPI_SUCCESS;
}

int mlt_mpi_File_set_errhandler(mlt_rank *me, MPI_File file, MPI_Errhandler errhandler)
{
    if (file != MPI_FILE_NULL && !mlt_file_of(file))
        return mlt_bad_file(me, me->fn, file);
    int code = mlt_errhandler_check(me, NULL, me->fn, errhandler, MLT_ERRHANDLER_FILE);
    if (code == MPI_SUCCESS)
        mlt_errhandler_replace(mlt_file_errhandler(me, file), errhandler);
    return code;
}

int mlt_mpi_File_get_errhandler(mlt_rank *me, MPI_File file, MPI_Errhandler *errhandler)
{
    if (file != MPI_FILE_NULL && !mlt_file_of(file))
        return mlt_bad_file(me, me->fn, file);
    *errhandler = mlt_errhandler_show(*mlt_file_errhandler(me, file));
    return MPI_SUCCESS;
}

int mlt_mpi_File_call_errhandler(mlt_rank *me, MPI_File fh, int errorcode)
{
    if (fh != MPI_FILE_NULL && !mlt_file_of(fh))
        return mlt_bad_file(me, me->fn, fh);
    mlt_errhandler_call(me, *mlt_file_errhandler(me, fh), fh, errorcode);
    return MPI_SUCCESS;
}

// ---- codes

int mlt_mpi_Error_class(mlt_rank *me, int errorcode, int *errorclass)
{
    int class;
    if (!mlt_mpi_code_class(errorcode, &class))
        return mlt_bad_value(me, NULL, MLT_FN_Error_class, MPI_ERR_ARG, "errorcode", errorcode,
                             "an error code");
    *errorclass = class;
    return MPI_SUCCESS;
}

int mlt_mpi_Error_string(mlt_rank *me, int errorcode, char *string, int *resultlen)
{
    int class;
    if (!mlt_mpi_code_class(errorcode, &class))
        return mlt_bad_value(me, NULL, MLT_FN_Error_string, MPI_ERR_ARG, "errorcode", errorcode,
                             "an error code");
    if (!mlt_error_user_text(errorcode, string)) {
        const char *text = mlt_mpi_sentence(me, errorcode);
        memcpy(string, text, strlen(text) + 1);
    }
    *resultlen = (int)strlen(string);
    return MPI_SUCCESS;
}
