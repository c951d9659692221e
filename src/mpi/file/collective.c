// SPDX-License-Identifier: BSD-3-Clause
// Collective accesses.
//
// The ranks of a worker bring their accesses to its leader, and wait. The leader does them together
// (file/merge.h): the memory of all of them is the process's own. Leaders of several workers then
//
//   reads    read for themselves: what another one reads too is in the page cache
//   writes   write for themselves if their blocks are long, and exchange short ones first
//            (exchange.c)
//
// Leaders agree on errors, so all ranks learn of them. In atomic mode every access is done by itself,
// under a lock of what it touches.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "file/merge.h"
#include "mpi/file/file.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "os/file.h"

enum {
    COLLECTIVE_LEAST = 256 << 10, // bytes of a window in an exchange
    // A block of at least so many bytes is long: its leader writes it itself, as an exchange would
    // cost more. Writers of a disk's file wait for each other in the system, so few large calls are
    // worth more there.
    LONG_IN_MEMORY = 4 << 10,
    LONG = 64 << 10,
};

// What the ranks of a worker bring to a call: copies, side by side, so that the leader need not look
// at their stacks, which are cold if there are many.
typedef struct item {
    mlt_file_access access;
    mlt_fiber *fiber;
} item;

typedef struct mlt_file_batch {
    uint32_t count, to_leave; // ranks that came; that have not gone yet
    bool done;
    bool syncs; // no accesses: MPI_File_sync
    int error;
    item items[]; // of all ranks of the worker
} mlt_file_batch;

// ---- work that may block

typedef struct work {
    mlt_file_task job;
    mlt_file_lead *lead;
} work;

static void run_atomic(mlt_file_lead *l)
{
    pthread_mutex_lock(&l->file->shared->atomic_mutex);
    for (uint32_t i = 0; i < l->count; i++)
        mlt_file_access_run(l->all[i]);
    pthread_mutex_unlock(&l->file->shared->atomic_mutex);
}

static void run_merge(mlt_file_task *job)
{
    mlt_file_lead *l = mlt_container_of(job, work, job)->lead;
    if (l->file->atomic)
        run_atomic(l);
    else
        mlt_file_merge(l->all, l->count);
}

static void run_sync(mlt_file_task *job)
{
    mlt_file_lead *l = mlt_container_of(job, work, job)->lead;
    const mlt_file_shared *shared = l->file->shared;
    bool refreshes = shared->may_be_stale && shared->readable;
    l->error = mlt_os_file_sync(shared->fd) != 0 ? errno : 0;
    if (!l->error && refreshes && mlt_os_file_refresh(shared->fd) != 0)
        l->error = errno;
}

// On a thread if there is one, so that the worker's other ranks run meanwhile.
static void run_on_thread(mlt_file_lead *l, void (*run)(mlt_file_task *job))
{
    work w = {.job = {.run = run}, .lead = l};
    mlt_file_service_wait(l->me, l->file->comm, &w.job);
}

// ---- the leader

// Whether an access's blocks are short on average; only the first runs are looked at.
static bool has_short_blocks(const mlt_file_access *a, uint64_t least)
{
    mlt_type_run runs[4];
    uint32_t count = 4;
    if (a->view->contiguous)
        return a->bytes < least;
    uint64_t bytes = mlt_type_runs(a->view, a->from, a->bytes, runs, &count), blocks = 0;
    for (uint32_t i = 0; i < count; i++)
        blocks += runs[i].count;
    return bytes / blocks < least;
}

// Where the accesses of a worker lie, and whether it wants to exchange them: short blocks of any rank,
// unless they fill their span without gaps.
static bool wants_exchange(const mlt_file_lead *l, int64_t *from, int64_t *to)
{
    int64_t low = INT64_MAX, high = 0, sum = 0;
    uint64_t least = l->file->shared->in_memory ? LONG_IN_MEMORY : LONG;
    bool some = false;
    for (uint32_t i = 0; i < l->count; i++) {
        const mlt_file_access *a = l->all[i];
        int64_t begin = mlt_file_place(a->begin, a->view, a->from);
        int64_t end = mlt_file_place(a->begin, a->view, a->from + a->bytes - 1) + 1;
        low = begin < low ? begin : low;
        high = end > high ? end : high;
        sum += (int64_t)a->bytes;
        some |= has_short_blocks(a, least);
    }
    *from = low;
    *to = high;
    return some && sum < high - low;
}

// What leaders agree on; those from writers on are the hints of the first one.
enum {
    AGREE_WANTS, // somebody wants to exchange
    AGREE_MINUS_LOW,
    AGREE_HIGH,
    AGREE_WRITERS,
    AGREE_WINDOW,
    AGREE_EXCHANGE,
    AGREE_NUMBERS
};

