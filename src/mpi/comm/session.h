// SPDX-License-Identifier: BSD-3-Clause
// Sessions: a library's own way into MPI. A session has an error handler, a buffer for buffered
// sends, and the groups and communicators that stem from it, which end with it.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "mpi/comm/group.h"
#include "mpi/comm/pset.h"
#include "mpi/handle.h"

enum { MLT_SESSION_MAGIC = 0x05e55104 };

typedef struct mlt_session {
    uint32_t magic;
    uint16_t provided; // thread level
    bool strict;       // info key strict_finalize
    mlt_rank *rank;
    MPI_Errhandler errhandler; // a counted reference
    char *kinds;               // of memory that it asked for (info/memkind.h); NULL: none
    void *buffer;              // MPI_Session_attach_buffer's (buffer.c)
    mlt_list_node groups;      // that stem from it, by mlt_group.link
} mlt_session;

// NULL: MPI_SESSION_NULL or a bad handle.
static inline mlt_session *mlt_session_of(MPI_Session handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_session *session = (mlt_session *)h;
    return mlt_handle_is_address(h) && session->magic == MLT_SESSION_MAGIC ? session : NULL;
}

// The same, and it is this rank's.
mlt_session *mlt_session_mine(const mlt_rank *me, MPI_Session handle);

// Raises an error as mlt_mpi_raise does, with the session's handler; NULL: MPI_COMM_SELF's.
int mlt_session_raise(mlt_rank *me, mlt_session *session, int class, const char *format, ...)
    MLT_PRINTF(4, 5) MLT_COLD;

// As mlt_bad_null, with the session's handler.
int mlt_bad_session_null(mlt_rank *me, MPI_Session handle, uint16_t fn, const char *name,
                         const char *should) MLT_COLD;

// Raises MPI_ERR_SESSION for an argument that is no session of the caller's.
int mlt_bad_session(mlt_rank *me, uint16_t fn, MPI_Session handle) MLT_COLD;
