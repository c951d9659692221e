// SPDX-License-Identifier: BSD-3-Clause
// Exchanged writes: short blocks of several workers lie between each other's, and a call for each
// would take too long. So the leaders of the workers write in rounds:
//
//     round      [ window of writer 0 | window of writer 1 | ... ]  of the file, from the first
//                byte on that anybody still wants to write
//     leaders    put what belongs into a writer's window there, if they can reach its memory, and tell
//                which blocks they put; to writers of other hosts they send blocks and data
//     writers    write what is in their windows
//
// Some leaders are writers, not more than there are cores as a rule: each leader sends one message to
// each writer in a round, so the messages of a round are leaders times writers.
//
// Windows lie in memory that all leaders of a host share, so data are copied once, by the worker that
// has them. Only the owner knows by a bit a byte what was put: others send it runs of blocks. The
// messages also order the memory: a writer looks at its window after them, and nobody touches the
// window of the next round before the writer has agreed on where that begins.
//
// If there are several rounds, windows are used by halves: a thread writes one while the next round
// is put into the other, so the exchange and the disk work at the same time. A writer agrees on the
// next round after it has written the one before this, so the half is free.
//
// Windows and messages' memory stay with the file.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "file/merge.h"
#include "mpi/file/file.h"
#include "mpi/p2p/request.h"
#include "mpi/p2p/status.h"
#include "mpi/self.h"
#include "mpi/win/win.h"
#include "mpi_bodies.h"
#include "type/kernel.h"

enum {
    FILE_EXCHANGE_ALIGN = 4096, // of rounds and of halves of windows
    NO_RUN = -1,
    TAG = 1, // of messages between leaders, whose communicator has no others
};

// What a writer writes; a thread does it while the next round is exchanged.
typedef struct file_exchange_flush {
    mlt_file_task job;
    mlt_file_stage stage;
    const mlt_file_shared *shared;
    int error;
    bool under_way;
    mlt_req req; // completes when the thread is done
} file_exchange_flush;

typedef struct mlt_file_exchange {
    mlt_comm *leaders;
    MPI_Win win;
    uint32_t workers, writers;
    uint32_t own;                 // the writer that this leader is; NO_WRITER: none
    uint64_t window;              // bytes of one
    uint64_t part;                // of them in a round: all, or a half if there are several rounds
    uint32_t half;                // of the window, which is the round's
    unsigned char **near;         // windows of writers in reach; NULL: not in reach
    bool *reaches;                // that leader is on this host: its messages have no data
    file_exchange_flush flush[2]; // a writer's, for each half
    void *room;
    unsigned char *out, *in; // messages to all writers; one to this writer
    uint64_t out_bytes, out_room, in_room;
    uint64_t *out_at; // [writers + 1]
    int64_t last;     // where the last run of the message to `to` is in out; NO_RUN
    uint32_t to;      // whose window is being cut
    int64_t to_begin;
    MPI_Request *sends; // [writers]
} mlt_file_exchange;

#define NO_WRITER UINT32_MAX

// Writers are spread over all leaders, so all hosts have their share.
static uint32_t leader_of(const mlt_file_exchange *x, uint32_t writer)
{
    return (uint32_t)((uint64_t)writer * x->workers / x->writers);
}

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
    unsigned char *window = x->near[x->to] + x->half * x->part;
    mlt_kernel_strided((char *)window + (run->at - x->to_begin), stride, data, (int64_t)run->length,
                       run->length, run->count);
    if (extend(x, run))
        return;
    MLT_ARRAY_WANT(x->out, x->out_bytes + sizeof *run, x->out_room);
    memcpy(x->out + x->out_bytes, run, sizeof *run);
    x->last = (int64_t)x->out_bytes;
    x->out_bytes += sizeof *run;
}

static void file_exchange_append(void *user, const mlt_type_run *run, const void *data)
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
        mlt_file_cut(rest->active[i], limit, x->room, file_exchange_append, x);
    mlt_file_queue_forget(rest);
}

// Messages of this leader for a round that begins there.
static void cut_round(mlt_file_exchange *x, mlt_file_queue *rest, int64_t begin)
{
    x->out_bytes = 0;
    for (uint32_t w = 0; w < x->writers; w++) {
        x->to = w;
        x->to_begin = begin + (int64_t)(w * x->part);
        x->last = NO_RUN;
        x->out_at[w] = x->out_bytes;
        cut_window(x, rest, x->to_begin + (int64_t)x->part);
    }
    x->out_at[x->writers] = x->out_bytes;
}