// Leaders agree on whether anybody exchanges, and on the windows: hints count at the first one, and all
// writers have a part if it is not too small.
static void write_batch(mlt_file_lead *l)
{
    mlt_comm *leaders = l->file->shared->leaders;
    if (!leaders || l->file->atomic) {
        run_on_thread(l, run_merge);
        return;
    }
    int64_t low, high;
    bool wants = wants_exchange(l, &low, &high);
    int64_t mine[AGREE_NUMBERS] = {
        [AGREE_WANTS] = wants, [AGREE_MINUS_LOW] = -low, [AGREE_HIGH] = high};
    int64_t all[AGREE_NUMBERS];
    if (leaders->rank == 0) {
        const mlt_file_hints *h = &l->file->hints;
        mine[AGREE_WRITERS] = h->writers;
        mine[AGREE_WINDOW] = (int64_t)h->window;
        mine[AGREE_EXCHANGE] = h->exchange;
    }
    mlt_file_allreduce_max(l->me, leaders, mine, all, AGREE_NUMBERS);
    bool some = -all[AGREE_MINUS_LOW] < all[AGREE_HIGH];
    if (!some || all[AGREE_EXCHANGE] == MLT_FILE_EXCHANGE_NEVER ||
        (all[AGREE_EXCHANGE] == MLT_FILE_EXCHANGE_SHORT && !all[AGREE_WANTS])) {
        run_on_thread(l, run_merge);
        return;
    }
    mlt_file_agreed agreed = {.from = -all[AGREE_MINUS_LOW],
                              .to = all[AGREE_HIGH],
                              .writers = (uint32_t)all[AGREE_WRITERS]};
    int64_t part = ((agreed.to - agreed.from) / agreed.writers | (COLLECTIVE_LEAST - 1)) + 1;
    agreed.window = (uint64_t)(part < all[AGREE_WINDOW] ? part : all[AGREE_WINDOW]);
    mlt_file_exchange_write(l, &agreed);
}

// The highest error of any leader.
static int max_of_leaders(const mlt_file_lead *l, int error)
{
    int64_t mine = error, all = error;
    if (l->file->shared->leaders)
        mlt_file_allreduce_max(l->me, l->file->shared->leaders, &mine, &all, 1);
    return (int)all;
}

static void run_batch(mlt_file_lead *l, mlt_file_batch *b)
{
    l->all = mlt_xcalloc(b->count, sizeof *l->all);
    for (uint32_t i = 0; i < b->count; i++)
        if (b->items[i].access.bytes > 0)
            l->all[l->count++] = &b->items[i].access;
    if (b->items[0].access.writes)
        write_batch(l);
    else
        run_on_thread(l, run_merge);
    for (uint32_t i = 0; i < l->count; i++)
        l->error = l->all[i]->error > l->error ? l->all[i]->error : l->error;
    free(l->all);
    l->error = max_of_leaders(l, l->error);
}

static void lead_batch(mlt_rank *me, mlt_file *file, mlt_file_batch *batch)
{
    mlt_file_lead l = {.me = me, .file = file};
    if (batch->syncs) {
        run_on_thread(&l, run_sync);
        l.error = max_of_leaders(&l, l.error);
    } else {
        run_batch(&l, batch);
    }
    batch->error = l.error;
    batch->done = true;
    const mlt_fiber *own = mlt_rank_fiber(me);
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->items[i].fiber != own)
            mlt_fiber_wake(me->worker->sched, batch->items[i].fiber);
}

// Brings an access to the leader, and waits until it is done. NULL: there is none. Returns
// errno's value.
static int join_batch(mlt_rank *me, mlt_file *file, mlt_file_access *access)
{
    mlt_file_shared *shared = file->shared;
    mlt_wait wait = {
        .call = mlt_mpi_call(me), .kind = MLT_WAIT_COLLECTIVE, .context = shared->context};
    mlt_file_batch *batch = shared->batch;
    if (!batch) {
        batch = shared->batch = mlt_xcalloc(1, sizeof *batch + shared->present * sizeof(item));
        batch->to_leave = shared->present;
        batch->syncs = !access;
    }
    item *mine = &batch->items[batch->count++];
    mine->fiber = mlt_rank_fiber(me);
    if (access)
        mine->access = *access;
    if (!file->leads) {
        if (batch->count == shared->present && shared->leader)
            mlt_fiber_wake(me->worker->sched, shared->leader);
        while (!batch->done)
            mlt_fiber_park(me->worker->sched, &wait);
    } else {
        shared->leader = mine->fiber;
        while (batch->count < shared->present)
            mlt_fiber_park(me->worker->sched, &wait);
        shared->leader = NULL;
        shared->batch = NULL;
        lead_batch(me, file, batch);
    }
    if (access)
        access->moved = mine->access.moved;
    int error = batch->error;
    if (--batch->to_leave == 0)
        free(batch);
    return error;
}

int mlt_file_do_all(mlt_rank *me, const mlt_file_call *want, uint64_t *bytes)
{
    mlt_file *file = want->file;
    mlt_file_move move;
    mlt_file_view *view = mlt_file_view_hold(file->view);
    mlt_dtype_hold(want->type);
    mlt_file_move_begin(me, &move, want);
    if (view->in_order) {
        move.access.error = join_batch(me, file, &move.access);
        mlt_file_move_end(me, &move);
    } else { // a read whose view has overlaps: by itself
        mlt_file_access none = {.writes = want->writes, .view = view->shown, .type = want->type};
        mlt_file_do(me, file, &move);
        int error = join_batch(me, file, &none);
        move.access.error = move.access.error ? move.access.error : error;
    }
    *bytes = mlt_file_move_bytes(&move);
    mlt_dtype_drop(want->type);
    mlt_file_view_drop(view);
    return mlt_file_outcome(me, file, &move);
}

int mlt_file_sync(mlt_rank *me, mlt_file *file)
{
    int error = join_batch(me, file, NULL);
    if (!error)
        return MPI_SUCCESS;
    return mlt_file_raise(me, file, mlt_file_class(error), "cannot sync '%s': %s",
                          file->shared->path, strerror(error));
}
