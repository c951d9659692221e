// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/plan.h"

#include <stdio.h>

#include "base/memory.h"
#include "boot/job.h"
#include "launch/say.h"

static uint32_t asked_of(const mlt_app *app)
{
    return app->n ? app->n : app->per_host ? app->per_host : app->slots ? app->slots : 1;
}

static uint32_t workers_of(const mlt_app *app)
{
    return app->packed ? app->packed : asked_of(app);
}

uint64_t mlt_plan_ranks_asked(const mlt_app *app)
{
    return (uint64_t)asked_of(app) * app->fine;
}

static void count_up(const mlt_options *options, uint64_t *workers, uint64_t *ranks)
{
    *workers = *ranks = 0;
    for (size_t a = 0; a < options->app_count; a++) {
        *workers += workers_of(&options->apps[a]);
        *ranks += mlt_plan_ranks_asked(&options->apps[a]);
    }
    if (*workers > MLT_JOB_MAX_WORKERS)
        mlt_quit(
            MLT_EXIT_USAGE,
            "-n asks for %llu workers, but a job has at most %d; -nfg K puts K ranks into each "
            "(mpirun -n 2 -nfg 500000 ./program starts a million)",
            (unsigned long long)*workers, MLT_JOB_MAX_WORKERS);
    if (*ranks > INT32_MAX)
        mlt_quit(MLT_EXIT_USAGE, "-n times -nfg is %llu, but a job has at most %d ranks",
                 (unsigned long long)*ranks, INT32_MAX);
}

// The first ones have one more where it does not come out even.
static uint32_t part(uint32_t all, uint32_t parts, uint32_t i)
{
    return all / parts + (i < all % parts);
}

void mlt_plan_make(const mlt_options *options, mlt_plan *plan)
{
    *plan = (mlt_plan){.proc_count = 0};
    uint64_t workers, ranks;
    count_up(options, &workers, &ranks);
    plan->procs = mlt_take(workers, sizeof *plan->procs);
    for (size_t a = 0; a < options->app_count; a++) {
        const mlt_app *app = &options->apps[a];
        bool threads = app->workers == MLT_WORKERS_THREAD ||
                       (app->workers == MLT_WORKERS_AUTO && (app->fine > 1 || app->packed));
        uint32_t procs = threads ? 1 : workers_of(app);
        for (uint32_t p = 0; p < procs; p++) {
            mlt_plan_proc *proc = &plan->procs[plan->proc_count++];
            *proc = (mlt_plan_proc){.app = (uint32_t)a,
                                    .first_worker = plan->workers,
                                    .workers = threads ? workers_of(app) : 1,
                                    .first_rank = plan->ranks};
            proc->ranks = part((uint32_t)mlt_plan_ranks_asked(app), procs, p);
            plan->workers += proc->workers;
            plan->ranks += proc->ranks;
        }
    }
}

static uint32_t first_rank_of(const mlt_plan_proc *proc)
{
    return proc->first_rank;
}

static uint32_t first_worker_of(const mlt_plan_proc *proc)
{
    return proc->first_worker;
}

// The last process whose first one is not above `one`.
static uint32_t find(const mlt_plan *plan, uint32_t (*first)(const mlt_plan_proc *), uint32_t one)
{
    uint32_t low = 0, high = plan->proc_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (first(&plan->procs[middle]) <= one)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t mlt_plan_proc_of(const mlt_plan *plan, uint32_t rank)
{
    return find(plan, first_rank_of, rank);
}

uint32_t mlt_plan_ranks_of(const mlt_plan *plan, uint32_t worker, uint32_t *first_rank)
{
    const mlt_plan_proc *proc = &plan->procs[find(plan, first_worker_of, worker)];
    uint32_t i = worker - proc->first_worker, more = proc->ranks % proc->workers;
    *first_rank = proc->first_rank + i * (proc->ranks / proc->workers) + (i < more ? i : more);
    return part(proc->ranks, proc->workers, i);
}

void mlt_plan_name(const mlt_plan *plan, uint32_t proc, char *text, size_t size)
{
    const mlt_plan_proc *p = &plan->procs[proc];
    if (p->ranks == 1)
        snprintf(text, size, "rank %u", p->first_rank);
    else
        snprintf(text, size, "the process of ranks %u-%u", p->first_rank,
                 p->first_rank + p->ranks - 1);
}
