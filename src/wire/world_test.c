// SPDX-License-Identifier: BSD-3-Clause
// Numbers of other jobs, compared with lists that are counted out one by one; bonds and who holds
// them.
#include "wire/world.h"

#include <string.h>

#include "base/unit_test.h"

static mlt_job job = {.hosts = 2, .procs = 3, .workers = 5, .ranks = 11, .identity = 7};

static uint32_t sizes_of(const mlt_world_run *run, uint32_t worker)
{
    return run->ranks + (worker < run->larger);
}

// Every rank, worker and process of the world, one after the other.
static void compare(const mlt_worlds *worlds, const mlt_world *world)
{
    uint32_t rank = world->first_rank, worker = world->first_worker, proc = world->first_proc;
    for (uint32_t i = 0; i < world->shape.run_count; i++) {
        const mlt_world_run *run = &world->shape.runs[i];
        for (uint32_t p = 0; p < run->procs; p++, proc++) {
            mlt_world_place of_proc;
            CHECK(mlt_worlds_proc(worlds, proc, &of_proc));
            CHECK(of_proc.first_worker == worker && of_proc.workers == run->workers);
            CHECK(of_proc.host == world->first_host + run->host && of_proc.world == world);
            for (uint32_t w = 0; w < run->workers; w++, worker++) {
                mlt_world_place place = mlt_worlds_place(worlds, worker);
                CHECK(place.proc == proc && place.ranks == sizes_of(run, w));
                CHECK(place.first_rank == rank - world->first_rank);
                for (uint32_t r = 0; r < sizes_of(run, w); r++, rank++) {
                    uint64_t identity;
                    uint32_t own;
                    CHECK(mlt_worlds_worker(worlds, (int32_t)rank) == worker);
                    mlt_worlds_tell(worlds, &job, (int32_t)rank, &identity, &own);
                    CHECK(identity == world->shape.identity);
                    CHECK(mlt_worlds_find(worlds, identity, own) == (int32_t)rank);
                }
            }
        }
    }
    CHECK(rank == world->first_rank + world->shape.ranks);
}

static mlt_world *meet(mlt_worlds *worlds, uint64_t identity, mlt_world_run *runs, uint32_t count)
{
    mlt_world_shape shape = {.identity = identity, .runs = runs, .run_count = count};
    CHECK(mlt_world_add_up(&shape));
    return mlt_worlds_meet(worlds, &shape);
}

static void test_numbers(mlt_worlds *worlds)
{
    mlt_world_run alike[] = {{0, 4, 1, 1, 0}};
    mlt_world_run mixed[] = {{0, 2, 3, 2, 1}, {1, 1, 1, 5, 0}, {0, 3, 4, 0, 2}, {2, 1, 2, 7, 1}};
    mlt_world *a = meet(worlds, 100, alike, 1), *b = meet(worlds, 200, mixed, 4);
    CHECK(a && b && a->first_rank == job.ranks && b->first_rank == job.ranks + 4);
    CHECK(a->first_worker == job.workers && b->first_host == job.hosts + 1);
    compare(worlds, a);
    compare(worlds, b);
    CHECK(meet(worlds, 100, alike, 1) == a);    // the same numbers again
    CHECK(meet(worlds, 100, mixed, 4) == NULL); // another shape
    CHECK(meet(worlds, job.identity, alike, 1) == NULL);
    CHECK(mlt_worlds_find(worlds, 100, 4) == -1 && mlt_worlds_find(worlds, 300, 0) == -1);
    CHECK(mlt_worlds_find(worlds, job.identity, 10) == 10);
    CHECK(mlt_worlds_workers(worlds) == b->first_worker + b->shape.workers);
}

// Jobs that came and went: each is found, in few steps.
static void test_many(mlt_worlds *worlds)
{
    enum { MANY = 1000, FEW = 20 };
    mlt_world_run run[] = {{0, 2, 1, 1, 0}};
    mlt_world *met[MANY];
    for (uint32_t i = 0; i < MANY; i++)
        met[i] = meet(worlds, 1000 + i, run, 1);
    for (uint32_t i = 0; i < MANY; i++) {
        CHECK(met[i]);
        compare(worlds, met[i]);
    }
    CHECK(!mlt_worlds_of_rank(worlds, (int32_t)job.ranks - 1));
    CHECK(!mlt_worlds_of_worker(worlds, job.workers - 1));
    int steps = 0;
    for (const mlt_world *world = mlt_worlds_last(worlds); world; world = world->jump)
        steps++;
    CHECK(steps <= FEW);
}

static void test_refused(void)
{
    mlt_world_run bad[][1] = {{{0, 0, 1, 1, 0}},
                              {{0, 1, 0, 1, 0}},
                              {{0, 1, 1, 0, 0}},
                              {{0, 1, 2, 1, 2}},
                              {{0, 1 << 20, 1 << 20, 1, 0}},
                              {{0, 2, 1, INT32_MAX, 0}},
                              {{UINT32_MAX, 1, 1, 1, 0}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mlt_world_shape shape = {.runs = bad[i], .run_count = 1};
        CHECK(!mlt_world_add_up(&shape));
    }
}

static void test_bonds(mlt_worlds *worlds)
{
    mlt_world_run run[] = {{0, 3, 1, 1, 0}};
    mlt_world *a = meet(worlds, 400, run, 1);
    mlt_bond_part parts[] = {{.world = NULL}, {.world = a, .first_proc = job.procs}};
    CHECK(mlt_bond_begin(worlds, 55, parts, 2));
    CHECK(!mlt_bond_begin(worlds, 55, parts, 2)); // another worker of the process
    CHECK(mlt_bond_proc(worlds, 55, job.procs + 1) == a->first_proc + 1);
    CHECK(mlt_bond_proc(worlds, 55, 0) == UINT32_MAX && mlt_bond_proc(worlds, 56, 3) == UINT32_MAX);
    mlt_world_hold(a);
    mlt_bond_made(worlds, 55);
    mlt_bond_made(worlds, 55);
    CHECK(atomic_load(&a->bond) == 55); // held
    mlt_world_drop(worlds, a);
    CHECK(atomic_load(&a->bond) == 0 && mlt_bond_proc(worlds, 55, job.procs) == UINT32_MAX);
    CHECK(mlt_bond_begin(worlds, 66, parts, 2)); // again, and it fails before somebody holds it
    mlt_bond_made(worlds, 66);
    CHECK(atomic_load(&a->bond) == 0);
}

int main(void)
{
    mlt_worlds *worlds = mlt_worlds_of(&job, -1);
    CHECK(mlt_worlds_of(&job, -1) == worlds);
    test_numbers(worlds);
    test_refused();
    test_bonds(worlds);
    test_many(worlds);
    return 0;
}
