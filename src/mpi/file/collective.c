// SPDX-License-Identifier: BSD-3-Clause
// Collective accesses.
//
// The ranks of a worker bring their accesses to its leader, and wait. The leader does them together
// (file/merge.h): the memory of all of them is the process's own. Leaders of several workers then
//
//   reads    read for themselves: what another one reads too is in the system's memory
//   writes   write for themselves if their blocks are long. Short ones lie between each other's as a
//            rule, and a call for each would take too long; so they are exchanged first:
//
//     round      [ window of leader 0 | window of leader 1 | ... ]  of the file, from the first
//                byte on that anybody still wants to write
//     leaders    send each other what belongs into the other's window: runs of blocks, then data
//     each       puts all of it into its window and writes that
//
// Leaders agree on errors in every round, so all ranks learn of them. In atomic mode every access
// is done by itself, under a lock of what it touches.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "file/merge.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"
#include "mpi/file/file.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "os/file.h"

enum {
    ROUND = 16 << 20,  // bytes of the file in a round, of all windows together
    LEAST = 256 << 10, // of a window
    LONG = 4 << 10,    // blocks that a leader writes by itself: an exchange costs more
};

#define TYPE_INT64 (mlt_type_coded((uintptr_t)MPI_INT64_T))

// What the ranks of a worker bring to a call: copies, side by side, so that the leader need not look
// at their stacks, which are cold if there are many.
typedef struct item {
    mlt_file_access access;
    mlt_fiber *fiber;
} item;

typedef struct mlt_file_batch {
    uint32_t count, left; // that came; that have not gone yet
    bool over;
    bool syncs; // no accesses: MPI_File_sync
    int error;
    item items[]; // of all ranks of the worker
} mlt_file_batch;

// What a leader does for its worker.
typedef struct lead {
    mlt_rank *me;
    mlt_file *file;
    mlt_file_batch *batch;
    mlt_file_access **all; // that move something
    uint32_t count;
    int error;
} lead;

// ---- work that may block

typedef struct work {
    mlt_file_job job;
    lead *lead;
    mlt_file_stage *stage;
} work;

static void do_alone(lead *l)
{
    pthread_mutex_lock(&l->file->shared->alone);
    for (uint32_t i = 0; i < l->count; i++)
        mlt_file_access_run(l->all[i]);
    pthread_mutex_unlock(&l->file->shared->alone);
}

static void run_merge(mlt_file_job *job)
{
    lead *l = mlt_container_of(job, work, job)->lead;
    if (l->file->atomic)
        do_alone(l);
    else
        mlt_file_merge(l->all, l->count);
}

static void run_flush(mlt_file_job *job)
{
    work *w = mlt_container_of(job, work, job);
    w->lead->error = mlt_file_stage_flush(w->stage, w->lead->file->shared->fd);
}

static void run_sync(mlt_file_job *job)
{
    lead *l = mlt_container_of(job, work, job)->lead;
    l->error = mlt_os_file_sync(l->file->shared->fd) != 0 ? errno : 0;
}

static void block(lead *l, void (*run)(mlt_file_job *job), mlt_file_stage *stage)
{
    work w = {.job = {.run = run}, .lead = l, .stage = stage};
    mlt_file_desk_wait(l->me, l->file->comm, &w.job);
}

// ---- exchanged writes

typedef struct exchange {
    lead *lead;
    mlt_comm *leaders;
    uint32_t workers, writers; // the first so many leaders have windows
    uint64_t window;           // bytes of one
    mlt_file_stage stage;      // this leader's
    void *room;
    unsigned char *out, *in; // messages to all leaders, and from them
    uint64_t out_bytes, out_room, in_room;
    MPI_Count *out_count, *in_count;
    MPI_Aint *out_at, *in_at;
} exchange;

static void append(void *user, const mlt_type_run *run, const void *data)
{
    exchange *x = user;
    uint64_t bytes = run->length * run->count, filled = (bytes + 7) & ~UINT64_C(7);
    MLT_ARRAY_WANT(x->out, x->out_bytes + sizeof *run + filled, x->out_room);
    memcpy(x->out + x->out_bytes, run, sizeof *run);
    memcpy(x->out + x->out_bytes + sizeof *run, data, bytes);
    x->out_bytes += sizeof *run + filled;
}

static int64_t first_wanted(const lead *l)
{
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < l->count; i++) {
        int64_t next = mlt_file_next(l->all[i]);
        first = next < first ? next : first;
    }
    return first;
}

// Messages of this leader for a round that begins there.
static void cut_round(exchange *x, int64_t begin)
{
    x->out_bytes = 0;
    for (uint32_t w = 0; w < x->workers; w++) {
        uint64_t before = x->out_bytes;
        int64_t limit = begin + (int64_t)((w + 1) * x->window);
        for (uint32_t i = 0; i < x->lead->count && w < x->writers; i++)
            mlt_file_cut(x->lead->all[i], limit, x->room, append, x);
        x->out_at[w] = (MPI_Aint)before;
        x->out_count[w] = (MPI_Count)(x->out_bytes - before);
    }
}

