// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/await.h"

#include "fiber/gate.h"
#include "os/os.h"

bool mlt_deadline_passed(int64_t deadline)
{
    return deadline != MLT_NEVER && (deadline <= 0 || deadline <= (int64_t)mlt_os_now_ns());
}

static void passes(mlt_timer *timer)
{
    mlt_deadline *late = mlt_container_of(timer, mlt_deadline, timer);
    late->passed = true;
    mlt_fiber_wake(late->sched, late->fiber);
}

void mlt_deadline_begin(mlt_sched *sched, mlt_deadline *late, int64_t deadline)
{
    late->timer = (mlt_timer){.fire = passes};
    late->sched = sched;
    late->fiber = sched->current;
    late->passed = mlt_deadline_passed(deadline);
    if (deadline != MLT_NEVER && !late->passed)
        mlt_timer_set(sched, &late->timer, (uint64_t)deadline);
}

void mlt_deadline_end(mlt_deadline *late)
{
    if (late->timer.place)
        mlt_timer_stop(late->sched, &late->timer);
}

// A signal has come (only calls of libc's are ended by it).
static bool is_stopped(const mlt_wait *wait)
{
    return (wait->kind == MLT_WAIT_TIME || wait->kind == MLT_WAIT_FD) && wait->stop && *wait->stop;
}

void mlt_await_time(mlt_sched *sched, const mlt_wait *wait, int64_t deadline)
{
    mlt_deadline late;
    mlt_gate *gate = mlt_gate_in(sched); // libc's calls come from outside
    mlt_deadline_begin(sched, &late, deadline);
    while (!late.passed && !is_stopped(wait))
        mlt_fiber_park(sched, wait);
    mlt_deadline_end(&late);
    mlt_gate_out(gate);
}

static void on_ready(mlt_io_watch *watch)
{
    mlt_await *a = mlt_container_of(watch, mlt_await, watch);
    a->ready = true;
    mlt_fiber_wake(a->sched, a->fiber);
}

static mlt_status begin(mlt_sched *sched, mlt_await *a)
{
    a->watch = (mlt_io_watch){.fd = a->fd, .writes = a->writes, .fire = on_ready};
    a->sched = sched;
    a->fiber = sched->current;
    mlt_status status = mlt_io_watch_start(sched, &a->watch);
    a->ready = status == MLT_OK;
    return status;
}

static void end(mlt_await *fds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        mlt_io_watch_stop(fds[i].sched, &fds[i].watch);
}

static bool is_any_ready(const mlt_await *fds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (fds[i].ready)
            return true;
    return false;
}

static mlt_status await_fds(mlt_sched *sched, const mlt_wait *wait, mlt_await *fds, uint32_t count,
                            int64_t deadline)
{
    for (uint32_t i = 0; i < count; i++)
        if (begin(sched, &fds[i]) == MLT_ERR_SYSTEM) {
            end(fds, i);
            return MLT_ERR_SYSTEM;
        }
    mlt_deadline late;
    mlt_deadline_begin(sched, &late, deadline);
    while (!late.passed && !is_any_ready(fds, count) && !is_stopped(wait))
        mlt_fiber_park(sched, wait);
    mlt_deadline_end(&late);
    end(fds, count);
    return MLT_OK;
}

mlt_status mlt_await_fds(mlt_sched *sched, const mlt_wait *wait, mlt_await *fds, uint32_t count,
                         int64_t deadline)
{
    mlt_gate *gate = mlt_gate_in(sched);
    mlt_status status = await_fds(sched, wait, fds, count, deadline);
    mlt_gate_out(gate);
    return status;
}
