// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends: messages wait in memory that the user attached to a communicator, a session or
// the process (here: the rank), or in memory of our own (MPI_BUFFER_AUTOMATIC). An attached buffer
// is a `void *` in its holder: mlt_comm_extra.buffer, mlt_session.buffer, mlt_mpi.buffer; NULL:
// none.
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

// MPI_Bsend: returns when the message has left or is in the buffer. dest: a rank in comm, not
// MPI_PROC_NULL. Returns a code; an error has been raised.
int mlt_bsend_send(mlt_rank *me, const void *buf, uint64_t count, const mlt_type *type, int dest,
                   int tag, mlt_comm *comm);

// For the end of a holder (MPI_Finalize, MPI_Session_finalize, MPI_Comm_free): waits until all
// messages have left its buffer, if it has one, and detaches that. May suspend.
void mlt_bsend_drop(mlt_rank *me, void **slot);

// Who has a buffer, as error messages name it.
typedef struct mlt_bsend_holder {
    void **slot;
    mlt_comm *comm; // for its error handler; NULL: none
    const char *name;
} mlt_bsend_holder;

mlt_bsend_holder mlt_bsend_process(mlt_rank *me);
mlt_bsend_holder mlt_bsend_comm(mlt_rank *me, mlt_comm *comm);
mlt_bsend_holder mlt_bsend_session(struct mlt_session *session);

// MPI_Buffer_attach, MPI_Comm_attach_buffer, MPI_Session_attach_buffer and the like. Detaching and
// flushing may suspend.
int mlt_bsend_attach(mlt_rank *me, mlt_bsend_holder h, void *address, MPI_Count bytes);
int mlt_bsend_detach(mlt_rank *me, mlt_bsend_holder h, void *address, MPI_Count *bytes);
int mlt_bsend_flush(mlt_rank *me, mlt_bsend_holder h);
int mlt_bsend_iflush(mlt_rank *me, mlt_bsend_holder h, MPI_Request *request);