static void send_round(exchange *x)
{
    mlt_rank *me = x->lead->me;
    uint64_t all = 0;
    (void)mlt_mpi_Alltoall(me, x->out_count, 1, TYPE_INT64, x->in_count, 1, TYPE_INT64, x->leaders);
    for (uint32_t w = 0; w < x->workers; w++) {
        x->in_at[w] = (MPI_Aint)all;
        all += (uint64_t)x->in_count[w];
    }
    MLT_ARRAY_WANT(x->in, all + 1, x->in_room);
    MLT_ARRAY_WANT(x->out, x->out_bytes + 1, x->out_room);
    (void)mlt_mpi_Alltoallv_c(me, x->out, x->out_count, x->out_at, MLT_TYPE_BYTE, x->in,
                              x->in_count, x->in_at, MLT_TYPE_BYTE, x->leaders);
}

static void write_round(exchange *x, int64_t begin)
{
    uint32_t own = (uint32_t)x->leaders->rank;
    if (own >= x->writers)
        return;
    mlt_file_stage_move(&x->stage, begin + (int64_t)(own * x->window));
    for (uint32_t w = 0; w < x->workers; w++) {
        const unsigned char *at = x->in + x->in_at[w], *end = at + x->in_count[w];
        while (at < end) {
            mlt_type_run run;
            memcpy(&run, at, sizeof run);
            mlt_file_stage_put(&x->stage, &run, at + sizeof run);
            at += sizeof run + ((run.length * run.count + 7) & ~UINT64_C(7));
        }
    }
    block(x->lead, run_flush, &x->stage);
}

// The first byte that any leader wants, and the highest error of any.
static int64_t agree(const lead *l, mlt_comm *leaders, int *error)
{
    int64_t mine[2] = {-first_wanted(l), *error}, all[2] = {mine[0], mine[1]};
    if (leaders)
        (void)mlt_mpi_Allreduce(l->me, mine, all, 2, TYPE_INT64, MPI_MAX, leaders);
    *error = (int)all[1];
    return -all[0];
}

static uint32_t writers_of(const mlt_file *file, uint32_t workers)
{
    const char *hint = mlt_info_get(file->info, "cb_nodes");
    unsigned long wanted = hint ? strtoul(hint, NULL, 10) : 0;
    return wanted > 0 && wanted < workers ? (uint32_t)wanted : workers;
}

static uint64_t window_of(const mlt_file *file, uint32_t writers)
{
    const char *hint = mlt_info_get(file->info, "cb_buffer_size");
    uint64_t wanted = hint ? strtoull(hint, NULL, 10) : ROUND / writers;
    wanted = wanted < LEAST ? LEAST : wanted > ROUND ? ROUND : wanted;
    return (wanted + 4095) & ~UINT64_C(4095);
}

// Hints count at the first leader; it tells the others.
static void open_exchange(exchange *x, lead *l)
{
    uint32_t workers = (uint32_t)l->file->shared->leaders->size;
    uint32_t writers = writers_of(l->file, workers);
    int64_t told[2] = {writers, (int64_t)window_of(l->file, writers)};
    (void)mlt_mpi_Bcast(l->me, told, 2, TYPE_INT64, 0, l->file->shared->leaders);
    *x = (exchange){.lead = l,
                    .leaders = l->file->shared->leaders,
                    .workers = workers,
                    .writers = (uint32_t)told[0],
                    .window = (uint64_t)told[1]};
    x->out_count = mlt_take(workers, sizeof *x->out_count);
    x->in_count = mlt_take(workers, sizeof *x->in_count);
    x->out_at = mlt_take(workers, sizeof *x->out_at);
    x->in_at = mlt_take(workers, sizeof *x->in_at);
    x->room = mlt_take(1, MLT_FILE_CUT);
    if (!mlt_file_stage_init(&x->stage, x->window))
        mlt_no_room("a window of %llu bytes of a file", (unsigned long long)x->window);
    mlt_file_stage_move(&x->stage, 0);
}

static void close_exchange(exchange *x)
{
    mlt_file_stage_fini(&x->stage);
    free(x->out);
    free(x->in);
    free(x->out_count);
    free(x->in_count);
    free(x->out_at);
    free(x->in_at);
    free(x->room);
}

static void write_exchanged(lead *l)
{
    exchange x;
    int64_t begin;
    open_exchange(&x, l);
    while ((begin = agree(l, x.leaders, &l->error)) != INT64_MAX && !l->error) {
        begin &= ~(int64_t)4095;
        cut_round(&x, begin);
        send_round(&x);
        write_round(&x, begin);
    }
    close_exchange(&x);
}

// ---- the leader

// Blocks of an access are short: their mean counts, of the first few.
static bool is_short(const mlt_file_access *a)
{
    mlt_type_run runs[4];
    uint32_t count = 4;
    if (a->view->contiguous)
        return a->bytes < LONG;
    uint64_t bytes = mlt_type_runs(a->view, a->from, a->bytes, runs, &count), blocks = 0;
    for (uint32_t i = 0; i < count; i++)
        blocks += runs[i].count;
    return bytes / blocks < LONG;
}

