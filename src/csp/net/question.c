// SPDX-License-Identifier: BSD-3-Clause
#include "csp/net/question.h"

#include <string.h>

#include "csp/net/remote.h"

static void question_settle(mlt_question *q, csp_status status)
{
    if (q->status != MLT_QUESTION_OPEN)
        return;
    q->status = (int32_t)status;
    if (q->fiber)
        mlt_fiber_wake(q->csp->sched, q->fiber);
}

static void route_is_lost(mlt_route_user *user, mlt_route *route)
{
    question_settle(mlt_container_of(user, mlt_question, user), mlt_route_loss(route));
}

static void question_is_late(mlt_timer *timer)
{
    question_settle(mlt_container_of(timer, mlt_question, timer), CSP_LATE);
}

csp_status mlt_question_ask(mlt_question *q, mlt_route *route, mlt_packet *packet, const void *data,
                            uint64_t bytes, mlt_csp_wait_kind kind, const void *what,
                            csp_time deadline)
{
    mlt_csp *csp = route->csp;
    mlt_csp_wait wait;
    uint32_t number = mlt_remote_add(csp, q, MLT_OBJECT_QUESTION);
    q->user.lost = route_is_lost;
    q->timer.fire = question_is_late;
    q->csp = csp;
    q->status = route->lost ? (int32_t)mlt_route_loss(route) : MLT_QUESTION_OPEN;
    mlt_list_push_waiter(&route->users, &q->user.node);
    packet->word = (int32_t)number;
    mlt_route_send(route, packet, data, bytes);
    if (q->status == MLT_QUESTION_OPEN && deadline != CSP_NEVER)
        mlt_timer_set(csp->sched, &q->timer, (uint64_t)deadline);
    q->fiber = csp->sched->current;
    mlt_route_check(route);
    while (q->status == MLT_QUESTION_OPEN)
        mlt_fiber_park(csp->sched, mlt_csp_wait_for(&wait, q->call, kind, what, 0));
    if (deadline != CSP_NEVER)
        mlt_timer_stop(csp->sched, &q->timer);
    mlt_remote_drop(csp, number);
    mlt_list_remove(&q->user.node);
    return (csp_status)q->status;
}

bool mlt_question_answer(mlt_csp *csp, uint32_t number, csp_status status, const void *data,
                         uint64_t bytes)
{
    mlt_question *q = mlt_remote_find(csp, number, MLT_OBJECT_QUESTION);
    if (!q || q->status != MLT_QUESTION_OPEN)
        return false;
    bytes = bytes < q->size ? bytes : q->size;
    if (bytes)
        memcpy(q->answer, data, bytes);
    question_settle(q, status);
    return true;
}
