// SPDX-License-Identifier: BSD-3-Clause
// Errors: a message, a code, a handler.
//
// A code is class + 64 * (1 + slot). The class is in the low 6 bits; the slot names one of the last
// 253 error messages of the worker, so that MPI_Error_string of a code gives the message of that
// very error.
// A plain class is a code too. What the program adds is above MPI_ERR_LASTCODE (user.h).
//
// Everything here is cold: a call that succeeds never comes here.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

// Words an error as "<function>: <what is wrong>", calls the error handler of comm (NULL: of
// MPI_COMM_SELF, as the standard says for errors without a communicator, or of MPI_COMM_WORLD, if
// the program has not set that one), and returns the code, if the handler returns. me may be NULL
// (called by a thread that is no rank): then the handler is the initial one. fn: normally me->fn.
int mlt_mpi_raise(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *format, ...)
    MLT_PRINTF(5, 6) MLT_COLD;

// Only the code, for a status; no handler is called.
int mlt_mpi_code(mlt_rank *me, uint16_t fn, int class, const char *format, ...)
    MLT_PRINTF(4, 5) MLT_COLD;

// Calls the handler for a code that was made before, and returns the code.
int mlt_mpi_raise_code(mlt_rank *me, mlt_comm *comm, uint16_t fn, int code) MLT_COLD;

// The message of a code; never NULL. Valid until 253 more errors of the worker.
const char *mlt_mpi_sentence(mlt_rank *me, int code) MLT_COLD;

// True if it is a class or a code, of ours or of the program's, and its class.
bool mlt_mpi_code_class(int code, int *class) MLT_COLD;

// The value of MPI_LASTUSEDCODE: the largest class or code that there is now (user.c). The user may
// read it at any time, so each rank has a copy, as old as the rank's last call about it.
const int *mlt_error_last_used_code(mlt_rank *me);

// Ends the job: the launcher prints "rank 3: <message>" and stops all ranks; without a launcher,
// the process prints it and exits with `status`. me may be NULL.
_Noreturn void mlt_mpi_abort(mlt_rank *me, int status, const char *sentence) MLT_COLD;

// ---- the generated checks' ways out; all return a code

// Before MPI_Init, after MPI_Finalize, or not a rank's thread: ends the job.
_Noreturn int mlt_mpi_not_ready(uint16_t fn) MLT_COLD;

// How a handle may have come to a rank that has not made the object: the end of a message.
#define MLT_HANDLE_OF_OTHER                                                                        \
    "was it passed through shared memory, or do ranks share global variables (mpirun --globals)?"

// A handle's null value has a name; NULL: it is none, and shown as a number.
const char *mlt_handle_null_name(int class, uintptr_t value);

// "MPI_Send: argument datatype is 0x9, which is no valid datatype handle"; what: "datatype".
int mlt_bad_handle(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                   const char *what, uintptr_t value) MLT_COLD;
// "MPI_Send: argument count is -1, but should be at least 0"
int mlt_bad_value(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                  int64_t value, const char *should) MLT_COLD;
// "MPI_Send: argument dest is 17, but should be a rank from 0 to 3 of MPI_COMM_WORLD or
// MPI_PROC_NULL"; more: what else is allowed, " or MPI_PROC_NULL"
int mlt_bad_rank(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                 int64_t value, const char *more) MLT_COLD;
// "MPI_Send: argument datatype is a type that was not committed; call MPI_Type_commit first"
int mlt_bad_uncommitted(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name) MLT_COLD;
// "MPI_Comm_rank: argument rank is NULL, but should be ..."
int mlt_bad_null(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                 const char *should) MLT_COLD;
// A buffer of a call that is not collective is NULL or MPI_IN_PLACE: MPI_ERR_BUFFER.
int mlt_bad_buffer(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name, const void *buf,
                   const char *should) MLT_COLD;
// An output does not fit in an int: MPI_ERR_VALUE_TOO_LARGE.
int mlt_bad_narrow(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name,
                   int64_t value) MLT_COLD;
// A handle that lies where no memory is: nobody has made it.
int mlt_bad_wild(mlt_rank *me, uint16_t fn, int class, const char *name, const char *what,
                 uintptr_t value) MLT_COLD;
