// SPDX-License-Identifier: BSD-3-Clause
// The job that has spawned this one: a child connects to it in MPI_Init.
#pragma once

#include "p2p/p2p.h"

// MPI_Init of a rank whose job was spawned: makes the communicator of MPI_Comm_get_parent.
// Collective over MPI_COMM_WORLD; may suspend. An MPI code, raised.
int mlt_dyn_connect_parent(mlt_rank *me, uint16_t fn);
