// SPDX-License-Identifier: BSD-3-Clause
// What the layers below ask of MPI (base/upcalls.h) and no other file answers.
#pragma once

#include "p2p/p2p.h"

// mlt_upcalls.join: the first call of csp.h joins the job as MPI_Init would, in programs with and
// without MPI.
mlt_rank *mlt_mpi_join(void);

// mlt_upcalls.refused.
void mlt_mpi_refused(const char *call, const char *what);
