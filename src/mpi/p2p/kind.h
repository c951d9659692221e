// SPDX-License-Identifier: BSD-3-Clause
// Messages that are received as another type than they were sent as (p2p/kind.h).
#pragma once

#include "p2p/p2p.h"

// mlt_upcalls.kind_differs.
void mlt_mpi_kind_differs(mlt_req *recv);

// A code for a receive with status MLT_ERR_DISAGREE. `of`: " of MPI_Irecv", or nothing.
int mlt_mpi_kind_code(mlt_rank *me, const mlt_req *recv, const char *of) MLT_COLD;
