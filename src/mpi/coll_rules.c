// SPDX-License-Identifier: BSD-3-Clause
// Where a communicator's rules come from: the job's book (MILLET_COLL), what the job forces
// (MILLET_FORCE), the communicator's own info keys and the book that was loaded for it.
//
// Ranks of a communicator must choose alike. So whoever changes its rules first meets all its
// ranks: then every call before has begun everywhere, and none after it has. The first rank of a
// worker that comes out of the meeting changes what all of them share.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "boot/job.h"
#include "coll/book.h"
#include "coll/choice.h"
#include "coll/ledger.h"
#include "coll/path.h"
#include "coll/settings.h"
#include "mpi/coll.h"
#include "mpi/comm_int.h"
#include "mpi/self.h"

enum { WHY = 4096 };

void mlt_coll_worker_init(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    const char *file = mlt_coll_conf_now.file, *force = mlt_coll_conf_now.force;
    char *why = mlt_take(WHY, 1);
    bool fine = true;
    if (file && file[0]) {
        if (!worker->boot->job->launched) // mpirun has proven it otherwise
            fine = mlt_coll_book_check(file, why, WHY) == MLT_OK;
        fine = fine && mlt_coll_book_open(file, &w->book, why, WHY) == MLT_OK;
    }
    if (fine && force && force[0])
        fine = mlt_coll_force_parse(force, w->book, &w->forced, why, WHY) == MLT_OK;
    if (!fine)
        mlt_fatal("%s", why);
    free(why);
    w->ledger = mlt_take(1, sizeof *w->ledger);
    mlt_ledger_init(w->ledger);
    w->ledger->measures = mlt_coll_conf_now.paths;
    bool paths = mlt_coll_conf_now.paths || (w->book && w->book->paths_count);
    w->ledger->choices = mlt_mpi_profiling || paths;
    if (paths)
        atomic_store_explicit(&mlt_paths_exist, true, memory_order_relaxed);
}

void mlt_coll_worker_fini(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    free(w->forced);
    mlt_ledger_fini(w->ledger);
    free(w->ledger);
    if (w->book)
        w->book->free(w->book);
}

void mlt_coll_tell(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    if (w->world->team) // others have told when they were freed
        mlt_team_tell(w->world->team);
    mlt_ledger_send(w->ledger, worker->boot->ctl, worker->index);
}

mlt_coll_sources *mlt_comm_sources(mlt_comm *comm)
{
    mlt_comm_shared *shared = mlt_comm_shared_of(comm);
    if (!shared->sources) {
        const mlt_mpi_worker *w = mlt_mpi_worker_of(comm->owner);
        shared->sources = mlt_take(1, sizeof *shared->sources);
        shared->sources->forced = w->forced;
        shared->sources->book = w->book;
    }
    return shared->sources;
}

void mlt_comm_sources_free(mlt_coll_sources *sources)
{
    if (!sources)
        return;
    mlt_coll_book *book = mlt_coll_sources_load(sources, NULL);
    if (book)
        book->free(book);
    mlt_coll_sources_fini(sources);
    free(sources);
}

void mlt_comm_refresh(mlt_comm *comm)
{
    if (comm->shared->team)
        mlt_team_refresh(comm->shared->team);
    if (comm->extra && comm->extra->flat)
        mlt_team_refresh(comm->extra->flat);
}
