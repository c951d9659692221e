// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests: the user completes them, and MPI calls the user's functions when their
// status is asked for, when they are freed, and when they are cancelled. A request of this kind is
// a MLT_REQ_OTHER with MLT_REQF_GENERALIZED.
//
// The user's functions may call MPI and may suspend. They are called without any lock, and me->fn
// is afterwards what it was before.
#pragma once

#include <mpi.h>

#include "mpi/p2p/request.h"

// All return what the user's function returned, and raise nothing. status may be MPI_STATUS_IGNORE.

// The status of a request that is done.
int mlt_grequest_query(mlt_rank *me, mlt_req *req, MPI_Status *status) MLT_COLD;

// The end of it: the request itself is still to be given back.
int mlt_grequest_free(mlt_rank *me, mlt_req *req) MLT_COLD;

// Both, for a call that completes it: an error of the last one counts, else that of the first.
int mlt_grequest_finish(mlt_rank *me, mlt_req *req, MPI_Status *status) MLT_COLD;

int mlt_grequest_cancel(mlt_rank *me, mlt_req *req) MLT_COLD;
