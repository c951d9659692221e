// SPDX-License-Identifier: BSD-3-Clause
// What a call wants to move becomes an access (file/access.h), with the conversion that the view's
// representation asks for.
//
// Data that are converted pass through memory of the library's: the whole of them, since a function
// of the user's may be given nothing less. A read that meets the end of the file leaves the rest of the
// user's memory alone: that memory holds the user's own data, converted, before the read.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/error/error.h"
#include "mpi/file/file.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "mpi/type/external32.h"
#include "type/build.h"

uint64_t mlt_file_bytes(const mlt_file_view *view, const mlt_type *type, uint64_t count)
{
    if (view->rep->kind == MLT_DATAREP_MEMORY)
        return count * type->size;
    if (view->rep->kind == MLT_DATAREP_EXTERNAL32)
        return count * mlt_external32_size(type);
    mlt_type made;
    int code;
    if (mlt_datarep_type(mlt_rank_self(), view->rep, type, &made, &code) != MLT_OK)
        return 0;
    uint64_t bytes = count * made.size;
    mlt_type_unmake(&made);
    return bytes;
}

// A call for a block costs more on a disk's file system, which writes whole pages.
enum { NEAR_IN_MEMORY = 4 << 10, NEAR = 32 << 10 };

static mlt_file_sieving move_sieving(const mlt_file_call *want)
{
    const mlt_file *file = want->file;
    if (!want->writes)
        return file->hints.sieve_reads;
    return file->shared->readable && file->view->in_order ? file->hints.sieve_writes
                                                          : MLT_FILE_SIEVE_NEVER;
}

void mlt_file_move_begin(mlt_rank *me, mlt_file_move *move, const mlt_file_call *want)
{
    const mlt_file *file = want->file;
    const mlt_file_view *view = file->view;
    uint64_t bytes = mlt_file_bytes(view, want->type, (uint64_t)want->count);
    *move = (mlt_file_move){.access = {.fd = file->shared->fd,
                                       .writes = want->writes,
                                       .atomic = file->atomic,
                                       .sieve = move_sieving(want),
                                       .locks = file->shared->locks,
                                       .near = file->shared->in_memory ? NEAR_IN_MEMORY : NEAR,
                                       .begin = view->disp,
                                       .view = view->shown,
                                       .from = (uint64_t)want->offset * view->unit,
                                       .bytes = view->shown->size ? bytes : 0,
                                       .buf = (void *)(uintptr_t)want->buf,
                                       .type = want->type},
                            .view = view,
                            .converts = view->rep->kind != MLT_DATAREP_MEMORY,
                            .buf = (void *)(uintptr_t)want->buf,
                            .count = (uint64_t)want->count,
                            .type = want->type};
    if (!move->converts)
        return;
    move->size = want->count ? bytes / (uint64_t)want->count : 0;
    move->converted = mlt_xcalloc(bytes ? bytes : 1, 1);
    move->access.buf = move->converted;
    move->access.type = MLT_TYPE_BYTE;
    if (want->writes || view->rep->kind == MLT_DATAREP_EXTERNAL32)
        move->code = mlt_datarep_write(me, view->rep, want->type, want->buf, (uint64_t)want->count,
                                       move->converted);
    if (move->code != MPI_SUCCESS)
        move->access.bytes = 0;
}

void mlt_file_move_end(mlt_rank *me, mlt_file_move *move)
{
    if (!move->converted)
        return;
    if (!move->access.writes && move->code == MPI_SUCCESS && move->size) {
        uint64_t count = move->access.moved / move->size;
        if (move->view->rep->kind == MLT_DATAREP_EXTERNAL32 && move->access.moved)
            count = move->count; // what was not read converts back to itself
        move->code =
            mlt_datarep_read(me, move->view->rep, move->type, move->buf, count, move->converted);
    }
    free(move->converted);
    move->converted = NULL;
}

uint64_t mlt_file_move_bytes(const mlt_file_move *move)
{
    if (!move->converts)
        return move->access.moved;
    if (!move->size)
        return 0;
    uint64_t whole = move->access.moved / move->size, rest = move->access.moved % move->size;
    if (rest && move->view->rep->kind == MLT_DATAREP_EXTERNAL32 && move->size)
        rest = rest * move->type->size / move->size;
    return whole * move->type->size + rest;
}

// ---- running

typedef struct direct {
    mlt_file_task job;
    mlt_file_access *access;
    mlt_file_shared *shared;
} direct;

static void run_access(mlt_file_access *access, mlt_file_shared *shared)
{
    if (access->atomic)
        pthread_mutex_lock(&shared->atomic_mutex);
    mlt_file_access_run(access);
    if (access->atomic)
        pthread_mutex_unlock(&shared->atomic_mutex);
}

// What the kernel may do in a thread's place; NULL: it may not. It tells only the thread that has asked.
static mlt_file_access *short_read(const mlt_rank *me, mlt_file_access *access)
{
    return !access->writes && !mlt_thread_others_call(me) && mlt_file_access_is_short(access)
               ? access
               : NULL;
}

static void run_direct(mlt_file_task *job)
{
    direct *d = mlt_container_of(job, direct, job);
    run_access(d->access, d->shared);
}

