// SPDX-License-Identifier: BSD-3-Clause
// Exchanged writes: short blocks of several workers lie between each other's, and a call for each
// would take too long. So the leaders of the workers write in rounds:
//
//     round      [ window of leader 0 | window of leader 1 | ... ]  of the file, from the first
//                byte on that anybody still wants to write
//     leaders    put what belongs into another's window there, if they can reach its memory, and tell
//                which blocks they put; to leaders of other hosts they send blocks and data
//     each       writes what is in its window
//
// Windows lie in memory that all leaders of a host share, so data are copied once, by the worker that
// has them. Only the owner knows by a bit a byte what was put: others send it runs of blocks. The
// messages also order the memory: an owner looks at its window after them, and nobody touches the
// window of the next round before the owner has agreed on where that begins.
//
// Windows and messages' memory stay with the file.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "file/merge.h"
#include "mpi/file/file.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "type/kernel.h"

#define TYPE_INT64 (mlt_type_coded((uintptr_t)MPI_INT64_T))

enum {
    ALIGN = 4096,
    NO_RUN = -1,
};

typedef struct mlt_file_exchange {
    mlt_comm *leaders;
    MPI_Win win;
    uint32_t workers, writers; // the first so many leaders have windows
    uint64_t window;           // bytes of one
    unsigned char **near;      // windows of leaders in reach; NULL: not in reach, or no window
    bool *reaches;             // that leader is on this host: its messages have no data
    mlt_file_stage stage;      // this leader's
    void *room;
    unsigned char *out, *in; // messages to all leaders, and from them
    uint64_t out_bytes, out_room, in_room;
    int64_t last; // where the last run of the message to `to` is in out; NO_RUN
    uint32_t to;  // whose window is being cut
    int64_t to_begin;
    MPI_Count *out_count, *in_count;
    MPI_Aint *out_at, *in_at;
} mlt_file_exchange;

// ---- cutting

// One block that begins where the last one ended makes that longer.
static bool extend(mlt_file_exchange *x, const mlt_type_run *run)
{
    mlt_type_run last;
    if (x->last == NO_RUN || run->count != 1)
        return false;
    memcpy(&last, x->out + x->last, sizeof last);
    if (last.count != 1 || last.at + (int64_t)last.length != run->at)
        return false;
    last.length += run->length;
    memcpy(x->out + x->last, &last, sizeof last);
    return true;
}

static void put_near(mlt_file_exchange *x, const mlt_type_run *run, const void *data)
{
    int64_t stride = run->count > 1 ? run->stride : (int64_t)run->length;
    mlt_kernel_strided((char *)x->near[x->to] + (run->at - x->to_begin), stride, data,
                       (int64_t)run->length, run->length, run->count);
    if (extend(x, run))
        return;
    MLT_ARRAY_WANT(x->out, x->out_bytes + sizeof *run, x->out_room);
    memcpy(x->out + x->out_bytes, run, sizeof *run);
    x->last = (int64_t)x->out_bytes;
    x->out_bytes += sizeof *run;
}

static void append(void *user, const mlt_type_run *run, const void *data)
{
    mlt_file_exchange *x = user;
    if (x->near[x->to]) {
        put_near(x, run, data);
        return;
    }
    uint64_t bytes = run->length * run->count, filled = (bytes + 7) & ~UINT64_C(7);
    MLT_ARRAY_WANT(x->out, x->out_bytes + sizeof *run + filled, x->out_room);
    memcpy(x->out + x->out_bytes, run, sizeof *run);
    memcpy(x->out + x->out_bytes + sizeof *run, data, bytes);
    x->out_bytes += sizeof *run + filled;
}

static void cut_window(mlt_file_exchange *x, mlt_file_queue *rest, int64_t limit)
{
    mlt_file_queue_begin(rest, limit);
    for (uint32_t i = 0; i < rest->active_count; i++)
        mlt_file_cut(rest->active[i], limit, x->room, append, x);
    mlt_file_queue_forget(rest);
}

// Messages of this leader for a round that begins there.
static void cut_round(mlt_file_exchange *x, mlt_file_queue *rest, int64_t begin)
{
    x->out_bytes = 0;
    for (uint32_t w = 0; w < x->workers; w++) {
        uint64_t before = x->out_bytes;
        x->to = w;
        x->to_begin = begin + (int64_t)(w * x->window);
        x->last = NO_RUN;
        if (w < x->writers)
            cut_window(x, rest, x->to_begin + (int64_t)x->window);
        x->out_at[w] = (MPI_Aint)before;
        x->out_count[w] = (MPI_Count)(x->out_bytes - before);
    }
}

// ---- rounds

