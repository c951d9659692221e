// SPDX-License-Identifier: BSD-3-Clause
#include "csp/barrier.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/export.h"
#include "base/memory.h"
#include "fiber/await.h"

MLT_EXPORT csp_barrier *csp_barrier_new(const char *name, size_t enrolled)
{
    mlt_csp *csp = mlt_csp_enter("csp_barrier_new");
    csp_barrier *barrier = mlt_xcalloc(1, sizeof *barrier);
    *barrier = (csp_barrier){
        .magic = MLT_BARRIER_MAGIC, .enrolled = enrolled, .csp = csp, .number = ++csp->numbers};
    mlt_list_init(&barrier->waiting);
    mlt_list_push_back(&csp->barriers, &barrier->all);
    if (name)
        snprintf(barrier->name, sizeof barrier->name, "%s", name);
    (void)mlt_csp_wait_for(&barrier->wait, "csp_sync", MLT_CSP_SYNC, barrier, 0);
    return barrier;
}

const char *mlt_barrier_name(const csp_barrier *barrier, char *text, size_t size)
{
    return mlt_csp_name(barrier->name, "barrier", barrier->number, text, size);
}

static void barrier_check(const mlt_csp *csp, const csp_barrier *barrier, const char *call)
{
    if (!barrier)
        mlt_csp_fault(call, "the barrier is NULL");
    if (barrier->magic != MLT_BARRIER_MAGIC)
        mlt_csp_fault(call, "this is no barrier, or one that was freed");
    if (barrier->csp != csp)
        mlt_csp_fault(call, "the barrier belongs to another worker: only processes of the one that "
                            "made it may use it");
}

void mlt_barrier_check(const mlt_csp *csp, const csp_barrier *barrier, const char *call)
{
    char name[64];
    barrier_check(csp, barrier, call);
    if (barrier->enrolled == 0)
        mlt_csp_fault(call, "nobody is enrolled in %s",
                      mlt_barrier_name(barrier, name, sizeof name));
}

void mlt_barrier_wait(csp_barrier *barrier, mlt_offer *offer)
{
    mlt_list_push_back(&barrier->waiting, &offer->node);
    barrier->present++;
}

void mlt_barrier_withdraw(csp_barrier *barrier, mlt_offer *offer)
{
    if (!offer->node.next || offer->node.next == &offer->node)
        return;
    mlt_list_remove(&offer->node);
    barrier->present--;
}

// Takes out what was settled elsewhere. False: somebody is not open now.
static bool all_open(csp_barrier *barrier)
{
    bool open = true;
    MLT_LIST_EACH_SAFE(mlt_offer, offer, &barrier->waiting, node)
        if (offer->alt->chosen != MLT_ALT_OPEN)
            mlt_barrier_withdraw(barrier, offer);
        else if (offer->alt->promised)
            open = false;
    return open;
}

// Without the look at each offer for a barrier that is far from complete.
static bool is_complete(csp_barrier *barrier, size_t others)
{
    return barrier->present >= others && all_open(barrier) && barrier->present >= others;
}

static void complete(csp_barrier *barrier, const mlt_offer *self)
{
    MLT_LIST_EACH_SAFE(mlt_offer, offer, &barrier->waiting, node) {
        mlt_barrier_withdraw(barrier, offer);
        if (offer != self)
            mlt_alt_settle(barrier->csp, offer->alt, offer->index, CSP_OK);
    }
}

bool mlt_barrier_try(csp_barrier *barrier, const mlt_offer *self)
{
    if (!is_complete(barrier, barrier->enrolled - (self == NULL)))
        return false;
    complete(barrier, self);
    return true;
}

MLT_EXPORT void csp_barrier_free(csp_barrier *barrier)
{
    if (!barrier)
        return;
    char name[64];
    barrier_check(mlt_csp_enter("csp_barrier_free"), barrier, "csp_barrier_free");
    (void)all_open(barrier);
    if (barrier->present > 0)
        mlt_csp_fault("csp_barrier_free", "a process waits at %s",
                      mlt_barrier_name(barrier, name, sizeof name));
    mlt_list_remove(&barrier->all);
    barrier->magic = 0;
    mlt_csp_bury(barrier->csp, barrier);
}

void mlt_barriers_end(mlt_csp *csp)
{
    MLT_LIST_DRAIN(csp_barrier, barrier, &csp->barriers, all)
        free(barrier);
}

MLT_EXPORT void csp_barrier_enroll(csp_barrier *barrier, size_t more)
{
    barrier_check(mlt_csp_enter("csp_barrier_enroll"), barrier, "csp_barrier_enroll");
    barrier->enrolled += more;
}

MLT_EXPORT void csp_barrier_resign(csp_barrier *barrier)
{
    mlt_barrier_check(mlt_csp_enter("csp_barrier_resign"), barrier, "csp_barrier_resign");
    barrier->enrolled--;
    if (barrier->enrolled > 0 && is_complete(barrier, barrier->enrolled))
        complete(barrier, NULL);
}

// ---- waiting

static void barrier_lone_late(mlt_timer *timer)
{
    mlt_alt *alt = mlt_container_of(timer, mlt_alt, timer);
    csp_barrier *barrier = (csp_barrier *)alt->wait.what;
    if (alt->chosen != MLT_ALT_OPEN)
        return;
    alt->late = true;
    mlt_barrier_withdraw(barrier, alt->offers);
    mlt_alt_settle(barrier->csp, alt, 0, CSP_LATE);
}

static inline csp_status barrier_sync(csp_barrier *barrier, csp_time deadline, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    mlt_barrier_check(csp, barrier, call);
    if (mlt_barrier_try(barrier, NULL))
        return CSP_OK;
    if (deadline != CSP_NEVER && mlt_deadline_passed(deadline))
        return CSP_LATE;
    mlt_alt_lone w;
    mlt_alt_lone_begin(&w, csp, NULL);
    mlt_barrier_wait(barrier, &w.offer);
    if (deadline == CSP_NEVER)
        return mlt_alt_lone_park(&w, csp, &barrier->wait.wait);
    const mlt_wait *wait = mlt_csp_wait_for(&w.alt.wait, call, MLT_CSP_SYNC, barrier, 0);
    return mlt_alt_lone_wait(&w, csp, wait, deadline, barrier_lone_late);
}

MLT_EXPORT csp_status csp_sync_by(csp_barrier *barrier, csp_time deadline)
{
    return barrier_sync(barrier, deadline, "csp_sync_by");
}

MLT_EXPORT csp_status csp_sync(csp_barrier *barrier)
{
    return barrier_sync(barrier, CSP_NEVER, "csp_sync");
}