// ---- rounds

// Starts all messages but the one to itself; returns how many.
static int send_round(mlt_file_exchange *x, mlt_rank *me)
{
    int count = 0;
    MLT_ARRAY_WANT(x->out, x->out_bytes + 1, x->out_room);
    for (uint32_t w = 0; w < x->writers; w++)
        if (w != x->own)
            (void)mlt_mpi_Isend(me, x->out + x->out_at[w],
                                (MPI_Count)(x->out_at[w + 1] - x->out_at[w]), MLT_TYPE_BYTE,
                                (int)leader_of(x, w), TAG, x->leaders, &x->sends[count++]);
    return count;
}

static void take_message(mlt_file_stage *stage, const unsigned char *at, uint64_t bytes, bool near)
{
    const unsigned char *end = at + bytes;
    while (at < end) {
        mlt_type_run run;
        memcpy(&run, at, sizeof run);
        at += sizeof run;
        if (near) {
            mlt_file_stage_mark(stage, &run);
            continue;
        }
        mlt_file_stage_put(stage, &run, at);
        at += (run.length * run.count + 7) & ~UINT64_C(7);
    }
}

// A message from each other leader, as they come. None of the next round is among them: its sender
// would have agreed on that round with this one.
static void receive_round(mlt_file_exchange *x, mlt_rank *me)
{
    mlt_file_stage *stage = &x->flush[x->half].stage;
    take_message(stage, x->out + x->out_at[x->own], x->out_at[x->own + 1] - x->out_at[x->own],
                 true);
    for (uint32_t i = 1; i < x->workers; i++) {
        MPI_Message message;
        MPI_Status status;
        (void)mlt_message_probe(me, MPI_ANY_SOURCE, TAG, x->leaders, NULL, &message, &status);
        uint64_t bytes = mlt_status_bytes(&status);
        MLT_ARRAY_WANT(x->in, bytes + 1, x->in_room);
        (void)mlt_mpi_Mrecv(me, x->in, (MPI_Count)bytes, MLT_TYPE_BYTE, &message,
                            MPI_STATUS_IGNORE);
        take_message(stage, x->in, bytes, x->reaches[status.MPI_SOURCE]);
    }
}

// ---- writing

static void run_flush(mlt_file_task *job)
{
    file_exchange_flush *f = mlt_container_of(job, file_exchange_flush, job);
    f->error = mlt_file_stage_flush(&f->stage, f->shared->fd, f->shared->locks);
}

static void done_flush(mlt_file_task *job)
{
    mlt_req_complete(&mlt_container_of(job, file_exchange_flush, job)->req);
}

static void await_flush(mlt_file_lead *l, file_exchange_flush *f)
{
    if (f->under_way)
        mlt_req_wait(&f->req, mlt_mpi_call(l->me));
    f->under_way = false;
    l->error = f->error ? f->error : l->error;
    f->error = 0;
}

// later: a thread may do it, if there is one, and the leader goes on.
static void start_flush(mlt_file_lead *l, file_exchange_flush *f, bool later)
{
    f->job = (mlt_file_task){.run = run_flush, .done = done_flush};
    f->shared = l->file->shared;
    mlt_req_fill_other(&f->req, l->me, l->file->comm);
    f->under_way = later && !l->me->worker->sched->gate && mlt_file_service_give(l->me, &f->job);
    if (!f->under_way)
        mlt_file_service_wait(l->me, l->file->comm, &f->job);
}

// later: there are more rounds. What was written of the round before is written when this returns, so
// the half of the window that it was in is free for the next one.
static void write_round(mlt_file_exchange *x, mlt_file_lead *l, int64_t begin, bool later)
{
    int sent = send_round(x, l->me);
    file_exchange_flush *now = &x->flush[x->half], *before = &x->flush[1 - x->half];
    if (x->own != NO_WRITER) {
        mlt_file_stage_move(&now->stage, begin + (int64_t)(x->own * x->part));
        receive_round(x, l->me);
    }
    (void)mlt_mpi_Waitall(l->me, sent, x->sends, MPI_STATUSES_IGNORE);
    if (x->own == NO_WRITER)
        return;
    await_flush(l, before);
    start_flush(l, now, later);
    if (!later)
        await_flush(l, now);
}

// ---- opening and closing

static void free_exchange(mlt_file_exchange *x)
{
    for (int half = 0; half < 2; half++)
        mlt_file_stage_fini(&x->flush[half].stage);
    free(x->near);
    free(x->reaches);
    free(x->out);
    free(x->in);
    free(x->out_at);
    free(x->sends);
    free(x->room);
    free(x);
}

