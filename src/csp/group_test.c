// SPDX-License-Identifier: BSD-3-Clause
// Groups without MPI above them: workers as threads, each with some ranks. What reports say of
// them, which algorithms serve them, and how they come and go. The operations themselves are in
// test/mpi/csp_group.c.
#include "csp/group.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot/job.h"
#include "coll/plan.h"
#include "coll/settings.h"
#include "p2p/settings.h"
#include "p2p/worker.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// ---- jobs

typedef struct job_run {
    mlt_boot boot;
    uint32_t worker, fibers;
    void (*entry)(void *rank);
} job_run;

static void *worker_main(void *arg)
{
    job_run *run = arg;
    mlt_worker *w;
    char why[256];
    CHECK(mlt_worker_new(&run->boot, run->worker, run->fibers, &w, why, sizeof why) == MLT_OK);
    mlt_worker_run(w, run->entry);
    mlt_csp_end(w);
    mlt_worker_free(w);
    return NULL;
}

static void run(uint32_t workers, uint32_t ranks, void (*entry)(void *rank))
{
    mlt_job_plan plan = {.procs = 1,
                         .workers_of_proc = &workers,
                         .ranks_a_worker = &ranks,
                         .app_of_proc = &(uint32_t){0},
                         .cores = 2,
                         .launched = true};
    mlt_job *job;
    int fd = -1;
    char why[256];
    CHECK(mlt_job_new(&plan, &job, &fd, why, sizeof why) == MLT_OK);
    mlt_conf.sched = "direct";
    job_run *runs = calloc(workers, sizeof *runs);
    pthread_t *threads = calloc(workers, sizeof *threads);
    CHECK(runs && threads);
    for (uint32_t i = 0; i < workers; i++) {
        runs[i] = (job_run){{.job = job, .ctl = -1}, i, workers * ranks, entry};
        CHECK(pthread_create(&threads[i], NULL, worker_main, &runs[i]) == 0);
    }
    for (uint32_t i = 0; i < workers; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    free(threads);
    free(runs);
    mlt_job_close(job);
    close(fd);
}

typedef struct member {
    csp_group *group;
    int me, root;
} member;

static int barrier(void *arg)
{
    const member *m = arg;
    return csp_group_barrier(m->group, m->me) != CSP_OK;
}

static int bcast(void *arg)
{
    const member *m = arg;
    int data = m->me;
    CHECK(csp_group_bcast(m->group, m->me, &data, sizeof data, m->root) == CSP_OK);
    return data != m->root;
}

// ---- ready-made operators

static void operators(void)
{
    int i[2] = {3, -4}, j[2] = {5, -9};
    csp_sum_int.combine(i, j, 2);
    CHECK(i[0] == 8 && i[1] == -13);
    csp_max_int.combine(i, j, 2);
    CHECK(i[0] == 8 && i[1] == -9);
    csp_min_int.combine(i, j, 2);
    CHECK(i[0] == 5 && i[1] == -9);
    long k = 1l << 40, l = 7;
    csp_sum_long.combine(&k, &l, 1);
    CHECK(k == (1l << 40) + 7);
    csp_max_long.combine(&l, &k, 1);
    CHECK(l == k);
    l = -1;
    csp_min_long.combine(&k, &l, 1);
    CHECK(k == -1);
    double x = 0.5, y = 0.25;
    csp_sum_double.combine(&x, &y, 1);
    CHECK(x == 0.75);
    csp_min_double.combine(&x, &y, 1);
    CHECK(x == 0.25);
    y = 8;
    csp_max_double.combine(&x, &y, 1);
    CHECK(x == 8);
    const csp_op *ops[] = {&csp_sum_int,    &csp_max_int,    &csp_min_int,
                           &csp_sum_long,   &csp_max_long,   &csp_min_long,
                           &csp_sum_double, &csp_max_double, &csp_min_double};
    for (int o = 0; o < 9; o++)
        CHECK(ops[o]->commutes && ops[o]->size == (o < 3 ? sizeof(int) : 8));
}

// ---- what reports say

static bool awaits(const csp_group *group, uint64_t number, const char *text)
{
    char said[200];
    return strcmp(mlt_group_awaits(group, number, said, sizeof said), text) == 0;
}

static void reports_here(void *rank)
{
    (void)rank;
    csp_group *named = csp_group_here("pool", 3), *large = csp_group_here(NULL, 12);
    CHECK(strcmp(mlt_group_name(named), "pool") == 0);
    CHECK(strncmp(mlt_group_name(large), "group ", 6) == 0);
    member m[12];
    csp_child *children[12];
    for (int i = 0; i < 12; i++)
        m[i] = (member){i < 3 ? named : large, i, 0};
    CHECK(awaits(named, 0, "members 0, 1 and 2"));
    children[1] = csp_fork(barrier, &m[1], NULL);
    csp_yield();
    CHECK(awaits(named, 0, "members 0 and 2"));
    CHECK(awaits(named, 1, "members 0, 1 and 2"));
    children[0] = csp_fork(barrier, &m[0], NULL);
    csp_yield();
    CHECK(awaits(named, 0, "member 2"));
    children[2] = csp_fork(barrier, &m[2], NULL);
    for (int i = 0; i < 3; i++)
        CHECK(csp_join(children[i]) == 0);
    csp_group_free(named);
    CHECK(awaits(large, 0, "members 0, 1, 2, 3, 4, 5, 6, 7 and 4 more"));
    char little[8];
    CHECK(strlen(mlt_group_awaits(large, 0, little, sizeof little)) == 7);
    for (int i = 0; i < 12; i++) {
        m[i].group = large;
        children[i] = csp_fork(barrier, &m[i], NULL);
    }
    for (int i = 0; i < 12; i++)
        CHECK(csp_join(children[i]) == 0);
    // `large` is left to mlt_csp_end
}

static int found_one(void *arg)
{
    csp_group_free(csp_group_of_nodes("one", *(int *)arg));
    return 0;
}

// Two ranks of a worker, and one of another: the first waits for its neighbour, then for the other.
static atomic_int stage;

static void await_stage(int which)
{
    while (atomic_load(&stage) < which)
        csp_yield();
}

static void reports_founding(void *rank)
{
    const mlt_rank *me = rank;
    int members = me->world + 1;
    (void)csp_node();
    csp_child *child = NULL;
    if (me->world == 0) {
        child = csp_fork(found_one, &members, NULL);
        csp_yield();
        const mlt_link *views = mlt_groups_views(mlt_csp_self);
        CHECK(awaits(mlt_container_of(views->next, csp_group, link), 0, "rank 1 to found it"));
        atomic_store(&stage, 1);
        await_stage(2);
    } else if (me->world == 1) {
        await_stage(1);
        child = csp_fork(found_one, &members, NULL);
        csp_yield();
        const mlt_link *views = mlt_groups_views(mlt_csp_self);
        CHECK(awaits(mlt_container_of(views->next, csp_group, link), 0, "other nodes to found it"));
        atomic_store(&stage, 2);
    } else {
        await_stage(2);
        found_one(&members);
    }
    if (child)
        CHECK(csp_join(child) == 0);
}

static void reports_between(void *rank)
{
    const mlt_rank *me = rank;
    csp_group *group = csp_group_of_nodes("both", 1);
    member m = {group, me->world, 1};
    if (me->world == 0) {
        csp_child *child = csp_fork(bcast, &m, NULL);
        csp_yield();
        CHECK(awaits(group, 0, "members of rank 1's worker"));
        atomic_store(&stage, 1);
        CHECK(csp_join(child) == 0);
    } else {
        await_stage(1);
        CHECK(bcast(&m) == 0);
    }
    csp_group_free(group);
}

// ---- which algorithms

static void keep_first(void *into, const void *with, size_t count)
{
    (void)into, (void)with, (void)count;
}

static const mlt_plan *plan_of(const csp_group *group, mlt_collective which)
{
    const mlt_plan *plan = group->body->team->plans.recent[which];
    CHECK(plan && plan->choice.alg && !plan->flat);
    return plan;
}

static void expect(const csp_group *group, mlt_collective which, const char *alg, bool forced)
{
    const mlt_plan *plan = plan_of(group, which);
    CHECK(strcmp(plan->choice.alg->name, alg) == 0);
    CHECK((strcmp(plan->choice.by, "built in") != 0) == forced);
}

static void algorithms(void *rank)
{
    const mlt_rank *me = rank;
    csp_group *group = csp_group_of_nodes("all", 1);
    int in = 1, out;
    static const char *const reduces[] = {"linear", "binomial", "gather", "arrival"};
    for (int i = 0; i < 4; i++) {
        char text[64];
        snprintf(text, sizeof text, "reduce=%s,bcast=%s", reduces[i], i % 2 ? "linear" : "chain");
        CHECK(csp_group_force(group, text));
        csp_group_reduce(group, me->world, &in, &out, 1, &csp_sum_int, 0);
        csp_group_bcast(group, me->world, &in, sizeof in, 1);
        expect(group, MLT_COLL_REDUCE, reduces[i], true);
        expect(group, MLT_COLL_BCAST, i % 2 ? "linear" : "chain", true);
    }
    // In any order, but the operands stay in theirs.
    csp_op ordered = {keep_first, sizeof(int), false};
    csp_group_reduce(group, me->world, &in, &out, 1, &ordered, 0);
    expect(group, MLT_COLL_REDUCE, "arrival", true);
    // One that cannot keep it is passed over.
    CHECK(csp_group_force(group, "allreduce=circulant"));
    csp_group_allreduce(group, me->world, &in, &out, 1, &csp_sum_int);
    expect(group, MLT_COLL_ALLREDUCE, "circulant", true);
    csp_group_allreduce(group, me->world, &in, &out, 1, &ordered);
    CHECK(strcmp(plan_of(group, MLT_COLL_ALLREDUCE)->choice.by, "built in") == 0);
    CHECK(strstr(plan_of(group, MLT_COLL_ALLREDUCE)->choice.passed, "circulant"));
    // What is said last counts, and no nonsense does.
    CHECK(csp_group_force(group, "barrier=linear"));
    CHECK(!csp_group_force(group, "barrier=circular") && csp_why()[0]);
    CHECK(!csp_group_force(group, "barrier=tree:flat") && strstr(csp_why(), "combine"));
    csp_group_barrier(group, me->world);
    csp_group_bcast(group, me->world, &in, sizeof in, 1);
    expect(group, MLT_COLL_BARRIER, "linear", true);
    CHECK(strcmp(plan_of(group, MLT_COLL_BCAST)->choice.by, "built in") == 0);
    CHECK(csp_group_force(group, "") && csp_group_force(group, NULL));
    csp_group_barrier(group, me->world);
    CHECK(strcmp(plan_of(group, MLT_COLL_BARRIER)->choice.by, "built in") == 0);
    csp_group_free(group);
}

// The job forces, too, and goes first; that members do not combine is nothing for groups.
static void forced_by_job(void *rank)
{
    const mlt_rank *me = rank;
    csp_group *group = csp_group_of_nodes("all", 1);
    int in = 1, out;
    CHECK(csp_group_force(group, "bcast=linear,reduce=binomial"));
    csp_group_bcast(group, me->world, &in, sizeof in, 0);
    csp_group_reduce(group, me->world, &in, &out, 1, &csp_sum_int, 0);
    expect(group, MLT_COLL_BCAST, "chain", true);
    expect(group, MLT_COLL_REDUCE, "binomial", true);
    csp_group_free(group);
}

static void forced_by_nobody(void *rank)
{
    const mlt_rank *me = rank;
    csp_group *group = csp_group_of_nodes("all", 1);
    int in = 1;
    csp_group_bcast(group, me->world, &in, sizeof in, 0);
    CHECK(strcmp(plan_of(group, MLT_COLL_BCAST)->choice.by, "built in") == 0);
    csp_group_free(group);
}

// ---- coming and going

// Some ranks free at once what others have not heard of yet.
static void short_lives(void *rank)
{
    const mlt_rank *me = rank;
    for (int i = 0; i < 200; i++) {
        csp_group *group = csp_group_of_nodes(i % 3 ? "short" : NULL, (me->world + i) % 3);
        for (int y = (me->world * 7 + i) % 4; y > 0; y--)
            csp_yield();
        csp_group_free(group);
    }
    CHECK(mlt_list_empty(mlt_groups_views(mlt_csp_self)) || me->worker->count > 1);
}

// A process that nobody waits for is inside of a call when the worker ends.
static void left_inside(void *rank)
{
    static member m;
    (void)rank;
    m = (member){csp_group_here("left", 2), 0, 0};
    csp_fork(barrier, &m, NULL);
    csp_yield();
    CHECK(awaits(m.group, 0, "member 1"));
}

int main(void)
{
    _Static_assert(MLT_GROUP_CONTEXTS > UINT32_MAX / 2, "the lower ones are for communicators");
    operators();
    run(1, 1, reports_here);
    run(1, 2, reports_here);
    run(2, 2, reports_founding);
    atomic_store(&stage, 0);
    run(2, 1, reports_between);
    run(3, 1, algorithms);
    mlt_coll_conf_now.force = "bcast=chain,reduce=linear:flat";
    run(2, 1, forced_by_job);
    mlt_coll_conf_now.force = "bcast=of_some_book";
    run(2, 1, forced_by_nobody);
    mlt_coll_conf_now.force = NULL;
    run(1, 1, short_lives);
    run(1, 5, short_lives);
    run(3, 2, short_lives);
    run(1, 1, left_inside);
    return 0;
}
