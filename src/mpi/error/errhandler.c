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

int mlt_errhandler_create(mlt_rank *me, mlt_errhandler_kind kind, mlt_errhandler_fn fn,
                          const char *name, MPI_Errhandler *errhandler)
{
    if (!fn.value)
        return mlt_bad_null(me, NULL, me ? me->fn : MLT_FN_Session_create_errhandler, MPI_ERR_ARG,
                            name, "a function");
    mlt_errhandler *e = mlt_registry_take(&errhandlers);
    e->kind = kind;
    e->refs = 1;
    e->fortran = false;
    e->fn = fn;
    atomic_store_explicit(&e->handles, 1, memory_order_relaxed);
    mlt_registry_name(&e->head, MLT_ERRHANDLER_MAGIC);
    *errhandler = (MPI_Errhandler)e;
    // Its answers are given by the detour (answer.h).
    atomic_store_explicit(&mlt_mpi_whole_detour, true, memory_order_relaxed);
    mlt_mpi_take_detour(MLT_DETOUR_USUAL);
    return MPI_SUCCESS;
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

int mlt_bad_errhandler_null(mlt_rank *me, MPI_Errhandler errhandler, uint16_t fn, const char *name,
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

// ---- objects

mlt_errhandler_owner mlt_errhandler_of_comm(mlt_rank *me, mlt_comm *comm)
{
    return (mlt_errhandler_owner){MLT_ERRHANDLER_COMM, comm, mlt_comm_handle(me, comm),
                                  &comm->errhandler, MPI_SUCCESS};
}

mlt_errhandler_owner mlt_errhandler_of_session(mlt_rank *me, MPI_Session session)
{
    mlt_session *s = mlt_session_of(session);
    mlt_errhandler_owner owner = {.kind = MLT_ERRHANDLER_SESSION, .object = session};
    if (s)
        owner.at = &s->errhandler;
    else
        owner.code = mlt_bad_handle(me, NULL, me ? me->fn : MLT_FN_Session_call_errhandler,
                                    MPI_ERR_SESSION, "session", "session", (uintptr_t)session);
    return owner;
}

mlt_errhandler_owner mlt_errhandler_of_win(mlt_rank *me, MPI_Win win)
{
    mlt_win *w = mlt_win_mine(me, win);
    mlt_errhandler_owner owner = {.kind = MLT_ERRHANDLER_WIN, .object = win};
    if (w)
        owner.at = &mlt_win_notes_of(w)->errhandler;
    else
        owner.code = mlt_bad_win(me, win);
    return owner;
}

mlt_errhandler_owner mlt_errhandler_of_file(mlt_rank *me, MPI_File file)
{
    mlt_errhandler_owner owner = {.kind = MLT_ERRHANDLER_FILE, .object = file};
    if (file == MPI_FILE_NULL || mlt_file_of(file))
        owner.at = mlt_file_errhandler(me, file);
    else
        owner.code =
            mlt_bad_file(me, me->fn, me->fn == MLT_FN_File_call_errhandler ? "fh" : "file", file);
    return owner;
}

int mlt_errhandler_set(mlt_rank *me, mlt_errhandler_owner owner, MPI_Errhandler errhandler)
{
    if (!owner.at)
        return owner.code;
    int code = mlt_errhandler_check(me, owner.comm, me->fn, errhandler, owner.kind);
    if (code != MPI_SUCCESS)
        return code;
    mlt_errhandler_hold(errhandler);
    mlt_errhandler_drop(*owner.at);
    *owner.at = errhandler;
    if (owner.object == MPI_COMM_SELF)
        mlt_mpi_of(me)->self_handled = true;
    return MPI_SUCCESS;
}

int mlt_errhandler_get(mlt_rank *me, mlt_errhandler_owner owner, MPI_Errhandler *errhandler)
{
    if (!owner.at)
        return owner.code;
    mlt_errhandler *e = attached(*owner.at);
    if (e)
        errhandler_count(e, 1, 1);
    *errhandler = *owner.at;
    return MPI_SUCCESS;
}

int mlt_errhandler_tell(mlt_rank *me, mlt_errhandler_owner owner, int errorcode)
{
    if (!owner.at)
        return owner.code;
    mlt_errhandler_call(me, *owner.at, owner.object, errorcode);
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
