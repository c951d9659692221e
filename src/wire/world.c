// SPDX-License-Identifier: BSD-3-Clause
#include "wire/world.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "boot/ctl.h"

// What comes before a run.
typedef struct mlt_world_start {
    uint32_t proc, worker, rank;
} mlt_world_start;

typedef struct bond {
    struct bond *next;
    uint64_t number;
    uint32_t busy; // calls that make it
    uint32_t count;
    mlt_bond_part parts[];
} bond;

struct mlt_worlds {
    mlt_worlds *next;
    mlt_job *job;
    int ctl;
    pthread_mutex_t lock;     // of bonds, and of who adds
    _Atomic(mlt_world *) all; // the last one first
    bond *bonds;
};

// Processes of a job are one here; a test may have several in one.
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static mlt_worlds *all;

mlt_worlds *mlt_worlds_of(mlt_job *job, int ctl)
{
    pthread_mutex_lock(&all_lock);
    mlt_worlds *w = all;
    while (w && (w->job != job || w->ctl != ctl))
        w = w->next;
    if (!w) {
        w = mlt_xcalloc(1, sizeof *w);
        w->job = job;
        w->ctl = ctl;
        pthread_mutex_init(&w->lock, NULL);
        w->next = all;
        all = w;
    }
    pthread_mutex_unlock(&all_lock);
    return w;
}

// ---- shapes

static uint64_t ranks_of(const mlt_world_run *run) // of a process
{
    return (uint64_t)run->workers * run->ranks + run->larger;
}

bool mlt_world_add_up(mlt_world_shape *s)
{
    uint64_t procs = 0, workers = 0, ranks = 0, hosts = 0;
    for (uint32_t i = 0; i < s->run_count; i++) {
        const mlt_world_run *run = &s->runs[i];
        if (!run->procs || !run->workers || run->larger >= run->workers || !ranks_of(run) ||
            run->procs > MLT_WORLD_MOST || run->workers > MLT_WORLD_MOST ||
            run->ranks > INT32_MAX || run->host >= MLT_WORLD_MOST)
            return false;
        procs += run->procs;
        workers += (uint64_t)run->procs * run->workers;
        if (ranks_of(run) > INT32_MAX || run->procs * ranks_of(run) > INT32_MAX)
            return false;
        ranks += run->procs * ranks_of(run);
        hosts = run->host >= hosts ? run->host + 1 : hosts;
        if (procs > MLT_WORLD_MOST || workers > MLT_WORLD_MOST || ranks > INT32_MAX)
            return false;
    }
    s->procs = (uint32_t)procs;
    s->workers = (uint32_t)workers;
    s->ranks = (uint32_t)ranks;
    s->hosts = (uint32_t)hosts;
    return procs > 0;
}

void mlt_world_own_shape(mlt_job *job, mlt_world_shape *shape)
{
    uint32_t room = 0;
    *shape = (mlt_world_shape){.identity = job->identity};
    for (uint32_t p = 0; p < job->procs; p++) {
        const mlt_job_proc *proc = mlt_job_proc_at(job, p);
        mlt_world_run run = {.host = proc->host,
                             .procs = 1,
                             .workers = proc->workers,
                             .ranks = proc->ranks / proc->workers,
                             .larger = proc->ranks % proc->workers};
        mlt_world_run *last = shape->run_count ? &shape->runs[shape->run_count - 1] : NULL;
        if (last && last->host == run.host && last->workers == run.workers &&
            last->ranks == run.ranks && last->larger == run.larger) {
            last->procs++;
            continue;
        }
        *MLT_ARRAY_ADD(shape->runs, shape->run_count, room) = run;
    }
    if (!mlt_world_add_up(shape))
        mlt_fatal("the job's own table of processes makes no sense");
}

// ---- numbers

static mlt_world *first_of(const mlt_worlds *w)
{
    // acquire: pairs with mlt_worlds_meet; what a world says never changes.
    return w ? atomic_load_explicit(&w->all, memory_order_acquire) : NULL;
}

