// SPDX-License-Identifier: BSD-3-Clause
// Rules of a communicator that change between calls: its info keys millet_coll_COLLECTIVE, and
// MPIX_Coll_load.
//
// All ranks must choose alike, so they agree first, by an allreduce of the library's own, which no
// rank leaves before all have come. They compare a hash of what each says, and whether a rank finds
// a fault with it. If one does, its message goes to all, and nothing changes.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/choice.h"
#include "coll/intercept.h"
#include "coll/ledger.h"
#include "coll/path.h"
#include "coll/rulebook.h"
#include "mpi/coll/change.h"
#include "mpi/coll/coll.h"
#include "mpi/coll/device.h"
#include "mpi/coll/op.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "os/sum.h"

enum { CHANGE_WHY = MLT_CHANGE_WHY, AGREED = 3 };

// ---- agreeing

static int run_plain(mlt_rank *me, mlt_comm *comm, mlt_coll_job *job)
{
    job->comm = comm;
    job->what.plain = true;
    return mlt_coll_go(me, job, MLT_BLOCKING);
}

static int greatest(mlt_rank *me, mlt_comm *comm, uint64_t values[AGREED])
{
    mlt_coll_job job = {.what = {.collective = MLT_COLL_ALLREDUCE, .count = AGREED}};
    const mlt_type *type = mlt_type_coded((uintptr_t)MPI_UINT64_T);
    uint64_t out[AGREED];
    int code;
    if (!mlt_op_of(me, comm, MPI_MAX, type, &job.op, &code))
        return code;
    job.what.op = &job.op;
    job.what.element = job.op.element;
    job.in = (mlt_coll_side){.buf = values, .type = type, .blocks = 1, .count = AGREED};
    job.out = (mlt_coll_side){.buf = out, .type = type, .blocks = 1, .count = AGREED};
    job.writes_out = true;
    code = run_plain(me, comm, &job);
    memcpy(values, out, sizeof out);
    return code;
}

static int spread_sentence(mlt_rank *me, mlt_comm *comm, uint32_t from, char why[CHANGE_WHY])
{
    bool mine = (uint32_t)mlt_comm_order(comm) == from;
    mlt_coll_job job = {
        .what = {.collective = MLT_COLL_BCAST, .root = from, .element = 1, .count = CHANGE_WHY},
        .out = {.buf = why, .type = MLT_TYPE_BYTE, .blocks = 1, .count = CHANGE_WHY},
        .reads_out = mine,
        .writes_out = !mine,
    };
    return run_plain(me, comm, &job);
}

// Calls that are on their way along a path ask for their rules when they have come to its end.
static void wait_for_walks(mlt_rank *me, mlt_comm *comm)
{
    const mlt_team *team = comm->inter ? NULL : mlt_comm_team(comm);
    const mlt_team *flat = comm->extra ? comm->extra->flat : NULL;
    while ((team && mlt_paths_walking(team)) || (flat && mlt_paths_walking(flat)))
        mlt_p2p_poll(me);
}

// All ranks give the same hash and no message in why: `why` stays empty. Else it has the same message
// on all of them, that of the lowest rank that has one. file: what was read; NULL: nothing. An MPI
// code, raised, if that fails.
static int change_compare(mlt_rank *me, mlt_comm *comm, uint64_t hash, const char *file,
                          char why[CHANGE_WHY])
{
    uint64_t own = why[0] ? UINT32_MAX - (uint64_t)mlt_comm_order(comm) : 0;
    uint64_t all[AGREED] = {hash, ~hash, own};
    mlt_device_settle(me, comm);
    wait_for_walks(me, comm);
    int code = greatest(me, comm, all);
    if (code != MPI_SUCCESS)
        return code;
    uint32_t from = UINT32_MAX - (uint32_t)all[2];
    if (all[2] && (code = spread_sentence(me, comm, from, why)) != MPI_SUCCESS)
        return code;
    char *said = all[2] ? strdup(why) : NULL;
    if (all[2])
        snprintf(why, CHANGE_WHY, "rank %u of %s: %s", from, mlt_comm_name(me, comm),
                 said ? said : "");
    else if (all[0] != ~all[1])
        snprintf(why, CHANGE_WHY, "the ranks of %s do not say the same%s%s%s: nothing is changed",
                 mlt_comm_name(me, comm), file ? ", or " : "", file ? file : "",
                 file ? " is not the same on all hosts" : "");
    free(said);
    return MPI_SUCCESS;
}