// The windows of writers that this leader reaches. Own memory is in reach in any case.
static void find_near(mlt_file_exchange *x, mlt_rank *me)
{
    for (uint32_t k = 0, w = 0; k < x->workers; k++) {
        MPI_Aint size = 0, unit;
        void *base = NULL;
        (void)mlt_mpi_Win_shared_query(me, (mlt_win *)x->win, (int)k, &size, &unit, &base);
        x->reaches[k] = base != NULL;
        if (w < x->writers && k == leader_of(x, w))
            x->near[w++] = base;
    }
}

static mlt_file_exchange *open_exchange(mlt_file_lead *l, uint32_t writers, uint64_t window)
{
    mlt_file_exchange *x = mlt_xcalloc(1, sizeof *x);
    unsigned char *mine = NULL;
    x->leaders = l->file->shared->leaders;
    x->workers = (uint32_t)x->leaders->size;
    x->writers = writers;
    x->window = window;
    x->own = NO_WRITER;
    for (uint32_t w = 0; w < writers; w++)
        if (leader_of(x, w) == (uint32_t)x->leaders->rank)
            x->own = w;
    // Everybody has some memory, so everybody knows who is in reach.
    uint64_t bytes = x->own != NO_WRITER ? window : 2 * FILE_EXCHANGE_ALIGN;
    mlt_win_recipe r = {.flavor = MPI_WIN_FLAVOR_ALLOCATE, .size = (MPI_Aint)bytes, .unit = 1};
    if (mlt_win_make(l->me, x->leaders, &r, MPI_INFO_NULL, &mine, &x->win) != MPI_SUCCESS ||
        !mlt_file_stage_init(&x->flush[0].stage, bytes, mine) ||
        !mlt_file_stage_init(&x->flush[1].stage, bytes / 2, mine + bytes / 2))
        mlt_no_room("a window of %llu bytes of a file", (unsigned long long)window);
    x->near = mlt_xcalloc(writers, sizeof *x->near);
    x->reaches = mlt_xcalloc(x->workers, sizeof *x->reaches);
    x->out_at = mlt_xcalloc(writers + 1, sizeof *x->out_at);
    x->sends = mlt_xcalloc(writers, sizeof *x->sends);
    x->room = mlt_xcalloc(1, MLT_FILE_CUT);
    find_near(x, l->me);
    for (int half = 0; half < 2; half++)
        mlt_file_stage_move(&x->flush[half].stage, 0);
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
static int64_t file_exchange_agree(const mlt_file_lead *l, const mlt_file_queue *rest, int *error)
{
    int64_t mine[2] = {-mlt_file_queue_next(rest), *error}, all[2];
    mlt_file_allreduce_max(l->me, l->file->shared->leaders, mine, all, 2);
    *error = (int)all[1];
    return -all[0];
}

void mlt_file_exchange_write(mlt_file_lead *l, const mlt_file_agreed *agreed)
{
    mlt_file_shared *shared = l->file->shared;
    mlt_file_exchange *x = shared->exchange;
    uint64_t window =
        (agreed->window + 2 * FILE_EXCHANGE_ALIGN - 1) & ~(uint64_t)(2 * FILE_EXCHANGE_ALIGN - 1);
    if (x && (x->writers != agreed->writers || x->window < window))
        mlt_file_exchange_close(l->me, shared);
    if (!shared->exchange)
        shared->exchange = open_exchange(l, agreed->writers, window);
    x = shared->exchange;
    mlt_file_queue rest = {.all = l->all, .active = l->all, .count = l->count};
    mlt_file_sort(rest.all, rest.count);
    int64_t begin = agreed->from & ~(int64_t)(FILE_EXCHANGE_ALIGN - 1), end = 0;
    bool several = begin + (int64_t)(x->writers * x->window) < agreed->to;
    x->part = several ? x->window / 2 : x->window;
    x->half = 0;
    while (begin != INT64_MAX && !l->error && end < agreed->to) {
        begin &= ~(int64_t)(FILE_EXCHANGE_ALIGN - 1);
        end = begin + (int64_t)(x->writers * x->part);
        cut_round(x, &rest, begin);
        write_round(x, l, begin, several);
        if (end < agreed->to)
            begin = file_exchange_agree(l, &rest, &l->error);
        x->half = several ? 1 - x->half : 0;
    }
    for (int half = 0; half < 2; half++) // the caller agrees on errors
        await_flush(l, &x->flush[half]);
}
