// SPDX-License-Identifier: BSD-3-Clause
#include "csp/state.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/upcalls.h"
#include "boot/ctl.h"
#include "csp/barrier.h"
#include "csp/chan.h"
#include "csp/group.h"
#include "csp/net/chan.h"
#include "csp/net/reach.h"
#include "csp/net/remote.h"
#include "csp/net/route.h"
#include "csp/net/socket.h"
#include "csp/proc.h"
#include "os/os.h"
#include "p2p/live.h"

enum { STATE_MESSAGE = 512, CHILDREN = 64 };

_Thread_local mlt_csp *mlt_csp_self __attribute__((tls_model("initial-exec")));

void mlt_csp_end_job(int32_t rank, const char *message)
{
    if (mlt_upcalls.end_job)
        mlt_upcalls.end_job(rank, message);
    fflush(NULL);
    mlt_log("%s", message);
    mlt_leave(EXIT_FAILURE);
}

const char *mlt_csp_name(const char *name, const char *kind, uint64_t number, char *text,
                         size_t size)
{
    if (name[0])
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "%s %llu", kind, (unsigned long long)number);
    return text;
}

_Noreturn void mlt_csp_fault(const char *call, const char *format, ...)
{
    char text[STATE_MESSAGE], message[2 * STATE_MESSAGE], name[STATE_MESSAGE / 4];
    MLT_TEXT_PRINT(text, sizeof text, format);
    const mlt_csp *csp = mlt_csp_self;
    const mlt_fiber *me = csp ? csp->sched->current : NULL;
    if (me && me->pool)
        snprintf(message, sizeof message, "%s: %s (in %s)", call, text,
                 mlt_proc_name(csp, me, name, sizeof name));
    else
        snprintf(message, sizeof message, "%s: %s", call, text);
    const mlt_rank *rank = mlt_rank_self();
    mlt_csp_end_job(rank ? rank->world : MLT_CTL_NO_RANK, message);
    mlt_leave(EXIT_FAILURE);
}

bool mlt_csp_why(mlt_csp *csp, const char *format, ...)
{
    MLT_TEXT_PRINT(csp->why, sizeof csp->why, format);
    return false;
}

csp_status mlt_csp_refuse(mlt_csp *csp, csp_status status, const char *format, ...)
{
    MLT_TEXT_PRINT(csp->why, sizeof csp->why, format);
    return status;
}

static void state_init(mlt_csp *csp, mlt_worker *worker)
{
    csp->worker = worker;
    csp->sched = worker->sched;
    csp->chan_magic = mlt_chan_magic(worker->index);
    mlt_list_init(&csp->chans);
    mlt_list_init(&csp->barriers);
    mlt_list_init(&csp->ports);
}

mlt_csp *mlt_csp_begin(const char *call)
{
    mlt_csp *lent = mlt_upcalls.come_back ? mlt_upcalls.come_back() : NULL;
    if (lent)
        return lent;
    const mlt_rank *rank = mlt_upcalls.join ? mlt_upcalls.join() : mlt_rank_self();
    if (!rank || mlt_sched_self != rank->worker->sched)
        mlt_csp_fault(
            call, "this thread is no rank's own: only the thread that main or a rank runs on has "
                  "processes and channels, and no child that it forked");
    char why[STATE_MESSAGE];
    mlt_sched *sched = rank->worker->sched;
    if (!sched->pool && mlt_fiber_pool_open(sched, why, sizeof why) != MLT_OK)
        mlt_csp_fault(call, "%s", why);
    mlt_csp *csp = mlt_xcalloc(1, sizeof *csp);
    state_init(csp, rank->worker);
    sched->pool->owner = csp;
    csp->procs = mlt_os_map(sched->pool->limit * sizeof *csp->procs);
    if (!csp->procs)
        mlt_csp_fault(call, MLT_NO_ROOM "%u processes", sched->pool->limit);
    mlt_pool_init(&csp->children, sizeof(csp_child), CHILDREN);
    mlt_live_here()->queues = mlt_chans_shown(csp);
    mlt_csp_self = csp;
    return csp;
}

mlt_csp *mlt_csp_for_threads(mlt_worker *worker)
{
    mlt_reach *reach = mlt_reach_of(worker);
    mlt_assert(worker->sched->gate && !worker->sched->pool);
    if (!reach->csp) {
        mlt_csp *csp = mlt_xcalloc(1, sizeof *csp);
        state_init(csp, worker);
        reach->csp = csp;
    }
    return reach->csp;
}

mlt_csp *mlt_csp_of(const mlt_worker *worker)
{
    const mlt_reach *reach = worker->reach;
    if (MLT_LIKELY(mlt_csp_self && mlt_csp_self->worker == worker))
        return mlt_csp_self;
    return reach ? reach->csp : NULL;
}

static void end_for_threads(mlt_worker *worker)
{
    mlt_reach *reach = worker->reach;
    if (!reach || !reach->csp)
        return;
    mlt_csp *csp = reach->csp;
    reach->csp = NULL;
    mlt_remote_end(csp);
    free(csp);
}

void mlt_csp_bury(mlt_csp *csp, void *thing)
{
    void **place = &csp->buried[csp->buried_next++ % MLT_CSP_BURIED];
    free(*place);
    *place = thing;
}

void mlt_csp_end(mlt_worker *worker)
{
    mlt_csp *csp = mlt_csp_self;
    if (csp && csp->worker == worker) {
        mlt_live_here()->queues = (mlt_live_queues){0};
        mlt_csp_groups_end(csp);
        mlt_remote_end(csp);
        mlt_chans_end(csp);
        mlt_barriers_end(csp);
        mlt_csp_self = NULL;
        csp->sched->pool->owner = NULL;
        mlt_pool_fini(&csp->children);
        free(csp->spare);
        for (int i = 0; i < MLT_CSP_BURIED; i++)
            free(csp->buried[i]);
        mlt_os_unmap(csp->procs, csp->sched->pool->limit * sizeof *csp->procs);
        free(csp);
    }
    end_for_threads(worker);
    mlt_route_end(worker);
}

void mlt_csp_leave(mlt_worker *worker)
{
    mlt_csp *csp = mlt_csp_self;
    if (csp && csp->worker == worker && csp->net) {
        mlt_remote_chan_leave(csp);
        mlt_socket_flush(csp);
    }
    mlt_route_end(worker);
}

MLT_EXPORT const char *csp_status_text(csp_status status)
{
    static const char *const texts[CSP_STATUSES] = {
        [CSP_OK] = "fine",
        [CSP_POISONED] = "poisoned",
        [CSP_RETIRED] = "retired",
        [CSP_LOST] = "lost",
        [CSP_LATE] = "late",
        [CSP_TOO_LONG] = "too long",
        [CSP_NO_NAME] = "no such name",
        [CSP_TAKEN] = "name is taken",
        [CSP_REFUSED] = "refused",
    };
    return status >= 0 && status < CSP_STATUSES ? texts[status] : "no status";
}

MLT_EXPORT const char *csp_why(void)
{
    return mlt_csp_self ? mlt_csp_self->why : "";
}

MLT_EXPORT int csp_node(void)
{
    (void)mlt_csp_enter("csp_node");
    return mlt_csp_rank()->world;
}

MLT_EXPORT int csp_nodes(void)
{
    return (int)mlt_csp_enter("csp_nodes")->worker->world_size;
}