// Short blocks of any rank of any worker, unless each worker's lie one after the other.
static bool wants_exchange(const lead *l)
{
    int64_t low = INT64_MAX, high = 0, sum = 0;
    bool some = false;
    for (uint32_t i = 0; i < l->count; i++) {
        const mlt_file_access *a = l->all[i];
        int64_t begin = mlt_file_place(a->begin, a->view, a->from);
        int64_t end = mlt_file_place(a->begin, a->view, a->from + a->bytes - 1) + 1;
        low = begin < low ? begin : low;
        high = end > high ? end : high;
        sum += (int64_t)a->bytes;
        some |= is_short(a);
    }
    return some && sum < high - low;
}

static void write_all(lead *l)
{
    mlt_comm *leaders = l->file->shared->leaders;
    int64_t mine = leaders && !l->file->atomic && wants_exchange(l), any = mine;
    if (leaders)
        (void)mlt_mpi_Allreduce(l->me, &mine, &any, 1, TYPE_INT64, MPI_MAX, leaders);
    if (any)
        write_exchanged(l);
    else
        block(l, run_merge, NULL);
}

static void do_all(lead *l)
{
    mlt_file_batch *b = l->batch;
    l->all = mlt_take(b->count, sizeof *l->all);
    for (uint32_t i = 0; i < b->count; i++)
        if (b->items[i].access.bytes > 0)
            l->all[l->count++] = &b->items[i].access;
    if (b->items[0].access.writes)
        write_all(l);
    else
        block(l, run_merge, NULL);
    for (uint32_t i = 0; i < l->count; i++)
        l->error = l->all[i]->error > l->error ? l->all[i]->error : l->error;
    free(l->all);
    l->count = 0; // nothing is wanted any more
    (void)agree(l, l->file->shared->leaders, &l->error);
}

static void lead_all(mlt_rank *me, mlt_file *file, mlt_file_batch *batch)
{
    lead l = {.me = me, .file = file, .batch = batch};
    if (batch->syncs) {
        block(&l, run_sync, NULL);
        (void)agree(&l, file->shared->leaders, &l.error);
    } else {
        do_all(&l);
    }
    batch->error = l.error;
    batch->over = true;
    const mlt_fiber *own = mlt_rank_fiber(me);
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->items[i].fiber != own)
            mlt_fiber_wake(me->worker->sched, batch->items[i].fiber);
}

// Brings an access to the leader, and waits until it is done. NULL: there is none. Returns
// errno's value.
static int bring(mlt_rank *me, mlt_file *file, mlt_file_access *access)
{
    mlt_file_shared *shared = file->shared;
    const mlt_party *party = mlt_comm_party(file->comm);
    const mlt_team_worker *here = &party->at[party->place];
    mlt_wait wait = {
        .call = mlt_mpi_call(me), .kind = MLT_WAIT_BARRIER, .context = file->comm->context};
    mlt_file_batch *batch = shared->batch;
    if (!batch) {
        batch = shared->batch = mlt_take(1, sizeof *batch + here->present * sizeof(item));
        batch->left = here->present;
        batch->syncs = !access;
    }
    item *mine = &batch->items[batch->count++];
    mine->fiber = mlt_rank_fiber(me);
    if (access)
        mine->access = *access;
    if ((uint32_t)file->comm->rank != here->first) {
        if (batch->count == here->present && shared->leader)
            mlt_fiber_wake(me->worker->sched, shared->leader);
        while (!batch->over)
            mlt_fiber_park(me->worker->sched, &wait);
    } else {
        shared->leader = mine->fiber;
        while (batch->count < here->present)
            mlt_fiber_park(me->worker->sched, &wait);
        shared->leader = NULL;
        shared->batch = NULL;
        lead_all(me, file, batch);
    }
    if (access)
        access->moved = mine->access.moved;
    int error = batch->error;
    if (--batch->left == 0)
        free(batch);
    return error;
}

int mlt_file_do_all(mlt_rank *me, const mlt_file_want *want, uint64_t *bytes)
{
    mlt_file *file = want->file;
    mlt_file_move move;
    mlt_file_view *view = mlt_file_view_hold(file->view);
    mlt_dtype_hold(want->type);
    mlt_file_move_begin(me, &move, want);
    if (view->in_order) {
        move.access.error = bring(me, file, &move.access);
        mlt_file_move_end(me, &move);
    } else { // a read whose view has overlaps: by itself
        mlt_file_access none = {.writes = want->writes, .view = view->shown, .type = want->type};
        mlt_file_do(me, file, &move);
        int error = bring(me, file, &none);
        move.access.error = move.access.error ? move.access.error : error;
    }
    *bytes = mlt_file_move_bytes(&move);
    mlt_dtype_drop(want->type);
    mlt_file_view_drop(view);
    return mlt_file_outcome(me, file, &move);
}

int mlt_file_sync(mlt_rank *me, mlt_file *file)
{
    int error = bring(me, file, NULL);
    if (!error)
        return MPI_SUCCESS;
    return mlt_file_raise(me, file, mlt_file_class(error), "cannot sync '%s': %s",
                          file->shared->path, strerror(error));
}
