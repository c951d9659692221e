// SPDX-License-Identifier: BSD-3-Clause
// Error handlers: the predefined ones are handle values, the user's are counted objects. They may
// be made before MPI_Init and freed after MPI_Finalize, so they come from a pool of the process.
//
// Two counts keep one alive: the handles that the user has (from create and get, given back by
// MPI_Errhandler_free) and the objects that have it. Without a handle it still serves its objects,
// but is refused as an argument.
#pragma once

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/handle.h"
#include "mpi/registry.h"

enum { MLT_ERRHANDLER_MAGIC = 0x0e44a9d1 };

typedef enum mlt_errhandler_kind {
    MLT_ERRHANDLER_COMM,
    MLT_ERRHANDLER_SESSION,
    MLT_ERRHANDLER_WIN,
    MLT_ERRHANDLER_FILE,
} mlt_errhandler_kind;

typedef union mlt_errhandler_fn {
    MPI_Comm_errhandler_function *comm;
    MPI_Session_errhandler_function *session;
    MPI_Win_errhandler_function *win;
    MPI_File_errhandler_function *file;
    void (*fortran)(MPI_Fint *object, MPI_Fint *code);
    uintptr_t value;
} mlt_errhandler_fn;

typedef struct mlt_errhandler {
    mlt_registry_head head;
    mlt_errhandler_kind kind;
    _Atomic uint32_t handles; // of the user's
    uint32_t refs;            // handles and objects; under the lock of errhandler.c
    bool fortran;             // the function gets an integer for the object
    mlt_errhandler_fn fn;
} mlt_errhandler;

// The object of a handle that the user gives; NULL: predefined, freed, or no error handler.
static inline mlt_errhandler *mlt_errhandler_of(MPI_Errhandler handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_errhandler *e = (mlt_errhandler *)h;
    return mlt_handle_is_address(h) && mlt_registry_is(&e->head, MLT_ERRHANDLER_MAGIC) &&
                   // relaxed: a thread that uses a handle while another frees it is at fault
                   atomic_load_explicit(&e->handles, memory_order_relaxed) > 0
               ? e
               : NULL;
}

static inline bool mlt_errhandler_is_predefined(MPI_Errhandler handle)
{
    return handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRORS_ABORT ||
           handle == MPI_ERRORS_RETURN;
}

// MPI_SUCCESS if the user may attach it to an object of this kind; otherwise raises
// MPI_ERR_ERRHANDLER.
int mlt_errhandler_check(mlt_rank *me, mlt_comm *comm, uint16_t fn, MPI_Errhandler errhandler,
                         mlt_errhandler_kind kind);

// One object more or less has it. Predefined handlers are not counted, but may be given.
void mlt_errhandler_hold(MPI_Errhandler handle);
void mlt_errhandler_drop(MPI_Errhandler handle);

// MPI_X_create_errhandler; name: of the argument fn.
int mlt_errhandler_create(mlt_rank *me, mlt_errhandler_kind kind, mlt_errhandler_fn fn,
                          const char *name, MPI_Errhandler *errhandler);

// The object of a call about its handler.
typedef struct mlt_errhandler_owner {
    mlt_errhandler_kind kind;
    mlt_comm *comm;     // whose handler hears of errors; NULL: MPI_COMM_SELF's
    void *object;       // its handle
    MPI_Errhandler *at; // NULL: the handle is bad, and `code` was raised
    int code;
} mlt_errhandler_owner;

mlt_errhandler_owner mlt_errhandler_of_comm(mlt_rank *me, mlt_comm *comm);
mlt_errhandler_owner mlt_errhandler_of_session(mlt_rank *me, MPI_Session session);
mlt_errhandler_owner mlt_errhandler_of_win(mlt_rank *me, MPI_Win win);
mlt_errhandler_owner mlt_errhandler_of_file(mlt_rank *me, MPI_File file);

// MPI_X_set_errhandler; MPI_X_get_errhandler, which gives the user one more handle;
// MPI_X_call_errhandler, which passes any number on: it is the program's.
int mlt_errhandler_set(mlt_rank *me, mlt_errhandler_owner owner, MPI_Errhandler errhandler);
int mlt_errhandler_get(mlt_rank *me, mlt_errhandler_owner owner, MPI_Errhandler *errhandler);
int mlt_errhandler_tell(mlt_rank *me, mlt_errhandler_owner owner, int errorcode);

// The handler that objects begin with and that hears of errors without one before MPI_Init: as
// mpirun -initial-errhandler says.
MPI_Errhandler mlt_errhandler_initial(void);

// As mlt_bad_null, for a call that makes an object and is given its handler: that one hears of it.
int mlt_bad_errhandler_null(mlt_rank *me, MPI_Errhandler errhandler, uint16_t fn, const char *name,
                            const char *should) MLT_COLD;

// Calls the handler of an object for an error; `object` is the handle that the user knows the
// object by. Returns the code, if the handler returns. May suspend, as the user's functions may.
int mlt_errhandler_call(mlt_rank *me, MPI_Errhandler errhandler, void *object, int code);
