// SPDX-License-Identifier: BSD-3-Clause
// What a failed call returns to the program. An error handler of the program's may change the code
// that it is given, and the call then returns that, MPI_SUCCESS included. Inside, the error stays an
// error: a body that has raised one must not go on. So the answer is kept beside the message of the
// error, by its slot (error.h), and the surface exchanges the code for it at the very end: in the
// detour, by which all calls go once the program has made an error handler; in functions that null a
// handle, after that; and in the checks before the body, by the functions below.
//
// Everything here is cold.
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "base/status.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

// A handler was given `code` and has made `answer` of it. Returns the code to go on with inside.
int mlt_mpi_set_answer(mlt_rank *me, int code, int answer) MLT_COLD;

// What the program gets for a code, once; me may be NULL.
int mlt_mpi_answer(mlt_rank *me, int code) MLT_COLD;

// mlt_bad_X, and what the program gets for it.
int mlt_refuse_handle(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                      const char *what, uintptr_t value) MLT_COLD;
int mlt_refuse_wild(mlt_rank *me, uint16_t fn, int class, const char *name, const char *what,
                    uintptr_t value) MLT_COLD;
int mlt_refuse_value(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                     int64_t value, const char *should) MLT_COLD;
int mlt_refuse_rank(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                    int64_t value, const char *more) MLT_COLD;
int mlt_refuse_uncommitted(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name) MLT_COLD;
int mlt_refuse_null(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                    const char *should) MLT_COLD;
int mlt_refuse_buffer(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name, const void *buf,
                      const char *should) MLT_COLD;
int mlt_refuse_narrow(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name,
                      int64_t value) MLT_COLD;
int mlt_refuse_type(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name,
                    MPI_Datatype type) MLT_COLD;
int mlt_refuse_file(mlt_rank *me, uint16_t fn, const char *name, MPI_File handle) MLT_COLD;
struct mlt_file;
// file NULL: the error is that of MPI_FILE_NULL.
int mlt_refuse_file_null(mlt_rank *me, struct mlt_file *file, const char *name,
                         const char *should) MLT_COLD;
int mlt_refuse_session_null(mlt_rank *me, MPI_Session handle, uint16_t fn, const char *name,
                            const char *should) MLT_COLD;
int mlt_refuse_errhandler_null(mlt_rank *me, MPI_Errhandler errhandler, uint16_t fn,
                               const char *name, const char *should) MLT_COLD;