const mlt_world *mlt_worlds_last(const mlt_worlds *w)
{
    return first_of(w);
}

static mlt_world *by_identity(const mlt_worlds *w, uint64_t identity)
{
    mlt_world *world = first_of(w);
    while (world && world->shape.identity != identity)
        world = world->next;
    return world;
}

// How far back the new one's jump leads: with these, a search takes a number of steps that grows as the
// logarithm of the number of worlds, and nothing that is there already changes. A jump that is as long
// as the one behind it becomes one of both.
static mlt_world *jump_from(mlt_world *last)
{
    if (!last)
        return NULL;
    mlt_world *far = last->jump;
    bool twice = far && far->jump &&
                 last->met_before - far->met_before == far->met_before - far->jump->met_before;
    return twice ? far->jump : last;
}

static uint32_t first_in(const mlt_world *world, size_t field)
{
    return *(const uint32_t *)(const void *)((const char *)world + field);
}

// The one whose numbers, which begin in that field, include n or are the last before it.
static mlt_world *search(const mlt_worlds *w, uint32_t n, size_t field)
{
    mlt_world *world = first_of(w);
    while (world && n < first_in(world, field))
        world = world->jump && n < first_in(world->jump, field) ? world->jump : world->next;
    return world;
}

static mlt_world *add_world(mlt_worlds *w, const mlt_world_shape *shape)
{
    const mlt_world *last = first_of(w);
    const mlt_job *job = w->job;
    uint64_t rank = last ? (uint64_t)last->first_rank + last->shape.ranks : job->ranks;
    uint64_t worker = last ? (uint64_t)last->first_worker + last->shape.workers : job->workers;
    uint64_t proc = last ? (uint64_t)last->first_proc + last->shape.procs : job->procs;
    uint64_t host = last ? (uint64_t)last->first_host + last->shape.hosts : job->hosts;
    if (rank + shape->ranks > INT32_MAX || worker + shape->workers > INT32_MAX ||
        proc + shape->procs > INT32_MAX || host + shape->hosts > INT32_MAX)
        return NULL;
    mlt_world *world = mlt_xcalloc(1, sizeof *world);
    world->shape = *shape;
    world->shape.runs = mlt_xcalloc(shape->run_count, sizeof *shape->runs);
    memcpy(world->shape.runs, shape->runs, shape->run_count * sizeof *shape->runs);
    world->starts = mlt_xcalloc(shape->run_count, sizeof *world->starts);
    mlt_world_start at = {0};
    for (uint32_t i = 0; i < shape->run_count; i++) {
        const mlt_world_run *run = &shape->runs[i];
        world->starts[i] = at;
        at.proc += run->procs;
        at.worker += run->procs * run->workers;
        at.rank += run->procs * (uint32_t)ranks_of(run);
    }
    world->first_rank = (uint32_t)rank;
    world->first_worker = (uint32_t)worker;
    world->first_proc = (uint32_t)proc;
    world->first_host = (uint32_t)host;
    world->next = first_of(w);
    world->jump = jump_from(world->next);
    world->met_before = last ? last->met_before + 1 : 0;
    atomic_store_explicit(&w->all, world, memory_order_release); // pairs with first_of
    return world;
}

mlt_world *mlt_worlds_meet(mlt_worlds *w, const mlt_world_shape *shape)
{
    if (shape->identity == w->job->identity)
        return NULL;
    pthread_mutex_lock(&w->lock);
    mlt_world *world = by_identity(w, shape->identity);
    if (!world)
        world = add_world(w, shape);
    else if (world->shape.run_count != shape->run_count ||
             memcmp(world->shape.runs, shape->runs, shape->run_count * sizeof *shape->runs) != 0)
        world = NULL;
    pthread_mutex_unlock(&w->lock);
    return world;
}

