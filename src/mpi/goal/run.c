// SPDX-License-Identifier: BSD-3-Clause
// Running schedules: blocking, nonblocking, persistent; how requests and reports see them.
#include <stdio.h>

#include "goal_bodies.h"
#include "mpi/error/error.h"
#include "mpi/goal/goal.h"
#include "mpi/handle.h"
#include "mpi/p2p/request.h"

// ---- starting

// Before its request completes, in whoever's progress.
static void run_ended(mlt_run *run)
{
    struct GOAL_Sched_s *s = run->done->extra;
    mlt_list_remove(&s->active);
    if (MLT_UNLIKELY(s->watched))
        mlt_goal_offload_done(s);
}

// Functions of a text or a file may be missing; buffers have memory of their own.
static MLT_COLD int check_bound(mlt_rank *me, struct GOAL_Sched_s *s)
{
    for (uint32_t f = 0; f < s->sched->users; f++)
        if (!s->run->function[f])
            return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_OP,
                                 "the schedule calls function %u of the user's, which is not "
                                 "there; bind it with GOAL_Sched_func",
                                 (unsigned)f);
    return MPI_SUCCESS;
}

static MLT_COLD int is_running(mlt_rank *me, const struct GOAL_Sched_s *s)
{
    return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_ARG,
                         "argument sched is under way already; a schedule has one run at a time, "
                         "so wait for its request, or compile the goal twice");
}

static MLT_COLD int run_too_many(mlt_rank *me, const struct GOAL_Sched_s *s)
{
    return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_OTHER,
                         "a schedule that was started %d starts ago is still under way on %s; wait "
                         "for its request first",
                         MLT_RUN_NUMBERS, mlt_comm_name(me, s->comm));
}

static int run_prepare(mlt_rank *me, struct GOAL_Sched_s *s)
{
    if (MLT_UNLIKELY(s->run->running))
        return is_running(me, s);
    if (MLT_UNLIKELY(!s->bound)) {
        int code = check_bound(me, s);
        if (code != MPI_SUCCESS)
            return code;
        s->bound = true;
    }
    const struct GOAL_Sched_s *oldest =
        MLT_LIST_FIRST(&s->runs->active, struct GOAL_Sched_s, active);
    if (MLT_UNLIKELY(oldest != NULL) && s->runs->number - oldest->number >= MLT_RUN_NUMBERS)
        return run_too_many(me, s);
    return MLT_UNLIKELY(s->offload) ? mlt_goal_offload_begin(me, s) : MPI_SUCCESS;
}

// After prepare; `req` stands for the run.
static inline void run_start(struct GOAL_Sched_s *s, mlt_req *req)
{
    s->number = s->runs->number++;
    s->run->ended = run_ended;
    s->run->aside = s->offload ? mlt_goal_offload_aside : NULL;
    // Messages to ranks of the same worker would be copied at once, while this one waits.
    s->run->apart = s->offload && s->rank->worker->count > 1;
    mlt_list_push_back(&s->runs->active, &s->active);
    req->done = false;
    mlt_run_start(s->run, &s->place, s->number, req);
    if (MLT_UNLIKELY(s->offload) && !req->done)
        mlt_goal_offload_watch(s);
}

// A request that stands for runs of the schedule, and holds it. That of the run before may not be
// waited for yet, so the spare one may be away.
static mlt_req *run_open_request(mlt_rank *me, struct GOAL_Sched_s *s, uint32_t flags)
{
    mlt_req *req = MLT_LIKELY(s->spare != NULL) ? s->spare : mlt_req_new(me);
    s->spare = NULL;
    s->refs++;
    mlt_req_fill_other(req, me, s->comm);
    req->context = s->place.context;
    req->flags = MLT_REQF_GOAL | flags;
    req->extra = s;
    return req;
}

// ---- the three ways

int mlt_goal_Sched_run(mlt_rank *me, GOAL_Sched s)
{
    int code = run_prepare(me, s);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_req *req = run_open_request(me, s, 0); // another thread may free the schedule meanwhile
    run_start(s, req);
    mlt_req_wait(req, mlt_mpi_call(me));
    code = MPI_SUCCESS;
    if (MLT_UNLIKELY(req->status != MLT_OK))
        code = mlt_mpi_raise_code(me, s->comm, me->fn, mlt_goal_request_code(me, req));
    mlt_goal_request_end(req);
    return code;
}

int mlt_goal_sched_begin(mlt_rank *me, GOAL_Sched s, MPI_Request *request, bool persistent)
{
    int code;
    if (MLT_UNLIKELY(!request))
        return mlt_bad_null(me, s->comm, me->fn, MPI_ERR_ARG, "request", "where the request goes");
    *request = MPI_REQUEST_NULL;
    if (!persistent && (code = run_prepare(me, s)) != MPI_SUCCESS)
        return code;
    mlt_req *req = run_open_request(me, s, persistent ? MLT_REQF_PERSISTENT : 0);
    *request = mlt_req_handle(req);
    if (persistent)
        req->done = true;
    else
        run_start(s, req);
    return MPI_SUCCESS;
}

int mlt_goal_request_start(mlt_rank *me, mlt_req *req)
{
    struct GOAL_Sched_s *s = req->extra;
    int code = run_prepare(me, s);
    if (code == MPI_SUCCESS)
        run_start(s, req);
    return code;
}

// ---- what requests ask

void mlt_goal_request_end(mlt_req *req)
{
    struct GOAL_Sched_s *s = req->extra;
    if (s->refs > 1 && !s->spare) {
        mlt_req_retire(req);
        s->spare = req;
    } else {
        mlt_req_free(req);
    }
    mlt_goal_sched_drop(s);
}

int mlt_goal_request_code(mlt_rank *me, const mlt_req *req)
{
    const struct GOAL_Sched_s *s = req->extra;
    const mlt_run *r = s->run;
    const mlt_act_message *m = mlt_act_message_of(r->fault);
    char from[80] = "";
    if (req->fn != me->fn)
        snprintf(from, sizeof from, " of %s", mlt_fn_name(req->fn));
    return mlt_mpi_code(
        me, me->fn, req->status == MLT_ERR_TRUNCATED ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER,
        "action %u of the schedule%s receives %llu bytes from rank %d of %s, but the message has "
        "%llu; both should have the same size",
        (unsigned)mlt_run_action(r, r->fault), from, (unsigned long long)m->size,
        (int)r->fault_from, mlt_comm_name(me, s->comm), (unsigned long long)r->fault_bytes);
}

static void name_action(const struct GOAL_Sched_s *s, uint32_t action, char *label, size_t size)
{
    label[0] = '\0';
    if (!s->program || action >= s->program->rank[0].count)
        return;
    const mlt_goal_action *a = &s->program->rank[0].actions[action];
    snprintf(label, size, "%s", mlt_goal_name_text(s->program, a->label));
}

uint32_t mlt_goal_request_parts(const mlt_req *req, mlt_worker_part *out, uint32_t most)
{
    if (!(req->flags & MLT_REQF_GOAL))
        return 0;
    const struct GOAL_Sched_s *s = req->extra;
    const mlt_req *reqs[MLT_WORKER_PARTS];
    uint32_t n = mlt_run_frontier(s->run, reqs, most < MLT_WORKER_PARTS ? most : MLT_WORKER_PARTS);
    for (uint32_t i = 0; i < n && i < most && i < MLT_WORKER_PARTS; i++) {
        out[i].req = reqs[i];
        out[i].action = mlt_run_action(s->run, reqs[i]->extra);
        name_action(s, out[i].action, out[i].label, sizeof out[i].label);
    }
    return n;
}
