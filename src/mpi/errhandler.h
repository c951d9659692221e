// SPDX-License-Identifier: BSD-3-Clause
// Error handlers: the predefined ones are handle values, the user's are counted objects. They may
// be made before MPI_Init and freed after MPI_Finalize, so they come from a pool of the process.
#ifndef MLT_MPI_ERRHANDLER_H
#define MLT_MPI_ERRHANDLER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/handle.h"

enum { MLT_ERRHANDLER_MAGIC = 0x0e44a9d1 };

typedef enum mlt_errhandler_kind {
    MLT_ERRHANDLER_COMM,
    MLT_ERRHANDLER_SESSION,
    MLT_ERRHANDLER_WIN,
    MLT_ERRHANDLER_FILE,
} mlt_errhandler_kind;

typedef struct mlt_errhandler {
    uint32_t magic;
    uint32_t refs; // handles of the user's and objects that have it
    mlt_errhandler_kind kind;
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Session_errhandler_function *session;
    } fn;
} mlt_errhandler;

static inline mlt_errhandler *mlt_errhandler_of(MPI_Errhandler handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_errhandler *e = (mlt_errhandler *)h;
    return mlt_handle_is_address(h) && e->magic == MLT_ERRHANDLER_MAGIC ? e : NULL;
}

static inline bool mlt_errhandler_is_predefined(MPI_Errhandler handle)
{
    return handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRORS_ABORT ||
           handle == MPI_ERRORS_RETURN;
}

// Predefined handlers are not counted, but may be given.
void mlt_errhandler_hold(MPI_Errhandler handle);
void mlt_errhandler_drop(MPI_Errhandler handle);

#endif
