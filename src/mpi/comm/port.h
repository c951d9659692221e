// SPDX-License-Identifier: BSD-3-Clause
// Ports: how two groups of ranks that share no communicator get an intercommunicator. One side opens
// a port, whose name is a text, and accepts; whoever has the name connects. They may be of two jobs,
// or of one.
//
// The functions below are what MPI_Open_port and the like are made of, for other parts of MPI that
// connect jobs. None of them calls an error handler: they say what went wrong, and the caller raises
// it. docs/internals/dynamic.md says how it works.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

enum { MLT_PORT_WHY = 512 };

// How long the root waits for the other side. Only the root's is looked at.
typedef struct mlt_port_wait {
    int64_t timeout_ns; // less than 0: for ever
    // A descriptor; less than 0: none. If it can be read from, or has ended, before the other side
    // is there, the call ends with `stopped`. Nothing is read from it.
    int stop;
    // An error class, and why: the root's arguments are wrong, and the call ends with that on all
    // ranks. MPI_SUCCESS: they are fine.
    int refused;
    const char *why;
} mlt_port_wait;

// What came of it: the same on all ranks of the communicator, except comm.
typedef struct mlt_port_result {
    mlt_comm *comm;         // the intercommunicator, the caller's; NULL: there is none
    int error;              // MPI_SUCCESS, or a class: MPI_ERR_PORT, MPI_ERR_OTHER ...
    bool stopped;           // by mlt_port_wait.stop; error is MPI_ERR_PORT
    char why[MLT_PORT_WHY]; // one sentence, if error is not MPI_SUCCESS
} mlt_port_result;

// Opens a port of the calling rank. It stays until it is closed or the rank's process ends. The
// name holds a secret: whoever has it may connect. Parks the rank for a moment. Returns an error
// class, with a sentence in why.
int mlt_port_open(mlt_rank *me, char name[MPI_MAX_PORT_NAME], char why[MLT_PORT_WHY]);

// Closes it. Who waits in accept gets MPI_ERR_PORT, and who connects later, too. Any rank of the
// process that has opened it may call it.
int mlt_port_close(mlt_rank *me, const char *name, char why[MLT_PORT_WHY]);

// Meets the other side at a port. Who accepts waits until somebody connects to the port, which rank
// `root` of comm has opened (or another rank of its process); connections queue, and each accept takes
// one. Who connects waits until the other side accepts. Collective over comm, an intracommunicator;
// name and wait (NULL: for ever) are looked at on the root only. Parks the rank: other ranks of its
// worker go on.
void mlt_port_meet(mlt_rank *me, mlt_comm *comm, int root, bool accepts, const char *name,
                   const mlt_port_wait *wait, mlt_port_result *result);

// MPI_Comm_accept and MPI_Comm_connect.
int mlt_port_meet_at(mlt_rank *me, const char *port_name, MPI_Info handle, int root, mlt_comm *comm,
                     MPI_Comm *newcomm, bool accepts);
