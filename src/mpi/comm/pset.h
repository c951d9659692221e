// SPDX-License-Identifier: BSD-3-Clause
// Process sets: names for groups of ranks that the job knows.
//
//     mpi://WORLD            all ranks of the job
//     mpi://SELF             the caller
//     millet://host/N        those on host N of the job; millet://host: on the caller's
//     millet://app/N         those of part N of mpirun's command line (MPI_APPNUM)
//     millet://process/N     those in process N of the job
//     millet://worker/N      those in worker N of the job: they share a thread
//
// Ranks are numbered in blocks, so every set is a function without a table, unless hosts take turns
// (mpirun --map-by node). A rank lists the sets
// that it is in; it may ask for any by name. Case does not matter, as in the scheme of a URI.
#pragma once

#include "mpi/comm/map.h"
#include "p2p/p2p.h"

enum { MLT_PSETS = 6 }; // that a rank lists

// The ranks of a process set; NULL: there is none of that name. The caller drops the map.
mlt_map *mlt_pset_map(mlt_rank *me, const char *name);

// The name of the n-th set that the rank is in, 0 to MLT_PSETS - 1.
enum { MLT_PSET_NAME = 48 };
void mlt_pset_name(mlt_rank *me, int n, char name[MLT_PSET_NAME]);
