// SPDX-License-Identifier: BSD-3-Clause
// Requests that work on copies of Fortran's sections with gaps (MLT_REQF_COPIES, mpi/fortran.h):
// collective operations and partitioned messages, where no datatype can say where the elements lie.
//
// A copy goes back to its section once for each start, by the call that first shows the program that
// the operation is done; a partition, once MPI_Parrived has seen it or all are there. Only the rank
// itself and, for partitions, its threads come here.
#pragma once

#include <stdint.h>

#include "p2p/p2p.h"

// Before a start of a persistent request: the sections as they are now.
void mlt_copies_start(mlt_req *req);

// The request is done: its results go to the sections, unless they are there.
void mlt_copies_end(mlt_req *req);

// The request goes.
void mlt_copies_free(mlt_req *req);

// Partitions that the program has made ready, and one that has arrived.
void mlt_copies_ready(mlt_req *req, uint32_t low, uint32_t high);
void mlt_copies_arrived(mlt_req *req, uint32_t partition);