// The same; a message is raised as an error of that class.
static int change_agree(mlt_rank *me, mlt_comm *comm, int class, uint64_t hash,
                        char why[CHANGE_WHY])
{
    int code = change_compare(me, comm, hash, NULL, why);
    if (code == MPI_SUCCESS && why[0])
        code = mlt_mpi_raise(me, comm, me->fn, class, "%s", why);
    return code;
}

// ---- info keys

static const char change_prefix[] = "millet_coll_";

mlt_collective mlt_coll_key(const char *key)
{
    size_t n = sizeof change_prefix - 1;
    return strncmp(key, change_prefix, n) == 0 ? mlt_collective_named(key + n, strlen(key + n))
                                               : MLT_COLLECTIVES;
}

// The value of a collective's key; NULL: the info has none.
static const char *said_of(const mlt_info *info, mlt_collective collective)
{
    char key[64];
    snprintf(key, sizeof key, "%s%s", change_prefix, mlt_collective_names[collective]);
    return mlt_info_get(info, key);
}

bool mlt_coll_info_says(const mlt_info *info)
{
    for (uint32_t c = 0; info && c < MLT_COLLECTIVES; c++)
        if (said_of(info, (mlt_collective)c))
            return true;
    return false;
}

// What is wrong with a value, into why; "": nothing.
static void try_values(mlt_comm *comm, const mlt_info *info, char why[CHANGE_WHY])
{
    mlt_coll_sources *own = mlt_comm_sources(comm);
    mlt_coll_sources trial = {.own_rulebook = own->own_rulebook, .rulebook = own->rulebook};
    why[0] = '\0';
    for (uint32_t c = 0; c < MLT_COLLECTIVES && !why[0]; c++) {
        const char *value = said_of(info, (mlt_collective)c);
        if (value &&
            mlt_coll_sources_say(&trial, (mlt_collective)c, value, why, CHANGE_WHY) == MLT_OK)
            why[0] = '\0';
    }
    mlt_coll_sources_fini(&trial);
}

int mlt_coll_info_check(mlt_rank *me, mlt_comm *comm, const mlt_info *info)
{
    char why[CHANGE_WHY];
    if (!mlt_coll_info_says(info))
        return MPI_SUCCESS;
    try_values(comm, info, why);
    return why[0] ? mlt_mpi_raise(me, comm, me->fn, MPI_ERR_INFO_VALUE, "%s", why) : MPI_SUCCESS;
}

void mlt_coll_info_apply(mlt_coll_sources *sources, const mlt_info *info)
{
    char why[CHANGE_WHY];
    for (uint32_t c = 0; info && c < MLT_COLLECTIVES; c++) {
        const char *value = said_of(info, (mlt_collective)c);
        if (value) // it has been tried
            (void)!mlt_coll_sources_say(sources, (mlt_collective)c, value, why, sizeof why);
    }
}

static uint64_t hash_info(const mlt_info *info)
{
    uint64_t h = 1;
    for (uint32_t c = 0; c < MLT_COLLECTIVES; c++) {
        const char *value = said_of(info, (mlt_collective)c);
        if (value)
            h = mlt_comm_hash(h + c, value, strlen(value) + 1);
    }
    return h;
}

