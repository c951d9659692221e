// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends: messages wait in memory that the user attached to a communicator, a session or
// the process (here: the rank), or in memory of our own (MPI_BUFFER_AUTOMATIC). An attached buffer
// is a `void *` in its holder: mlt_comm_extra.buffer, mlt_session.buffer, mlt_mpi.buffer; NULL:
// none.
#pragma once

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
