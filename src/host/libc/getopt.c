// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/getopt.h"

#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "boot/job.h"
#include "fiber/gate.h"
#include "fiber/io.h"
#include "host/entry.h"
#include "host/globals.h"
#include "host/libc/libc.h"
#include "host/libc/parse.h"
#include "host/life.h"
#include "host/own.h"
#include "host/switch.h"
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
    mlt_parse parse;
} mlt_getopt;

#define GETOPT_NOBODY UINT32_MAX

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
} getopt_all = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .turn = GETOPT_NOBODY};

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

static bool getopt_has_threads(const mlt_rank *me)
{
    return proc_of(me)->workers > 1;
}

// ---- the turn

static void getopt_nap(void)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)nap_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&getopt_all.changed, &getopt_all.lock, &until);
}

static void note_late(const mlt_rank *me)
{
    if (!getopt_all.noted)
        mlt_log("note: rank %d parses its options with getopt while ranks on other threads of its "
                "process may read theirs, and they share optind and optarg; parse once, before "
                "MPI_Init, or start with --workers process",
                me->world);
    getopt_all.noted = true;
}

static void take_turn(const mlt_rank *me)
{
    uint32_t own = me->worker->index;
    uint64_t start = mlt_os_now_ns();
    pthread_mutex_lock(&getopt_all.lock);
    while (getopt_all.turn != GETOPT_NOBODY && getopt_all.turn != own &&
           mlt_os_now_ns() - start < (getopt_all.turn_in_mpi ? idle_ns : parse_ns))
        getopt_nap();
    if (getopt_all.owner &&
        (getopt_all.over || (getopt_all.turn != GETOPT_NOBODY && getopt_all.turn != own)))
        note_late(me);
    getopt_all.turn = own;
    getopt_all.turn_in_mpi = mlt_thread_is_ready(me);
    pthread_mutex_unlock(&getopt_all.lock);
}

static void give_turn(uint32_t own)
{
    if (getopt_all.turn != own)
        return;
    getopt_all.turn = GETOPT_NOBODY;
    pthread_cond_broadcast(&getopt_all.changed);
}

// ---- the meeting

static bool is_settled(mlt_job *job, uint32_t worker)
{
    mlt_job_worker *other = mlt_job_worker_at(job, worker);
    mlt_job_worker_state sleep = mlt_job_state_of(other);
    atomic_thread_fence(memory_order_acquire); // a worker that sleeps has no rank that runs,
    bool waits =
        atomic_load_explicit(&other->wakes_itself, memory_order_relaxed); // but one may sleep, too
    bool sleeps = (sleep == MLT_WORKER_ASLEEP || sleep == MLT_WORKER_LISTENS) && !waits;
    return getopt_all.settled[worker] || sleeps || sleep == MLT_WORKER_ENDED;
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
    if (!getopt_all.settled)
        getopt_all.settled =
            mlt_xcalloc(me->worker->boot->job->workers, sizeof *getopt_all.settled);
    getopt_all.settled[me->worker->index] = true;
    give_turn(me->worker->index);
}

// Lets the other ranks of the worker go first, then waits for the other workers.
static void watch(mlt_rank *me)
{
    const mlt_sched *sched = me->worker->sched;       // inside its gate, where ranks share it
    uint64_t start = mlt_os_now_ns(), idle_since = 0; // nobody has parsed since
    bool over = false;
    while (!over) {
        if (!sched->solo || !sched->gate)
            mlt_p2p_poll(me);
        uint64_t now = mlt_os_now_ns();
        bool others = sched->runnable || sched->ahead || mlt_io_waits(sched);
        if (others && now - start < parse_ns)
            continue;
        pthread_mutex_lock(&getopt_all.lock);
        if (!idle_since || getopt_all.turn != GETOPT_NOBODY)
            idle_since = now;
        settle(me);
        getopt_all.over |= are_settled(me) || now - idle_since > idle_ns || now - start > parse_ns;
        over = getopt_all.over;
        if (over)
            pthread_cond_broadcast(&getopt_all.changed);
        else
            getopt_nap();
        pthread_mutex_unlock(&getopt_all.lock);
    }
}

static void meet_inside(mlt_rank *me)
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

static void meet(mlt_rank *me)
{
    const mlt_sched *sched = me->worker->sched;
    mlt_gate *gate = sched->solo ? NULL : mlt_gate_in(sched);
    meet_inside(me);
    mlt_gate_out(gate);
}

static void meet_once(mlt_rank *me, mlt_getopt *place)
{
    if (!place->met)
        meet(me);
    place->met = true;
    pthread_mutex_lock(&getopt_all.lock);
    give_turn(me->worker->index);
    pthread_mutex_unlock(&getopt_all.lock);
}

void mlt_getopt_init_done(mlt_rank *me)
{
    mlt_rank_own *own = me->own;
    if (own && own->options && getopt_has_threads(me) && !mlt_globals_are_own())
        meet_once(me, own->options);
}

void mlt_getopt_free(mlt_getopt *place)
{
    if (!place)
        return;
    pthread_mutex_lock(&getopt_all.lock);
    if (getopt_all.owner == place) {
        getopt_all.owner = NULL;
        give_turn(getopt_all.turn);
    }
    pthread_mutex_unlock(&getopt_all.lock);
    free(place);
}

// ---- the calls

// The calling rank, NULL if libc's own state is right: it is alone, or a thread of a rank.
static mlt_rank *getopt_caller(void)
{
    mlt_rank *me = mlt_entry_many() && mlt_sched_self ? mlt_rank_self() : NULL;
    return me && me->mpi && !me->ended ? me : NULL;
}