int mlt_coll_info_set(mlt_rank *me, mlt_comm *comm, const mlt_info *info)
{
    char why[CHANGE_WHY];
    if (!mlt_coll_info_says(info))
        return MPI_SUCCESS;
    mlt_comm_shared_of(comm);
    try_values(comm, info, why);
    int code = change_agree(me, comm, MPI_ERR_INFO_VALUE, hash_info(info), why);
    if (code != MPI_SUCCESS)
        return code;
    bool first = mlt_comm_rules_first(comm, comm->coll_calls);
    if (first)
        mlt_coll_info_apply(mlt_comm_sources(comm), info);
    mlt_comm_refresh(comm, first);
    return MPI_SUCCESS;
}

// ---- rule books

// Reading and proving a rule book wants a stack that a rank may not have.
typedef struct reading {
    const mlt_worker *worker;
    const char *file;
    bool proves;
    mlt_coll_rulebook *rulebook; // NULL: it is proven only
    char *why;
    bool fine;
} reading;

static void *read_rulebook(void *arg)
{
    reading *r = arg;
    r->fine = (!r->proves || mlt_coll_rulebook_check(r->file, r->why, CHANGE_WHY) == MLT_OK) &&
              mlt_coll_rulebook_open(r->file, &r->rulebook, r->why, CHANGE_WHY) == MLT_OK;
    if (r->fine &&
        r->rulebook->interceptors_count) { // they are each worker's, not the communicator's
        snprintf(r->why, CHANGE_WHY,
                 "%s: paths of messages, windows and the like stand in the job's rule book only: "
                 "mpirun --coll",
                 r->rulebook->interceptors[0].by);
        r->fine = false;
    } else if (r->fine)
        r->fine = mlt_coll_remotes_fit(r->worker, r->rulebook, r->why, CHANGE_WHY);
    if (!r->fine && r->rulebook) {
        r->rulebook->free(r->rulebook);
        r->rulebook = NULL;
    }
    return NULL;
}

static void read_apart(reading *r)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, read_rulebook, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        snprintf(r->why, CHANGE_WHY, "%s: there is no thread to read it: %s", r->file,
                 strerror(error));
    else
        pthread_join(thread, NULL);
}

// What the file holds, as all processes must find it.
static uint64_t hash_file(const char *file, char why[CHANGE_WHY])
{
    uint64_t sum = 0;
    if (!mlt_os_sum(file, &sum))
        snprintf(why, CHANGE_WHY, "%s cannot be read: %m", file);
    return sum | 1; // not that of none
}

bool mlt_coll_load_rulebook(mlt_rank *me, mlt_comm *comm, const char *file, char why[CHANGE_WHY],
                            int *code)
{
    uint64_t hash = 0;
    why[0] = '\0';
    mlt_comm_shared_of(comm);
    // The worker's first one reads for all its ranks, the communicator's first one proves.
    mlt_coll_rulebook **found = mlt_comm_rules_found(comm, comm->coll_calls);
    if (file)
        hash = hash_file(file, why);
    if (file && !why[0] && (!*found || comm->rank == 0)) {
        reading r = {.worker = me->worker, .file = file, .proves = comm->rank == 0, .why = why};
        read_apart(&r);
        if (r.fine)
            why[0] = '\0';
        if (r.rulebook && *found)
            r.rulebook->free(r.rulebook);
        else if (r.rulebook)
            *found = r.rulebook;
    }
    *code = change_compare(me, comm, hash, file, why);
    bool fine = *code == MPI_SUCCESS && !why[0],
         first = mlt_comm_rules_first(comm, comm->coll_calls);
    if (first) {
        mlt_coll_rulebook *rulebook = *found;
        *found = NULL;
        if (fine)
            mlt_comm_rules_load(comm, rulebook);
        else if (rulebook)
            rulebook->free(rulebook);
    }
    if (fine)
        mlt_comm_refresh(comm, first);
    return fine;
}

int mlt_mpi_Coll_load(mlt_rank *me, mlt_comm *comm, const char *file)
{
    char why[CHANGE_WHY];
    int code;
    if (comm->inter)
        return mlt_comm_bad_inter(me, comm, "comm");
    if (!mlt_coll_load_rulebook(me, comm, file, why, &code) && code == MPI_SUCCESS)
        code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG, "%s", why);
    return code;
}
