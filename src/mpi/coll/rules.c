// SPDX-License-Identifier: BSD-3-Clause
// Where a communicator's rules come from: the job's rule book (MILLET_COLL), what the job forces
// (MILLET_FORCE), the communicator's own info keys and the rule book that was loaded for it.
//
// Ranks of a communicator must choose alike. So whoever changes its rules first meets all its
// ranks: then every call before has begun everywhere, and none after it has. The first rank of a
// worker that comes out of the meeting changes what all of them share.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/choice.h"
#include "coll/intercept.h"
#include "coll/ledger.h"
#include "coll/path.h"
#include "coll/rulebook.h"
#include "coll/settings.h"
#include "coll/where.h"
#include "mpi/coll/change.h"
#include "mpi/coll/coll.h"
#include "mpi/coll/device.h"
#include "mpi/coll/outside.h"
#include "mpi/coll/reduce_to.h"
#include "mpi/intercept.h"
#include "mpi/self.h"
#include "os/sum.h"
#include "p2p/live.h"
#include "wire/transport.h"

enum { RULES_WHY = 4096 };

// mpirun has proven the rule book of its own host.
static void check_sum(const char *file)
{
    uint64_t sum;
    char text[MLT_SUM_BYTES];
    if (!mlt_coll_conf_now.sum || !mlt_coll_conf_now.sum[0])
        return;
    if (!mlt_os_sum(file, &sum))
        mlt_fatal("%s cannot be read: %m; every host needs the rule book that mpirun was given",
                  file);
    mlt_os_sum_text(sum, text);
    if (strcmp(text, mlt_coll_conf_now.sum) != 0)
        mlt_fatal(
            "%s is not the rule book that mpirun has read under this name: all hosts need the "
            "same, and it must not change while the job starts",
            file);
}

static bool remote_fits(const mlt_job *job, const mlt_coll_path *path, const mlt_coll_stage *s,
                        char *why, size_t why_size)
{
    uint32_t host;
    const char *names = mlt_coll_conf_now.hosts;
    const char *between = job->hosts < 2                           ? "shm"
                          : strncmp(mlt_tcp_fabric, "ofi", 3) == 0 ? "ofi"
                                                                   : "tcp";
    if (!mlt_coll_host_named(s->host, &host)) {
        bool known = names && names[0];
        return mlt_deny(why, why_size, "%s: remote: this job has no host '%s'%s%s", path->by,
                        s->host,
                        job->hosts < 2 ? ": it is on one host"
                        : known        ? "; its hosts are "
                                       : " whose name is known: mpirun tells up to 1024 of them",
                        job->hosts > 1 && known ? names : "");
    }
    bool automatic = job->hosts > 1 && strcmp(mlt_tcp_fabric, "auto") == 0;
    if (!s->protocol || strcmp(s->protocol, between) == 0 ||
        (automatic && strcmp(s->protocol, "shm") != 0))
        return true;
    return mlt_deny(why, why_size,
                    "%s: remote: %s does not reach host '%s': this job's hosts are connected "
                    "by %s%s",
                    path->by, s->protocol, s->host, between,
                    strcmp(s->protocol, "ofi") == 0 ? "; say mpirun --fabric ofi" : "");
}

bool mlt_coll_remotes_fit(const mlt_worker *worker, const mlt_coll_rulebook *rulebook, char *why,
                          size_t why_size)
{
    for (uint32_t i = 0; rulebook && i < rulebook->paths_count; i++) {
        const mlt_coll_path *path = &rulebook->paths[i];
        const mlt_coll_stage *s = mlt_coll_remote_stage(path->stages, path->count);
        if (s && !remote_fits(worker->boot->job, path, s, why, why_size))
            return false;
    }
    return true;
}

void mlt_coll_worker_init(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    const char *file = mlt_coll_conf_now.file, *force = mlt_coll_conf_now.force;
    char *why = mlt_xcalloc(RULES_WHY, 1);
    bool fine = true;
    if (file && file[0]) {
        if (!worker->boot->job->launched) // mpirun has proven it otherwise
            fine = mlt_coll_rulebook_check(file, why, RULES_WHY) == MLT_OK;
        else
            check_sum(file);
        fine = fine && mlt_coll_rulebook_open(file, &w->rulebook, why, RULES_WHY) == MLT_OK;
    }
    // One worker tells. A job that was spawned has the rule book of its parent, but its own hosts.
    if (worker->index == 0 && !worker->boot->parent)
        fine = fine && mlt_coll_remotes_fit(worker, w->rulebook, why, RULES_WHY);
    worker->rulebook = w->rulebook;
    if (fine && force && force[0])
        fine = mlt_coll_force_parse(force, w->rulebook, &w->forced, why, RULES_WHY) == MLT_OK;
    if (!fine)
        mlt_fatal("%s", why);
    free(why);
    w->ledger = mlt_xcalloc(1, sizeof *w->ledger);
    mlt_ledger_init(w->ledger);
    w->ledger->shown = mlt_live_here();
    w->ledger->measures = mlt_coll_conf_now.paths;
    bool paths = mlt_coll_conf_now.paths || (w->rulebook && w->rulebook->paths_count);
    w->ledger->choices = mlt_mpi_profiling || paths;
    if (paths)
        atomic_store_explicit(&mlt_coll_closely, true, memory_order_relaxed);
    w->ledger->interceptors = mlt_interceptors_new(w->rulebook, w->ledger);
    mlt_interceptors_set(w->ledger->interceptors);
    if (w->ledger->interceptors) {
        atomic_store_explicit(&mlt_interceptors_exist, true, memory_order_relaxed);
        atomic_store_explicit(&mlt_mpi_whole_detour, true, memory_order_relaxed);
        mlt_mpi_take_detour(MLT_DETOUR_USUAL);
    }
    mlt_outside_look(worker);
}