// ---- a rank's parser

// The rank's variable, or a place of its own for one that the program does not know.
static void *getopt_own_of(const mlt_rank *me, void *variable, void *place)
{
    void *own = mlt_globals_variable(me, variable);
    return own ? own : place;
}

static mlt_getopt *getopt_place_of(mlt_rank *me)
{
    mlt_rank_own *own = mlt_own_of(me);
    if (own->options)
        return own->options;
    mlt_getopt *place = own->options = mlt_xcalloc(1, sizeof *own->options);
    place->optind = place->opterr = 1;
    place->parse = (mlt_parse){.optind = getopt_own_of(me, &optind, &place->optind),
                               .opterr = getopt_own_of(me, &opterr, &place->opterr),
                               .optopt = getopt_own_of(me, &optopt, &place->optopt),
                               .optarg = getopt_own_of(me, &optarg, &place->optarg)};
    return place;
}

// ---- where the variables are shared

static void save(mlt_getopt *place)
{
    place->optind = optind;
    place->opterr = opterr;
    place->optopt = optopt;
    place->optarg = optarg;
}

static void getopt_load(mlt_getopt *place)
{
    optind = place->optind;
    opterr = place->opterr;
    optopt = place->optopt;
    optarg = place->optarg;
    getopt_all.owner = place;
}

static mlt_getopt *known_place(const mlt_rank *me)
{
    const mlt_rank_own *own = me ? me->own : NULL;
    return own ? own->options : NULL;
}

// At a switch: a rank may be parked between a call and its look at the variables.
static void getopt_swap(const mlt_rank *from, const mlt_rank *to)
{
    const mlt_rank *any = from ? from : to;
    mlt_getopt *old = known_place(from), *new = known_place(to);
    if (!any || !(old || new))
        return;
    pthread_mutex_lock(&getopt_all.lock);
    bool here = !getopt_has_threads(any) || getopt_all.turn == any->worker->index;
    if (here && old && getopt_all.owner == old)
        save(old);
    if (here && new)
        getopt_load(new);
    pthread_mutex_unlock(&getopt_all.lock);
}

// Gives the variables the calling rank's values; before its first call, those that a program starts
// with, unless it has set optind itself.
static void getopt_begin(mlt_rank *me)
{
    if (getopt_has_threads(me))
        take_turn(me);
    bool first = !known_place(me);
    mlt_getopt *place = getopt_place_of(me);
    if (me->worker->count > 1)
        mlt_switch_want(me->worker->sched, MLT_SWITCH_OPTIONS, getopt_swap);
    pthread_mutex_lock(&getopt_all.lock);
    if (first && optind == (getopt_all.owner ? getopt_all.owner->optind : 1))
        optind = 1;
    else if (!first && getopt_all.owner != place)
        getopt_load(place);
    getopt_all.owner = place;
    pthread_mutex_unlock(&getopt_all.lock);
}

static void end(mlt_rank *me, int result)
{
    mlt_getopt *place = getopt_place_of(me);
    save(place);
    if (result == -1 && getopt_has_threads(me) && mlt_thread_is_ready(me))
        meet_once(me, place);
}

// ---- what programs call

static int parse(mlt_rank *me, const mlt_parse_call *call)
{
    bool shared = !mlt_globals_are_own();
    if (shared)
        getopt_begin(me);
    int result = mlt_parse_next(&getopt_place_of(me)->parse, call);
    if (shared)
        end(me, result);
    return result;
}

// A rank's parsing, or libc's function of that name for others.
#define PARSE(call, function, ...)                                                                 \
    ({                                                                                             \
        mlt_rank *me = getopt_caller();                                                            \
        me ? parse(me, call) : MLT_LIBC(function)(__VA_ARGS__);                                    \
    })

MLT_INTERPOSE int getopt(int argc, char *const argv[], const char *shorts)
{
    mlt_parse_call call = {.argc = argc, .argv = (char **)(uintptr_t)argv, .shorts = shorts};
    return PARSE(&call, getopt, argc, argv, shorts);
}

// What getopt is called in programs for POSIX alone (_POSIX_C_SOURCE without _GNU_SOURCE).
int __posix_getopt(int argc, char *const argv[], const char *shorts);
MLT_INTERPOSE int __posix_getopt(int argc, char *const argv[], const char *shorts)
{
    mlt_parse_call call = {
        .argc = argc, .argv = (char **)(uintptr_t)argv, .shorts = shorts, .posix = true};
    return PARSE(&call, __posix_getopt, argc, argv, shorts);
}

static mlt_parse_call long_call(int argc, char *const argv[], const char *shorts,
                                const struct option *longs, int *index)
{
    return (mlt_parse_call){.argc = argc,
                            .argv = (char **)(uintptr_t)argv,
                            .shorts = shorts,
                            .longs = longs,
                            .index = index};
}

MLT_INTERPOSE int getopt_long(int argc, char *const argv[], const char *shorts,
                              const struct option *longs, int *index)
{
    mlt_parse_call call = long_call(argc, argv, shorts, longs, index);
    return PARSE(&call, getopt_long, argc, argv, shorts, longs, index);
}

MLT_INTERPOSE int getopt_long_only(int argc, char *const argv[], const char *shorts,
                                   const struct option *longs, int *index)
{
    mlt_parse_call call = long_call(argc, argv, shorts, longs, index);
    call.long_only = true;
    return PARSE(&call, getopt_long_only, argc, argv, shorts, longs, index);
}
