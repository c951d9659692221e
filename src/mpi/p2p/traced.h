// SPDX-License-Identifier: BSD-3-Clause
// Calls whose messages a trace tells cheaply: one note a call, which says what became of its message.
// Everything else that a trace hears goes by mlt_mpi_trace_saw.
#pragma once

#include <mpi.h>

#include "mpi/comm/comm.h"
#include "mpi/trace.h"

// As the bodies of these names, for a rank that mlt_mpi_only_traced.
int mlt_traced_Send(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int dest,
                    int tag, mlt_comm *comm);
int mlt_traced_Recv(mlt_rank *me, void *buf, MPI_Count count, const mlt_type *type, int source,
                    int tag, mlt_comm *comm, MPI_Status *status);
int mlt_traced_Sendrecv(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                        const mlt_type *sendtype, int dest, int sendtag, void *recvbuf,
                        MPI_Count recvcount, const mlt_type *recvtype, int source, int recvtag,
                        mlt_comm *comm, MPI_Status *status);