void mlt_coll_worker_fini(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    mlt_device_worker_fini(worker);
    free(w->forced);
    if (w->ledger->interceptors) { // what went along them after MPI_Finalize, or without it
        mlt_interceptors_report(w->ledger->interceptors);
        mlt_ledger_send(w->ledger, worker->boot->ctl, worker->index);
        mlt_interceptors_set(NULL);
        mlt_interceptors_free(w->ledger->interceptors);
    }
    mlt_ledger_fini(w->ledger);
    free(w->ledger);
    worker->rulebook = NULL;
    if (w->rulebook)
        w->rulebook->free(w->rulebook);
}

void mlt_coll_tell(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    if (w->world->team) // others have told when they were freed
        mlt_team_tell(w->world->team);
    mlt_interceptors_report(w->ledger->interceptors);
    mlt_ledger_send(w->ledger, worker->boot->ctl, worker->index);
}

// What a worker knows of a communicator's rules.
typedef struct rules {
    mlt_coll_sources sources; // shared->sources points here
    uint32_t changed;         // 1 and the number of the last change
    mlt_coll_rulebook *found; // read for the next one
    uint32_t found_at;        // 1 and its number
    mlt_coll_rulebook **old;  // loaded before: answers of them may be in use
    uint32_t old_count;
    uint32_t taken, taken_at; // from outside (outside.h): the last change, and by which call
} rules;

static rules *rules_of(mlt_comm *comm)
{
    return (rules *)mlt_comm_sources(comm);
}

mlt_coll_sources *mlt_comm_sources(mlt_comm *comm)
{
    mlt_comm_shared *shared = mlt_comm_shared_of(comm);
    if (!shared->sources) {
        const mlt_mpi_worker *w = mlt_mpi_worker_of(comm->owner);
        rules *r = mlt_xcalloc(1, sizeof *r);
        if (!shared->foreign) { // other jobs may have other rules
            r->sources.forced = w->forced;
            r->sources.rulebook = w->rulebook;
        }
        shared->sources = &r->sources;
        if (comm->extra)
            mlt_coll_info_apply(shared->sources, comm->extra->info);
    }
    return shared->sources;
}

bool mlt_comm_rules_first(mlt_comm *comm, uint32_t number)
{
    rules *r = rules_of(comm);
    bool first = r->changed != number + 1;
    r->changed = number + 1;
    return first;
}

mlt_coll_rulebook **mlt_comm_rules_found(mlt_comm *comm, uint32_t number)
{
    rules *r = rules_of(comm);
    if (r->found_at != number + 1)
        mlt_assert(!r->found);
    r->found_at = number + 1;
    return &r->found;
}

void mlt_comm_rules_load(mlt_comm *comm, mlt_coll_rulebook *rulebook)
{
    rules *r = rules_of(comm);
    mlt_coll_rulebook *before = mlt_coll_sources_load(&r->sources, rulebook);
    if (before) {
        r->old = mlt_xrealloc(r->old, r->old_count + 1ull, sizeof *r->old);
        r->old[r->old_count++] = before;
    }
    if (rulebook && rulebook->paths_count) {
        mlt_mpi_worker_of(comm->owner)->ledger->choices = true;
        atomic_store_explicit(&mlt_coll_closely, true, memory_order_relaxed);
    }
}

bool mlt_comm_rules_take(mlt_comm *comm, uint32_t change, uint32_t call)
{
    rules *r = rules_of(comm);
    if (r->taken == change)
        return r->taken_at == call;
    r->taken = change;
    r->taken_at = call;
    return true;
}

void mlt_comm_sources_free(mlt_coll_sources *sources)
{
    if (!sources)
        return;
    mlt_coll_rulebook *rulebook = mlt_coll_sources_load(sources, NULL);
    if (rulebook)
        rulebook->free(rulebook);
    mlt_coll_sources_fini(sources);
    rules *r = (rules *)sources;
    for (uint32_t i = 0; i < r->old_count; i++)
        r->old[i]->free(r->old[i]);
    free(r->old);
    free(r);
}

void mlt_comm_refresh(mlt_comm *comm, bool first)
{
    if (first && comm->shared->team)
        mlt_team_refresh(comm->shared->team);
    if (comm->extra && comm->extra->flat)
        mlt_team_refresh(comm->extra->flat);
    if (comm->extra)
        mlt_reduce_tos_each(comm->extra->reduce_to, mlt_team_refresh);
}
