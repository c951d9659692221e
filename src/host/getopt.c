// SPDX-License-Identifier: BSD-3-Clause
#include "host/getopt.h"

#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "boot/job.h"
#include "host/entry.h"
#include "host/globals.h"
#include "host/libc.h"
#include "host/life.h"
#include "host/own.h"
#include "os/os.h"

#define MS UINT64_C(1000000)

// A worker that computes without looking at its options is not waited for; one that parses, or
// does something between its options and MPI_Init, is.
static const uint64_t idle_ns = 100 * MS, parse_ns = 10000 * MS, nap_ns = MS;

// A rank's values.
typedef struct mlt_getopt {
    bool met; // it has waited for the others
    int optind, opterr, optopt;
    char *optarg;
} mlt_getopt;

enum { NOBODY = UINT32_MAX };

// Everything under `lock`. The variables of getopt belong to the worker that has the turn.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t turn;     // the worker that parses, or NOBODY
    bool turn_in_mpi;  // ... and has initialised MPI: it may wait for others
    bool over;         // all have met, or were waited for long enough
    bool noted;        // somebody came late, and was told
    bool *settled;     // [workers of the job]: all its ranks are there
    mlt_getopt *owner; // whose values the variables have; NULL: nobody's
    mlt_getopt kept;   // of a call of a rank with its own variables: the first rank's values
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .turn = NOBODY};

// Ranks of this thread's worker that wait for all others. The first one watches, the others sleep.
typedef struct sleeper {
    mlt_fiber *fiber;
    struct sleeper *next;
} sleeper;

static _Thread_local bool watched;
static _Thread_local sleeper *sleepers;

static const mlt_job_proc *proc_of(const mlt_rank *me)
{
    return mlt_job_proc_at(me->worker->boot->job, me->worker->boot->proc);
}

static bool has_threads(const mlt_rank *me)
{
    return proc_of(me)->workers > 1;
}

// ---- the turn

static void nap(void)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)nap_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&all.changed, &all.lock, &until);
}

static void note_late(const mlt_rank *me)
{
    if (!all.noted)
        mlt_log("note: rank %d parses its options with getopt while ranks on other threads of its "
                "process may read theirs, and they share optind and optarg; parse once, before "
                "MPI_Init, or start with --workers process",
                me->world);
    all.noted = true;
}

static void take_turn(const mlt_rank *me)
{
    uint32_t own = me->worker->index;
    uint64_t start = mlt_os_now_ns();
    pthread_mutex_lock(&all.lock);
    while (all.turn != NOBODY && all.turn != own &&
           mlt_os_now_ns() - start < (all.turn_in_mpi ? idle_ns : parse_ns))
        nap();
    if (all.owner && (all.over || (all.turn != NOBODY && all.turn != own)))
        note_late(me);
    all.turn = own;
    all.turn_in_mpi = mlt_thread_is_ready(me);
    pthread_mutex_unlock(&all.lock);
}

static void give_turn(uint32_t own)
{
    if (all.turn != own)
        return;
    all.turn = NOBODY;
    pthread_cond_broadcast(&all.changed);
}

// ---- the meeting

static bool is_settled(mlt_job *job, uint32_t worker)
{
    mlt_worker_sleep sleep = mlt_job_sleep_of(mlt_job_worker_at(job, worker));
    atomic_thread_fence(memory_order_acquire); // a worker that sleeps has no rank that runs
    return all.settled[worker] || sleep == MLT_WORKER_ASLEEP || sleep == MLT_WORKER_LISTENS ||
           sleep == MLT_WORKER_ENDED;
}

static bool are_settled(const mlt_rank *me)
{
    const mlt_job_proc *proc = proc_of(me);
    for (uint32_t i = 0; i < proc->workers; i++)
        if (!is_settled(me->worker->boot->job, proc->first_worker + i))
            return false;
    return true;
}

static void settle(const mlt_rank *me)
{
    if (!all.settled)
        all.settled = mlt_take(me->worker->boot->job->workers, sizeof *all.settled);
    all.settled[me->worker->index] = true;
    give_turn(me->worker->index);
}

// Lets the other ranks of the worker go first, then waits for the other workers.
static void watch(mlt_rank *me)
{
    const mlt_sched *sched = me->worker->sched;
    uint64_t start = mlt_os_now_ns(), idle_since = 0; // nobody has parsed since
    bool over = false;
    while (!over) {
        if (!sched->gate)
            mlt_p2p_poll(me);
        uint64_t now = mlt_os_now_ns();
        if ((sched->runnable || sched->ahead) && now - start < parse_ns)
            continue;
        pthread_mutex_lock(&all.lock);
        if (!idle_since || all.turn != NOBODY)
            idle_since = now;
        settle(me);
        all.over |= are_settled(me) || now - idle_since > idle_ns || now - start > parse_ns;
        over = all.over;
        if (over)
            pthread_cond_broadcast(&all.changed);
        else
            nap();
        pthread_mutex_unlock(&all.lock);
    }
}

static void meet(mlt_rank *me)
{
    static const mlt_wait wait = {.call = "getopt", .kind = MLT_WAIT_OTHER};
    mlt_sched *sched = me->worker->sched;
    if (watched) {
        sleeper here = {.fiber = sched->current, .next = sleepers};
        sleepers = &here;
        mlt_fiber_park(sched, &wait);
        return;
    }
    watched = true;
    watch(me);
    watched = false;
    for (sleeper *s = sleepers, *next; s; s = next) {
        next = s->next; // it is on the stack of whoever is woken
        mlt_fiber_wake(sched, s->fiber);
    }
    sleepers = NULL;
}

static bool are_own(void);

