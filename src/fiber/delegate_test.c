// SPDX-License-Identifier: BSD-3-Clause
// Tests of delegated calls: they run on the worker's thread, park and wake as fibers do, and end on
// their own; a fiber that waits for such a thread outside is left for it. (One that spins is left only
// in code that is not the library's, which all code of a unit test is: test/mpi/threads_stuck.c.)
#include "fiber/delegate.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/unit_test.h"
#include "fiber/io.h"
#include "fiber/preempt.h"
#include "os/os.h"

enum { FIBERS = 3, THREADS = 4, ROUNDS = 300 };

// A user object, as a rank is one.
typedef struct user {
    struct room *room;
    int index;
    uint16_t call;
    uint32_t got; // letters; on the worker's thread
    mlt_fiber *waits[THREADS + 1];
    void *(*thread)(void *user);
    void (*meanwhile)(struct user *user);
    _Atomic bool done;
    pthread_mutex_t lock;
    pthread_barrier_t both;
    _Atomic int seats;
} user;

typedef struct room {
    mlt_sched *sched;
    pid_t worker;
    user users[FIBERS];
} room;

static _Thread_local int mine;

static uint16_t *call_of(void *u)
{
    return &((user *)u)->call;
}

static void kick(void *arg)
{
    (void)arg; // the idle function naps where it is woken by itself
}

static void idle(void *arg)
{
    mlt_sched *sched = ((room *)arg)->sched;
    if (mlt_io_look(sched))
        return;
    CHECK(mlt_io_waits(sched)); // otherwise nobody could go on
    mlt_delegates_nap(sched->delegates, mlt_io_patience(sched));
}

static void breathe(void *arg)
{
    (void)mlt_io_glance(((room *)arg)->sched);
}

// ---- calls

static MLT_NOINLINE void begin(user *me)
{
    mlt_delegate_begin(me->room->sched->delegates, me);
}

static MLT_NOINLINE void end(const user *me)
{
    mlt_delegate_end(me->room->sched->delegates);
}

// On the worker's thread: a letter for the next user, and one for this.
static MLT_NOINLINE void exchange(user *me, int place)
{
    room *r = me->room;
    user *next = &r->users[(me->index + 1) % FIBERS];
    CHECK(gettid() == r->worker && mlt_fiber_user == me);
    me->call = (uint16_t)(100 + place);
    next->got++;
    for (int i = 0; i <= THREADS; i++)
        if (next->waits[i])
            mlt_fiber_wake(r->sched, next->waits[i]);
    mlt_wait wait = {.call = "a letter", .kind = MLT_WAIT_OTHER};
    while (me->got == 0) {
        me->waits[place] = r->sched->current;
        mlt_fiber_park(r->sched, &wait);
        me->waits[place] = NULL;
        CHECK(me->call == 100 + place);
    }
    me->got--;
}

static void call_often(user *me, int place)
{
    pid_t own = gettid();
    mine = me->index * 10 + place;
    for (int i = 0; i < ROUNDS; i++) {
        begin(me);
        exchange(me, place);
        end(me);
        CHECK(gettid() == own && mine == me->index * 10 + place);
    }
}

static void *calls(void *arg)
{
    user *me = arg;
    call_often(me, atomic_fetch_add(&me->seats, 1));
    return NULL;
}

static void *sets(void *arg)
{
    user *me = arg;
    calls(me);
    me->done = true;
    return NULL;
}

static void *holds(void *arg)
{
    user *me = arg;
    pthread_mutex_lock(&me->lock);
    me->done = true;
    calls(me);
    pthread_mutex_unlock(&me->lock);
    return NULL;
}

static void *meets(void *arg)
{
    user *me = arg;
    calls(me);
    pthread_barrier_wait(&me->both);
    return NULL;
}

// ---- what fibers do meanwhile

static void nothing(user *me)
{
    (void)me; // pthread_join does it
}

static void yields(user *me)
{
    while (!me->done)
        sched_yield();
}

static void locks(user *me)
{
    yields(me);
    pthread_mutex_lock(&me->lock);
    pthread_mutex_unlock(&me->lock);
}

static void waits(user *me)
{
    pthread_barrier_wait(&me->both);
}

static void parks(user *me)
{
    for (int i = 0; i < ROUNDS; i++)
        exchange(me, THREADS);
}

static void fiber(void *arg)
{
    user *me = arg;
    pthread_t threads[THREADS];
    int count = me->thread == calls ? THREADS : 1;
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, me->thread, me) == 0);
    me->meanwhile(me);
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void try_with(const char *policy, void *(*thread)(void *), void (*meanwhile)(user *))
{
    static room r;
    char why[128];
    r = (room){.worker = gettid()};
    mlt_sched_conf conf = {.policy = policy,
                           .fibers = FIBERS,
                           .stack_size = 256 * 1024,
                           .idle = idle,
                           .breathe = breathe,
                           .idle_arg = &r};
    CHECK(mlt_sched_new(&conf, &r.sched, why, sizeof why) == MLT_OK);
    CHECK(mlt_delegates_open(r.sched, &(mlt_delegates_conf){.call = call_of, .kick = kick}));
    for (int i = 0; i < FIBERS; i++) {
        user *me = &r.users[i];
        *me = (user){.room = &r, .index = i, .thread = thread, .meanwhile = meanwhile};
        pthread_mutex_init(&me->lock, NULL);
        pthread_barrier_init(&me->both, NULL, 2);
        (void)mlt_fiber_spawn(r.sched, fiber, me);
    }
    mlt_sched_run(r.sched);
    for (int i = 0; i < FIBERS; i++)
        CHECK(r.users[i].got == 0);
    CHECK(mlt_delegates_alone(r.sched->delegates));
    mlt_sched_free(r.sched);
}

int main(void)
{
    if (!mlt_delegates_can()) {
        printf("skipped: this build or this system cannot delegate calls\n");
        return 77;
    }
    try_with("direct", calls, nothing);
    try_with("rr", calls, parks);
    try_with("random:7", calls, nothing);
    try_with("rr", sets, yields);
    try_with("direct", holds, locks);
    try_with("direct", meets, waits);
    printf("all right\n");
    return 0;
}