int32_t mlt_worlds_find(const mlt_worlds *w, uint64_t identity, uint32_t rank)
{
    if (identity == w->job->identity)
        return rank < w->job->ranks ? (int32_t)rank : -1;
    const mlt_world *world = by_identity(w, identity);
    return world && rank < world->shape.ranks ? (int32_t)(world->first_rank + rank) : -1;
}

mlt_world *mlt_worlds_of_rank(const mlt_worlds *w, int32_t rank)
{
    return search(w, (uint32_t)rank, offsetof(mlt_world, first_rank));
}

mlt_world *mlt_worlds_of_worker(const mlt_worlds *w, uint32_t worker)
{
    return search(w, worker, offsetof(mlt_world, first_worker));
}

void mlt_worlds_tell(const mlt_worlds *w, const mlt_job *job, int32_t rank, uint64_t *identity,
                     uint32_t *of_it)
{
    const mlt_world *world = (uint32_t)rank < job->ranks ? NULL : mlt_worlds_of_rank(w, rank);
    *identity = world ? world->shape.identity : job->identity;
    *of_it = (uint32_t)rank - (world ? world->first_rank : 0);
}

uint32_t mlt_worlds_workers(const mlt_worlds *w)
{
    const mlt_world *last = first_of(w);
    return last ? last->first_worker + last->shape.workers : w->job->workers;
}

uint32_t mlt_worlds_hosts(const mlt_worlds *w)
{
    const mlt_world *last = first_of(w);
    return last ? last->first_host + last->shape.hosts : w->job->hosts;
}

// ---- places

uint32_t mlt_worlds_worker(const mlt_worlds *w, int32_t rank)
{
    const mlt_world *world = mlt_worlds_of_rank(w, rank);
    mlt_assert(world && (uint32_t)rank - world->first_rank < world->shape.ranks);
    uint32_t r = (uint32_t)rank - world->first_rank, i = world->shape.run_count - 1;
    while (r < world->starts[i].rank)
        i--;
    const mlt_world_run *run = &world->shape.runs[i];
    uint32_t in_run = r - world->starts[i].rank, each = (uint32_t)ranks_of(run);
    uint32_t in_proc = in_run % each, wide = run->larger * (run->ranks + 1);
    uint32_t local =
        in_proc < wide ? in_proc / (run->ranks + 1) : run->larger + (in_proc - wide) / run->ranks;
    return world->first_worker + world->starts[i].worker + in_run / each * run->workers + local;
}

// Of process `in_run` of run i.
static mlt_world_place place_of(const mlt_world *world, uint32_t i, uint32_t in_run)
{
    const mlt_world_run *run = &world->shape.runs[i];
    const mlt_world_start *start = &world->starts[i];
    return (mlt_world_place){
        .world = world,
        .proc = world->first_proc + start->proc + in_run,
        .first_worker = world->first_worker + start->worker + in_run * run->workers,
        .workers = run->workers,
        .first_rank = start->rank + in_run * (uint32_t)ranks_of(run),
        .ranks = (uint32_t)ranks_of(run),
        .host = world->first_host + run->host,
    };
}

mlt_world_place mlt_worlds_place(const mlt_worlds *w, uint32_t worker)
{
    const mlt_world *world = mlt_worlds_of_worker(w, worker);
    mlt_assert(world && worker - world->first_worker < world->shape.workers);
    uint32_t at = worker - world->first_worker, i = world->shape.run_count - 1;
    while (at < world->starts[i].worker)
        i--;
    const mlt_world_run *run = &world->shape.runs[i];
    uint32_t in_run = (at - world->starts[i].worker) / run->workers;
    uint32_t local = (at - world->starts[i].worker) % run->workers;
    mlt_world_place place = place_of(world, i, in_run);
    place.first_rank += local * run->ranks + (local < run->larger ? local : run->larger);
    place.ranks = run->ranks + (local < run->larger);
    return place;
}

