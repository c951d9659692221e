// SPDX-License-Identifier: BSD-3-Clause
// Groups without MPI above them: workers as threads, each with some ranks. What reports say of
// them, which algorithms serve them, and how they come and go. The operations themselves are in
// test/mpi/csp_group.c.
#include "csp/group.h"
#include "p2p/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot/job.h"
#include "coll/plan.h"
#include "coll/settings.h"
#include "p2p/job_test.h"
#include "p2p/settings.h"
#include "p2p/worker.h"

// ---- jobs

static void run(uint32_t workers, uint32_t ranks, void (*entry)(void *rank))
{
    test_job_run(workers, ranks, "direct", entry, mlt_csp_end);
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
    CHECK(mlt_list_empty(mlt_csp_groups_views(mlt_csp_self)) || me->worker->count > 1);
}

// A process that nobody waits for is inside of a call when the worker ends.
static void left_inside(void *rank)
{
    static member m;
    (void)rank;
    m = (member){csp_group_here("left", 2), 0, 0};
    csp_fork(barrier, &m, NULL);
    csp_yield();
}

int main(void)
{
    operators();
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
