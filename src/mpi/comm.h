// SPDX-License-Identifier: BSD-3-Clause
// A communicator as one rank sees it. MPI_COMM_WORLD (context 0) and MPI_COMM_SELF (context 2) lie
// in the rank's mlt_mpi; others will come from the worker's pool. `context` is for point-to-point
// messages, `context + 1` for what the library itself sends (collectives). Everything that few
// communicators have is in `extra`, made when needed: a million ranks hold two of these each.
#ifndef MLT_MPI_COMM_H
#define MLT_MPI_COMM_H

#include <mpi.h>
#include <stdint.h>

#include "p2p/p2p.h"

enum {
    MLT_COMM_MAGIC = 0x00c0113c,
    MLT_CONTEXT_WORLD = 0,
    MLT_CONTEXT_SELF = 2,
};

// World ranks that follow no rule; shared and counted between the ranks of a worker.
typedef struct mlt_comm_map {
    uint32_t refs;
    int32_t world[];
} mlt_comm_map;

// What few communicators have.
typedef struct mlt_comm_extra {
    char *name;   // MPI_Comm_set_name's; NULL: the predefined name
    void *buffer; // MPI_Comm_attach_buffer's (buffer.c)
} mlt_comm_extra;

typedef struct mlt_comm {
    uint32_t magic; // MLT_COMM_MAGIC while it lives
    uint32_t context;
    int32_t rank, size;        // own rank, number of ranks
    int32_t base, stride;      // rank r is world rank base + r * stride, unless map says
    MPI_Errhandler errhandler; // predefined or a mlt_errhandler; a counted reference
    mlt_comm_map *map;         // NULL: linear
    mlt_comm_extra *extra;     // NULL: none
} mlt_comm;
_Static_assert(sizeof(mlt_comm) <= 48, "a million ranks hold two each");

static inline int32_t mlt_comm_world_rank(const mlt_comm *comm, int rank)
{
    return MLT_UNLIKELY(comm->map != NULL) ? comm->map->world[rank]
                                           : comm->base + rank * comm->stride;
}

// For hang reports: the world rank of `peer` in the communicator of that context.
int32_t mlt_comm_context_world_rank(const mlt_rank *rank, uint32_t context, int32_t peer);

// The communicator's extra part, made if it was not there.
mlt_comm_extra *mlt_comm_extra_of(mlt_comm *comm);

// The handle that the user knows it by.
MPI_Comm mlt_comm_handle(mlt_rank *me, mlt_comm *comm);

// Its name, for sentences: "MPI_COMM_WORLD". Never NULL.
const char *mlt_comm_name(mlt_rank *me, const mlt_comm *comm);

#endif