bool mlt_worlds_proc(const mlt_worlds *w, uint32_t proc, mlt_world_place *place)
{
    const mlt_world *world = search(w, proc, offsetof(mlt_world, first_proc));
    if (!world || proc - world->first_proc >= world->shape.procs)
        return false;
    uint32_t at = proc - world->first_proc, i = world->shape.run_count - 1;
    while (at < world->starts[i].proc)
        i--;
    *place = place_of(world, i, at - world->starts[i].proc);
    return true;
}

// ---- bonds

static bond *find_bond(const mlt_worlds *w, uint64_t number)
{
    bond *b = w->bonds;
    while (b && b->number != number)
        b = b->next;
    return b;
}

bool mlt_bond_begin(mlt_worlds *w, uint64_t number, const mlt_bond_part *parts, uint32_t count)
{
    pthread_mutex_lock(&w->lock);
    bond *b = find_bond(w, number);
    bool fresh = !b;
    if (fresh) {
        b = mlt_xcalloc(1, sizeof *b + count * sizeof *parts);
        b->number = number;
        b->count = count;
        memcpy(b->parts, parts, count * sizeof *parts);
        b->next = w->bonds;
        w->bonds = b;
        for (uint32_t i = 0; i < count; i++) {
            if (!parts[i].world)
                continue;
            atomic_store_explicit(&parts[i].world->bond_proc, parts[i].first_proc,
                                  memory_order_relaxed);
            // release: whoever sees the bond sees the number above.
            atomic_store_explicit(&parts[i].world->bond, number, memory_order_release);
        }
    }
    b->busy++;
    pthread_mutex_unlock(&w->lock);
    return fresh;
}

static bool is_held(const bond *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (b->parts[i].world &&
            atomic_load_explicit(&b->parts[i].world->holders, memory_order_relaxed) > 0)
            return true;
    return b->busy > 0;
}

static void part(mlt_worlds *w, bond *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        uint64_t number = b->number;
        if (b->parts[i].world)
            (void)atomic_compare_exchange_strong(&b->parts[i].world->bond, &number, 0);
    }
    mlt_ctl head = {.type = MLT_CTL_PARTED, .rank = MLT_CTL_NO_RANK, .value = (int64_t)b->number};
    (void)mlt_ctl_send(w->ctl, &head, NULL);
    free(b);
}

// With the lock.
static void part_from_all(mlt_worlds *w)
{
    for (bond **at = &w->bonds; *at;) {
        bond *b = *at;
        if (is_held(b)) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        part(w, b);
    }
}

void mlt_bond_made(mlt_worlds *w, uint64_t number)
{
    pthread_mutex_lock(&w->lock);
    bond *b = find_bond(w, number);
    mlt_assert(b && b->busy > 0);
    b->busy--;
    part_from_all(w);
    pthread_mutex_unlock(&w->lock);
}

uint32_t mlt_bond_proc(const mlt_worlds *w, uint64_t number, uint32_t proc)
{
    uint32_t found = UINT32_MAX;
    pthread_mutex_lock((pthread_mutex_t *)&w->lock);
    const bond *b = find_bond(w, number);
    for (uint32_t i = 0; b && i < b->count; i++) {
        const mlt_world *world = b->parts[i].world;
        if (world && proc - b->parts[i].first_proc < world->shape.procs)
            found = world->first_proc + proc - b->parts[i].first_proc;
    }
    pthread_mutex_unlock((pthread_mutex_t *)&w->lock);
    return found;
}

void mlt_world_hold(mlt_world *world)
{
    atomic_fetch_add_explicit(&world->holders, 1, memory_order_relaxed);
}

void mlt_world_drop(mlt_worlds *w, mlt_world *world)
{
    pthread_mutex_lock(&w->lock);
    if (atomic_fetch_sub_explicit(&world->holders, 1, memory_order_relaxed) == 1)
        part_from_all(w);
    pthread_mutex_unlock(&w->lock);
}
