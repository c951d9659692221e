// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/intercept.h"

#include "coll/ledger.h"
#include "fiber/await.h"
#include "mpi/file/file.h"
#include "mpi/self.h"
#include "mpi/win/cached.h"
#include "mpi/win/win.h"
#include "os/os.h"

_Atomic bool mlt_interceptors_exist;

static mlt_interceptors *interceptors_of(const mlt_rank *me)
{
    const mlt_mpi_worker *w = me ? me->worker->mpi : NULL;
    return w && w->ledger ? w->ledger->interceptors : NULL;
}

void mlt_intercept_goes_on(mlt_rank *me, uint16_t fn, mlt_intercept_call *call)
{
    for (uint64_t ns;
         (ns = mlt_intercept_before(interceptors_of(me), &call->walk, &call->event)) > 0;) {
        const mlt_wait wait = {.call = call->event.call, .kind = MLT_WAIT_TIME, .fd = -1};
        mlt_await_time(me->worker->sched, &wait, mlt_os_now_ns() + (int64_t)ns);
        me->fn = fn; // another rank's call may have gone by meanwhile
    }
}

static mlt_intercept_call intercept_begin(mlt_rank *me, mlt_intercept_kind kind, const char *name,
                                          uint32_t ranks, uint16_t fn, const mlt_trace_call *call,
                                          bool gets)
{
    mlt_intercept_call c = {
        .walk = {.interceptor = mlt_intercept_of(interceptors_of(me), kind, name, ranks),
                 .can_cache = gets}};
    if (!c.walk.interceptor)
        return c;
    c.event = (mlt_intercept_event){.kind = (uint8_t)kind,
                                    .name = c.walk.interceptor->record.object,
                                    .call = mlt_fn_name(fn),
                                    .rank = me->world,
                                    .peer = call->peer,
                                    .tag = call->tag,
                                    .bytes = call->bytes};
    mlt_intercept_goes_on(me, fn, &c);
    return c;
}

mlt_intercept_call mlt_intercept_messages(mlt_rank *me, uint16_t fn, const mlt_comm *comm,
                                          const mlt_trace_call *call)
{
    if (!interceptors_of(me) || !comm)
        return (mlt_intercept_call){0};
    return intercept_begin(me, MLT_INTERCEPT_MESSAGES, mlt_comm_name(me, comm),
                           (uint32_t)comm->size, fn, call, false);
}

mlt_intercept_call mlt_intercept_window(mlt_rank *me, uint16_t fn, mlt_win *win,
                                        const mlt_trace_call *call, bool gets)
{
    if (!interceptors_of(me))
        return (mlt_intercept_call){0};
    const char *name = win->notes && win->notes->name ? win->notes->name : "unnamed";
    mlt_intercept_call c =
        intercept_begin(me, MLT_INTERCEPT_WINDOW, name,
                        (uint32_t)mlt_win_shared_of(win)->group->size, fn, call, gets);
    if (!gets)
        mlt_win_cached_changes(win, call->peer);
    return c;
}

mlt_intercept_call mlt_intercept_file(mlt_rank *me, uint16_t fn, const mlt_file *file,
                                      const mlt_trace_call *call, bool cached)
{
    if (!interceptors_of(me))
        return (mlt_intercept_call){0};
    return intercept_begin(me, MLT_INTERCEPT_FILE, file->shared->path, (uint32_t)file->comm->size,
                           fn, call, cached);
}

void mlt_intercept_call_ends(mlt_rank *me, const mlt_intercept_call *call)
{
    if (call->walk.interceptor)
        mlt_intercept_after(interceptors_of(me), &call->walk, &call->event);
}