static void send_round(mlt_file_exchange *x, mlt_rank *me)
{
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

static void take_message(mlt_file_exchange *x, const unsigned char *at, uint64_t bytes, bool near)
{
    const unsigned char *end = at + bytes;
    while (at < end) {
        mlt_type_run run;
        memcpy(&run, at, sizeof run);
        at += sizeof run;
        if (near) {
            mlt_file_stage_mark(&x->stage, &run);
            continue;
        }
        mlt_file_stage_put(&x->stage, &run, at);
        at += (run.length * run.count + 7) & ~UINT64_C(7);
    }
}

typedef struct flush {
    mlt_file_job job;
    mlt_file_stage *stage;
    const mlt_file_shared *shared;
    int error;
} flush;

static void run_flush(mlt_file_job *job)
{
    flush *f = mlt_container_of(job, flush, job);
    f->error = mlt_file_stage_flush(f->stage, f->shared->fd, f->shared->locks);
}

static void write_round(mlt_file_exchange *x, mlt_file_lead *l, int64_t begin)
{
    uint32_t own = (uint32_t)x->leaders->rank;
    if (own >= x->writers)
        return;
    mlt_file_stage_move(&x->stage, begin + (int64_t)(own * x->window));
    for (uint32_t w = 0; w < x->workers; w++)
        take_message(x, x->in + x->in_at[w], (uint64_t)x->in_count[w], x->reaches[w]);
    flush f = {.job = {.run = run_flush}, .stage = &x->stage, .shared = l->file->shared};
    mlt_file_desk_wait(l->me, l->file->comm, &f.job);
    l->error = f.error;
}

// ---- opening and closing

static void free_exchange(mlt_file_exchange *x)
{
    mlt_file_stage_fini(&x->stage);
    free(x->near);
    free(x->reaches);
    free(x->out);
    free(x->in);
    free(x->out_count);
    free(x->in_count);
    free(x->out_at);
    free(x->in_at);
    free(x->room);
    free(x);
}

// The windows of leaders that this one reaches. Own memory is in reach in any case.
static void find_near(mlt_file_exchange *x, mlt_rank *me)
{
    for (uint32_t w = 0; w < x->workers; w++) {
        MPI_Aint size = 0, unit;
        void *base = NULL;
        (void)mlt_mpi_Win_shared_query(me, x->win, (int)w, &size, &unit, &base);
        x->reaches[w] = base != NULL;
        x->near[w] = w < x->writers ? base : NULL;
    }
}

static mlt_file_exchange *open_exchange(mlt_file_lead *l, uint32_t writers, uint64_t window)
{
    mlt_file_exchange *x = mlt_take(1, sizeof *x);
    unsigned char *mine = NULL;
    x->leaders = l->file->shared->leaders;
    x->workers = (uint32_t)x->leaders->size;
    x->writers = writers;
    x->window = window;
    // Everybody has some memory, so everybody knows who is in reach.
    uint64_t bytes = (uint32_t)x->leaders->rank < writers ? window : ALIGN;
    if (mlt_mpi_Win_allocate(l->me, (MPI_Aint)bytes, 1, MPI_INFO_NULL, x->leaders, &mine,
                             &x->win) != MPI_SUCCESS ||
        !mlt_file_stage_init(&x->stage, bytes, mine))
        mlt_no_room("a window of %llu bytes of a file", (unsigned long long)window);
    x->near = mlt_take(x->workers, sizeof *x->near);
    x->reaches = mlt_take(x->workers, sizeof *x->reaches);
    x->out_count = mlt_take(x->workers, sizeof *x->out_count);
    x->in_count = mlt_take(x->workers, sizeof *x->in_count);
    x->out_at = mlt_take(x->workers, sizeof *x->out_at);
    x->in_at = mlt_take(x->workers, sizeof *x->in_at);
    x->room = mlt_take(1, MLT_FILE_CUT);
    find_near(x, l->me);
    mlt_file_stage_move(&x->stage, 0);
    return x;
}

void mlt_file_exchange_close(mlt_rank *me, mlt_file_shared *shared)
{
    mlt_file_exchange *x = shared->exchange;
    if (!x)
        return;
    (void)mlt_mpi_Win_free(me, &x->win);
    free_exchange(x);
    shared->exchange = NULL;
}

// The first byte that any leader wants, and the highest error of any.
static int64_t agree(const mlt_file_lead *l, const mlt_file_queue *rest, int *error)
{
    int64_t mine[2] = {-mlt_file_queue_next(rest), *error}, all[2];
    (void)mlt_mpi_Allreduce(l->me, mine, all, 2, TYPE_INT64, MPI_MAX, l->file->shared->leaders);
    *error = (int)all[1];
    return -all[0];
}

void mlt_file_exchange_write(mlt_file_lead *l, uint32_t writers, uint64_t window)
{
    mlt_file_shared *shared = l->file->shared;
    mlt_file_exchange *x = shared->exchange;
    window = (window + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    if (x && (x->writers != writers || x->window < window))
        mlt_file_exchange_close(l->me, shared);
    if (!shared->exchange)
        shared->exchange = open_exchange(l, writers, window);
    x = shared->exchange;
    mlt_file_queue rest = {.all = l->all, .active = l->all, .count = l->count};
    mlt_file_sort(rest.all, rest.count);
    int64_t begin;
    while ((begin = agree(l, &rest, &l->error)) != INT64_MAX && !l->error) {
        begin &= ~(int64_t)(ALIGN - 1);
        cut_round(x, &rest, begin);
        send_round(x, l->me);
        write_round(x, l, begin);
    }
}
