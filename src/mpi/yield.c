// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Yield, and FG-MPI's way to run a different function in each rank. With Millet every rank
// runs main anyway, so FGmpiexec only looks up the calling rank's function and calls it.
#include <fgmpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/entry.h"
#include "mpi/error.h"
#include "mpi/self.h"
#include "mpi/thread.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int MPIX_Yield(void)
{
    mlt_rank *me = mlt_rank_self();
    if (me) {
        mlt_gate *gate = mlt_thread_lock(me);
        mlt_p2p_poll(me);
        mlt_thread_unlock(gate);
    }
    return MPI_SUCCESS;
}

// The rank that asks. FG-MPI's bindings run before MPI_Init.
static int own_rank(void)
{
    mlt_rank *me = mlt_entry_rank();
    if (!me)
        mlt_mpi_abort(NULL, 1, "FGmpiexec was called by a thread that is no rank");
    return me->world;
}

static int call(FG_ProcessPtr_t process, int *argc, char ***argv)
{
    if (!process)
        mlt_mpi_abort(mlt_rank_self(), 1, "FGmpiexec: the binding has no function for this rank");
    return process(*argc, *argv);
}

EXPORT int FGmpiexec_map(int *argc, char ***argv, FG_MapPtr_t map)
{
    return call(map(*argc, *argv, own_rank()), argc, argv);
}

EXPORT int FGmpiexec_lookup(int *argc, char ***argv, LookupMapPtr_t lookup)
{
    char *name = getenv("FGMAP"), none[] = "";
    FG_MapPtr_t map = lookup(*argc, *argv, name ? name : none);
    if (!map)
        mlt_mpi_abort(mlt_rank_self(), 1,
                      "FGmpiexec: the lookup function knows no binding of this name");
    return FGmpiexec_map(argc, argv, map);
}

EXPORT int FGmpiexec_rank(int *argc, char ***argv, FG_RankMapPtr_t map)
{
    return call(map(own_rank()), argc, argv);
}