static void meet_once(mlt_rank *me, mlt_getopt *place)
{
    if (!place->met)
        meet(me);
    place->met = true;
    pthread_mutex_lock(&all.lock);
    give_turn(me->worker->index);
    pthread_mutex_unlock(&all.lock);
}

void mlt_getopt_init_done(mlt_rank *me)
{
    mlt_rank_own *own = me->own;
    if (own && own->options && has_threads(me) && !are_own())
        meet_once(me, own->options);
}

void mlt_getopt_free(mlt_getopt *place)
{
    if (!place)
        return;
    pthread_mutex_lock(&all.lock);
    if (all.owner == place) {
        all.owner = NULL;
        give_turn(all.turn);
    }
    pthread_mutex_unlock(&all.lock);
    free(place);
}

// ---- the calls

// The calling rank, NULL if libc's own state is right: it is alone, or a thread of a rank.
static mlt_rank *caller(void)
{
    mlt_rank *me = mlt_entry_many() && mlt_sched_self ? mlt_rank_self() : NULL;
    return me && me->mpi && !me->ended ? me : NULL;
}

// Gives the variables the calling rank's values; before its first call, those that a program starts
// with, unless it has set optind itself.
static void begin(mlt_rank *me)
{
    mlt_rank_own *own = mlt_own_of(me);
    if (has_threads(me))
        take_turn(me);
    if (!own->options) {
        if (optind == (all.owner ? all.owner->optind : 1))
            optind = 0; // libc begins anew
        own->options = mlt_take(1, sizeof *own->options);
    } else if (all.owner != own->options) {
        optind = own->options->optind;
        opterr = own->options->opterr;
        optopt = own->options->optopt;
        optarg = own->options->optarg;
    }
    all.owner = own->options;
}

static void end(mlt_rank *me, int result)
{
    mlt_getopt *place = mlt_own_of(me)->options;
    *place = (mlt_getopt){place->met, optind, opterr, optopt, optarg};
    if (result == -1 && has_threads(me) && mlt_thread_is_ready(me))
        meet_once(me, place);
}

// ---- ranks with globals of their own

// A rank's variables: its own globals, or places of its own for those that the program has none of.
typedef struct variables {
    int *optind, *opterr, *optopt;
    char **optarg;
} variables;

// True if the program has getopt's variables in its own memory, of which each rank has a copy.
static bool are_own(void)
{
    return mlt_globals_own(&optind) || mlt_globals_own(&optarg) || mlt_globals_own(&opterr) ||
           mlt_globals_own(&optopt);
}

static void *own_of(const mlt_rank *me, void *variable, void *place)
{
    return mlt_globals_own(variable) ? mlt_globals_shift(me, variable) : place;
}

static variables variables_of(mlt_rank *me)
{
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->options) {
        own->options = mlt_take(1, sizeof *own->options);
        own->options->optind = own->options->opterr = 1;
    }
    mlt_getopt *place = own->options;
    return (variables){own_of(me, &optind, &place->optind), own_of(me, &opterr, &place->opterr),
                       own_of(me, &optopt, &place->optopt), own_of(me, &optarg, &place->optarg)};
}

// libc's variables are the first rank's: others borrow them for a call. What libc hides beside them
// belongs to the rank that parses; workers take turns for that.
static void begin_own(mlt_rank *me)
{
    variables v = variables_of(me);
    mlt_getopt *place = mlt_own_of(me)->options;
    if (has_threads(me))
        take_turn(me);
    all.kept = (mlt_getopt){false, optind, opterr, optopt, optarg};
    optind = !place->met && *v.optind == 1 ? 0 : *v.optind; // 0: libc begins anew
    opterr = *v.opterr;
    optopt = *v.optopt;
    optarg = *v.optarg;
    place->met = true;
}

static void end_own(mlt_rank *me, int result)
{
    variables v = variables_of(me);
    mlt_getopt now = {true, optind, opterr, optopt, optarg};
    optind = all.kept.optind;
    opterr = all.kept.opterr;
    optopt = all.kept.optopt;
    optarg = all.kept.optarg;
    *v.optind = now.optind;
    *v.opterr = now.opterr;
    *v.optopt = now.optopt;
    *v.optarg = now.optarg;
    if (result != -1 || !has_threads(me))
        return;
    pthread_mutex_lock(&all.lock);
    give_turn(me->worker->index);
    pthread_mutex_unlock(&all.lock);
}

// libc's function of that name, between begin and end.
#define PARSE(function, ...)                                                                       \
    ({                                                                                             \
        __typeof__(function) *next = MLT_LIBC(function);                                           \
        mlt_rank *me = caller();                                                                   \
        bool own = me && are_own();                                                                \
        if (me)                                                                                    \
            own ? begin_own(me) : begin(me);                                                       \
        int result = next(__VA_ARGS__);                                                            \
        if (me)                                                                                    \
            own ? end_own(me, result) : end(me, result);                                           \
        result;                                                                                    \
    })

MLT_EXPORT int getopt(int argc, char *const argv[], const char *shorts)
{
    return PARSE(getopt, argc, argv, shorts);
}

// What getopt is called in programs for POSIX alone (_POSIX_C_SOURCE without _GNU_SOURCE).
int __posix_getopt(int argc, char *const argv[], const char *shorts);
MLT_EXPORT int __posix_getopt(int argc, char *const argv[], const char *shorts)
{
    return PARSE(__posix_getopt, argc, argv, shorts);
}

MLT_EXPORT int getopt_long(int argc, char *const argv[], const char *shorts,
                           const struct option *longs, int *index)
{
    return PARSE(getopt_long, argc, argv, shorts, longs, index);
}

MLT_EXPORT int getopt_long_only(int argc, char *const argv[], const char *shorts,
                                const struct option *longs, int *index)
{
    return PARSE(getopt_long_only, argc, argv, shorts, longs, index);
}
