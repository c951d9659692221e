// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/profile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/ctl.h"
#include "mpi/self.h"
#include "os/os.h"
#include "p2p/settings.h"

bool mlt_mpi_profiling;

struct mlt_mpi_profile {
    bool told;
    uint64_t started_ns;
    struct {
        uint64_t calls, time_ns;
    } fn[MLT_FN_NAMES];
};

struct mlt_mpi_profile *mlt_profile_new(void)
{
    struct mlt_mpi_profile *p = mlt_xcalloc(1, sizeof *p);
    p->started_ns = mlt_os_now_ns();
    return p;
}

void mlt_mpi_count(mlt_rank *me, uint16_t fn, uint64_t start_ns)
{
    if (!me)
        return;
    struct mlt_mpi_profile *p = mlt_mpi_worker_of(me)->profile;
    p->fn[fn].calls++;
    p->fn[fn].time_ns += mlt_os_now_ns() - start_ns;
}

static void send_calls(mlt_worker *worker, const struct mlt_mpi_profile *p)
{
    enum { MOST = MLT_CTL_MAX_BODY / sizeof(mlt_ctl_call) };
    _Static_assert((int)MLT_FN_NAMES <= (int)MOST, "one message holds all functions");
    mlt_ctl_call *calls = calloc(MOST, sizeof *calls);
    if (!calls)
        return;
    uint32_t n = 0;
    for (uint32_t fn = 1; fn < MLT_FN_NAMES; fn++) {
        if (!p->fn[fn].calls)
            continue;
        snprintf(calls[n].name, sizeof calls[n].name, "%s", mlt_fn_table[fn].name);
        calls[n].calls = p->fn[fn].calls;
        calls[n++].time_ns = p->fn[fn].time_ns;
    }
    mlt_ctl head = {.type = MLT_CTL_CALLS,
                    .rank = MLT_CTL_NO_RANK,
                    .value = n,
                    .detail = worker->index,
                    .length = (uint32_t)(n * sizeof *calls)};
    (void)mlt_ctl_send(worker->boot->ctl, &head, calls); // a launcher that is gone needs no report
    free(calls);
}

static void send_stats(mlt_worker *worker, const struct mlt_mpi_profile *p)
{
    const mlt_worker_counts *c = &worker->counts;
    mlt_ctl_stats stats = {
        .eager = c->eager,
        .rendezvous = c->rendezvous,
        .wait_ns = c->wait_ns,
        .total_ns = mlt_os_now_ns() - p->started_ns,
        .switches = worker->sched->switches,
        .slack = worker->sched->slack,
        .ranks = worker->count,
        .inner = (worker->sched->gate ? MLT_INNER_THREADS : 0) |
                 (worker->sched->pool ? MLT_INNER_PROCESSES : 0),
        .unexpected_peak = c->unexpected_peak,
        .stack_size = worker->count > 1 ? mlt_sched_stack_size(worker->sched) : 0,
    };
    stats.moves = ((const mlt_mpi_worker *)worker->mpi)->moves;
    stats.copies = c->copies;
    memcpy(stats.messages, c->messages, sizeof stats.messages);
    memcpy(stats.bytes, c->bytes, sizeof stats.bytes);
    snprintf(stats.guard, sizeof stats.guard, "%s",
             worker->count > 1 ? mlt_sched_guard_kind(worker->sched) : "the system's");
    snprintf(stats.policy, sizeof stats.policy, "%s", mlt_conf.sched);
    snprintf(stats.large_thread, sizeof stats.large_thread, "one copy");
    snprintf(stats.large_process, sizeof stats.large_process, "%s", mlt_worker_large_kind(worker));
    mlt_ctl head = {.type = MLT_CTL_STATS,
                    .rank = MLT_CTL_NO_RANK,
                    .value = 1,
                    .detail = worker->index,
                    .length = sizeof stats};
    (void)mlt_ctl_send(worker->boot->ctl, &head, &stats);
}

void mlt_profile_send(mlt_worker *worker)
{
    struct mlt_mpi_profile *p = ((mlt_mpi_worker *)worker->mpi)->profile;
    if (!p || p->told)
        return;
    p->told = true;
    send_calls(worker, p);
    send_stats(worker, p);
}