void mlt_file_do(mlt_rank *me, mlt_file *file, mlt_file_move *move)
{
    const mlt_type *type = move->type;
    mlt_file_view *view = mlt_file_view_hold(file->view);
    mlt_file_shared *shared = file->shared;
    mlt_dtype_hold(type);
    shared->refs++;
    direct d = {.job = {.run = run_direct, .read = {.access = short_read(me, &move->access)}},
                .access = &move->access,
                .shared = shared};
    bool shares = me->worker->count > 1;
    if (!shares || !mlt_file_access_now(&move->access))
        mlt_file_service_wait(me, file->comm, &d.job);
    mlt_file_move_end(me, move);
    mlt_file_shared_drop(shared);
    mlt_dtype_drop(type);
    mlt_file_view_drop(view);
}

// ---- requests

// mlt_req.extra
typedef struct request {
    mlt_file_task job;
    mlt_file_move move;
    mlt_req *req;
    mlt_rank *me;
    mlt_file *file;
    mlt_file_shared *shared;
    mlt_file_view *view;
    mlt_comm *comm;
} request;

static void move_run_request(mlt_file_task *job)
{
    request *r = mlt_container_of(job, request, job);
    run_access(&r->move.access, r->shared);
}

static void done_request(mlt_file_task *job)
{
    request *r = mlt_container_of(job, request, job);
    mlt_req *req = r->req;
    mlt_file_move_end(r->me, &r->move);
    req->got = mlt_file_move_bytes(&r->move);
    req->status = r->move.access.error || r->move.code != MPI_SUCCESS ? MLT_ERR_SYSTEM : MLT_OK;
    mlt_req_complete(req);
}

// A thread may do it: no function of the user's is part of it, and the rank's threads stay out.
static bool move_may_wait(const mlt_rank *me, const mlt_file *file)
{
    return !me->worker->sched->gate && file->view->rep->kind != MLT_DATAREP_USER;
}

void mlt_file_start(mlt_rank *me, const mlt_file_call *want, MPI_Request *handle)
{
    mlt_file *file = want->file;
    request *r = mlt_xcalloc(1, sizeof *r);
    r->job = (mlt_file_task){.run = move_run_request, .done = done_request};
    r->me = me;
    r->file = file;
    r->comm = file->comm;
    r->shared = file->shared;
    r->view = mlt_file_view_hold(file->view);
    r->shared->refs++;
    mlt_comm_hold(r->comm);
    mlt_dtype_hold(want->type);
    r->req = mlt_req_new(me);
    mlt_req_fill_other(r->req, me, file->comm);
    r->req->flags = MLT_REQF_FILE;
    r->req->extra = r;
    *handle = mlt_req_handle(r->req);
    mlt_file_move_begin(me, &r->move, want);
    if (!mlt_file_access_now(&r->move.access)) {
        r->job.read.access = short_read(me, &r->move.access);
        if (move_may_wait(me, file) && mlt_file_service_give(me, &r->job))
            return;
        mlt_file_service_wait(me, file->comm, &r->job);
    }
    done_request(&r->job);
}

void mlt_file_request_end(mlt_req *req)
{
    request *r = req->extra;
    mlt_file_shared_drop(r->shared);
    mlt_file_view_drop(r->view);
    mlt_dtype_drop(r->move.type);
    mlt_comm *comm = r->comm;
    free(r);
    mlt_req_free(req);
    mlt_comm_drop(comm);
}

mlt_file *mlt_file_request_file(const mlt_req *req)
{
    const request *r = req->extra;
    return mlt_file_mine(r->me, (MPI_File)r->file);
}

// ---- errors

static int outcome_code(mlt_rank *me, const mlt_file_move *move, const char *path, const char *of)
{
    const mlt_file_access *a = &move->access;
    if (move->code != MPI_SUCCESS)
        return mlt_mpi_code(me, me->fn, MPI_ERR_CONVERSION,
                            "a conversion function of representation '%s'%s failed with code %d",
                            move->view->rep->name, of, move->code);
    return mlt_mpi_code(
        me, me->fn, mlt_file_class(a->error),
        "cannot %s %llu bytes %s byte %lld of '%s'%s: %s (%llu bytes were %s)",
        a->writes ? "write" : "read", (unsigned long long)a->bytes, a->writes ? "to" : "from",
        (long long)mlt_file_place(a->begin, a->view, a->from), path, of, strerror(a->error),
        (unsigned long long)a->moved, a->writes ? "written" : "read");
}

int mlt_file_outcome(mlt_rank *me, mlt_file *file, const mlt_file_move *move)
{
    if (MLT_LIKELY(!move->access.error && move->code == MPI_SUCCESS))
        return MPI_SUCCESS;
    return mlt_file_raise_code(me, file, outcome_code(me, move, file->shared->path, ""));
}

int mlt_file_request_code(mlt_rank *me, const mlt_req *req)
{
    const request *r = req->extra;
    char of[80];
    snprintf(of, sizeof of, " (of %s)", mlt_fn_name(req->fn));
    return outcome_code(me, &r->move, r->shared->path, of);
}
