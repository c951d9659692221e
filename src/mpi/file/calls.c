// SPDX-License-Identifier: BSD-3-Clause
// The calls that read and write. They differ in how the place is found and in how they are driven;
// spec/mpi_forms.tsv says which function is which.

#include "mpi/coll/coll.h"
#include "mpi/file/file.h"
#include "mpi/intercept.h"
#include "mpi/p2p/status.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "os/os.h"

#define CALLS_TYPE_INT64 (mlt_type_coded((uintptr_t)MPI_INT64_T))

// ---- checks

static int check_mode(mlt_rank *me, mlt_file *file, const mlt_file_call *c)
{
    int amode = file->shared->amode;
    if (c->writes && (amode & MPI_MODE_RDONLY))
        return mlt_file_raise(me, file, MPI_ERR_READ_ONLY,
                              "'%s' was opened with MPI_MODE_RDONLY, so it cannot be written",
                              file->shared->path);
    if (!c->writes && (amode & MPI_MODE_WRONLY))
        return mlt_file_raise(me, file, MPI_ERR_ACCESS,
                              "'%s' was opened with MPI_MODE_WRONLY, so it cannot be read",
                              file->shared->path);
    if ((amode & MPI_MODE_SEQUENTIAL) && c->place < MLT_FILE_SHARED)
        return mlt_file_raise(
            me, file, MPI_ERR_UNSUPPORTED_OPERATION,
            "'%s' was opened with MPI_MODE_SEQUENTIAL, which allows calls with the "
            "shared pointer only",
            file->shared->path);
    return MPI_SUCCESS;
}

static int calls_check_data(mlt_rank *me, mlt_file *file, const mlt_file_call *c)
{
    int64_t bytes;
    if (c->count < 0)
        return mlt_file_raise(me, file, MPI_ERR_COUNT,
                              "argument count is %lld, but should be at least 0",
                              (long long)c->count);
    if (!c->type)
        return mlt_file_raise(me, file, MPI_ERR_TYPE,
                              "argument datatype is no valid datatype of this rank");
    if (!c->type->committed && c->count > 0)
        return mlt_file_raise(me, file, MPI_ERR_TYPE,
                              "argument datatype is a type that was not committed; call "
                              "MPI_Type_commit first");
    if (__builtin_mul_overflow((int64_t)c->count, (int64_t)c->type->size, &bytes))
        return mlt_file_raise(
            me, file, MPI_ERR_COUNT,
            "argument count is %lld, but should be so small that the bytes of all "
            "elements fit into 63 bits",
            (long long)c->count);
    if ((uintptr_t)c->buf <= (uintptr_t)MPI_IN_PLACE && bytes > 0 && (c->buf || c->type->code))
        return mlt_file_raise(me, file, MPI_ERR_BUFFER,
                              "argument buf is %p, but should be the address of data, as count is "
                              "above 0",
                              c->buf);
    return MPI_SUCCESS;
}

static int check_place(mlt_rank *me, mlt_file *file, const mlt_file_call *c, uint64_t bytes)
{
    int64_t end;
    uint64_t unit = file->view->unit;
    if (c->place == MLT_FILE_AT && c->offset < 0)
        return mlt_file_raise(me, file, MPI_ERR_ARG,
                              "argument offset is %lld, but should be at least 0",
                              (long long)c->offset);
    int64_t from = c->place == MLT_FILE_AT    ? c->offset
                   : c->place == MLT_FILE_OWN ? file->position
                                              : 0;
    if (__builtin_mul_overflow(from, (int64_t)unit, &end) ||
        __builtin_add_overflow(end, (int64_t)bytes, &end))
        return mlt_file_raise(me, file, MPI_ERR_ARG,
                              "the access would reach beyond byte 2^63 of the view");
    if (file->view->once && (c->place >= MLT_FILE_SHARED || end > (int64_t)file->view->shown->size))
        return mlt_file_raise(
            me, file, MPI_ERR_ARG,
            c->place >= MLT_FILE_SHARED
                ? "the view's filetype is shorter than what it shows, so it has one element, which "
                  "calls with the shared pointer cannot use"
                : "the access reaches beyond the first element of the view's filetype, but the "
                  "second one would lie before the end of it");
    if (bytes % unit != 0)
        return mlt_file_raise(
            me, file, MPI_ERR_ARG,
            "the call moves %llu bytes, but should move a whole number of etypes, "
            "which have %llu",
            (unsigned long long)bytes, (unsigned long long)unit);
    return MPI_SUCCESS;
}

// Checks the call, and finds its place unless a shared pointer says it. etypes: how many it moves.
static int calls_look(mlt_rank *me, mlt_file_call *c, int64_t *etypes)
{
    mlt_file *file = c->file;
    mlt_mpi_yield_if_due(me); // for those that read until another rank has written
    int code = check_mode(me, file, c);
    if (code == MPI_SUCCESS)
        code = calls_check_data(me, file, c);
    if (code != MPI_SUCCESS)
        return code;
    uint64_t bytes = mlt_file_bytes(file->view, c->type, (uint64_t)c->count);
    code = check_place(me, file, c, bytes);
    *etypes = (int64_t)(bytes / file->view->unit);
    if (c->place != MLT_FILE_AT)
        c->offset = file->position;
    return code;
}

// Moves the pointer that the call uses beyond what it will access.
static int advance(mlt_rank *me, mlt_file_call *c, int64_t etypes)
{
    if (c->place == MLT_FILE_OWN)
        c->file->position += etypes;
    return c->place == MLT_FILE_SHARED ? mlt_file_pointer_add(me, c->file, etypes, &c->offset)
                                       : MPI_SUCCESS;
}

// In the order of ranks: each begins where those before it end.
static int line_up(mlt_rank *me, mlt_file_call *c, int64_t etypes)
{
    mlt_file *file = c->file;
    int64_t mine = etypes, upto = 0, base = 0;
    int last = file->comm->size - 1;
    (void)mlt_coll_one_block(me, MLT_COLL_SCAN, &mine, &upto, 1, CALLS_TYPE_INT64, MPI_SUM, 0,
                             file->comm, MLT_BLOCKING);
    int code = MPI_SUCCESS;
    if (file->comm->rank == last)
        code = mlt_file_pointer_add(me, file, upto, &base);
    mlt_file_bcast(me, file->comm, &base, last);
    c->offset = base + upto - etypes;
    return code;
}

static void calls_tell(MPI_Status *status, uint64_t bytes)
{
    mlt_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes, false);
}

// ---- ways to drive a call

// Of a call whose place is found.
static int move_now(mlt_rank *me, mlt_file_call *c, int64_t etypes, MPI_Status *status,
                    uint64_t *moved)
{
    mlt_file *file = c->file;
    mlt_file_move move;
    int64_t unit = (int64_t)file->view->unit;
    mlt_file_move_begin(me, &move, c);
    mlt_file_do(me, file, &move);
    if (c->place == MLT_FILE_OWN &&
        move.access.moved < move.access.bytes) // the end of the file, or an error
        file->position -= etypes - (int64_t)move.access.moved / unit;
    *moved = move.access.moved;
    calls_tell(status, mlt_file_move_bytes(&move));
    return mlt_file_outcome(me, file, &move);
}

static int find_now(mlt_rank *me, mlt_file_call *c, int64_t *etypes)
{
    int code = calls_look(me, c, etypes);
    return code == MPI_SUCCESS ? advance(me, c, *etypes) : code;
}

int mlt_file_call_now(mlt_rank *me, mlt_file_call c, MPI_Status *status)
{
    int64_t etypes;
    uint64_t moved;
    int code = find_now(me, &c, &etypes);
    return code == MPI_SUCCESS ? move_now(me, &c, etypes, status, &moved) : code;
}

int mlt_file_cached_now(mlt_rank *me, mlt_file_call c, MPI_Status *status,
                        mlt_intercept_call *along)
{
    if (!along->walk.at_cache)
        return mlt_file_call_now(me, c, status);
    int64_t etypes;
    uint16_t fn = me->fn;
    int code = find_now(me, &c, &etypes);
    if (code != MPI_SUCCESS)
        return code;
    mlt_intercept_call asked = *along;
    uint64_t begin = (uint64_t)mlt_os_now_ns(), moved = mlt_file_cached_answer(&c, &asked);
    if (moved) {
        calls_tell(status, moved);
        return MPI_SUCCESS;
    }
    mlt_intercept_goes_on(me, fn, along);
    code = move_now(me, &c, etypes, status, &moved);
    if (code == MPI_SUCCESS)
        mlt_file_cached_note(&c, &asked, moved, begin);
    return code;
}

int mlt_file_call_later(mlt_rank *me, mlt_file_call c, MPI_Request *request)
{
    int64_t etypes;
    int code = calls_look(me, &c, &etypes);
    if (code == MPI_SUCCESS)
        code = advance(me, &c, etypes);
    if (code == MPI_SUCCESS)
        mlt_file_start(me, &c, request);
    return code;
}

// A rank whose arguments are wrong comes with nothing, so that the others do not wait for it.
static int together(mlt_rank *me, mlt_file_call c, uint64_t *bytes)
{
    int64_t etypes = 0;
    int code = calls_look(me, &c, &etypes);
    mlt_file *file = c.file;
    if (code != MPI_SUCCESS) {
        c = (mlt_file_call){
            .file = file, .writes = c.writes, .place = c.place, .type = MLT_TYPE_BYTE};
        etypes = 0;
    }
    int lined = c.place == MLT_FILE_ORDERED ? line_up(me, &c, etypes) : MPI_SUCCESS;
    if (c.place == MLT_FILE_OWN)
        file->position += etypes;
    uint64_t moved = 0;
    int done = mlt_file_do_all(me, &c, &moved);
    *bytes = moved;
    bool is_short = done == MPI_SUCCESS && moved < (uint64_t)c.count * c.type->size;
    if (c.place == MLT_FILE_OWN && is_short) // the end of the file
        file->position -=
            etypes - (int64_t)(moved / c.type->size * mlt_file_bytes(file->view, c.type, 1) /
                               file->view->unit);
    return code != MPI_SUCCESS ? code : lined != MPI_SUCCESS ? lined : done;
}

int mlt_file_call_all(mlt_rank *me, mlt_file_call c, MPI_Status *status)
{
    uint64_t bytes = 0;
    int code = together(me, c, &bytes);
    calls_tell(status, bytes);
    return code;
}

int mlt_file_call_begin(mlt_rank *me, mlt_file_call c)
{
    mlt_file *file = c.file;
    if (file->split)
        return mlt_file_raise(me, file, MPI_ERR_OTHER,
                              "%s has no end yet: a file has one split collective access at a time",
                              mlt_fn_name(file->split));
    uint64_t bytes = 0;
    int code = together(me, c, &bytes);
    if (code != MPI_SUCCESS)
        return code;
    file->split = me->fn;
    file->split_bytes = bytes;
    file->split_buf = c.buf;
    return MPI_SUCCESS;
}

int mlt_file_call_end(mlt_rank *me, mlt_file *file, const void *buf, MPI_Status *status,
                      uint16_t first, uint16_t first_c)
{
    if (file->split != first && file->split != first_c)
        return mlt_file_raise(
            me, file, MPI_ERR_OTHER, "%s%s was called before it, but should be %s",
            file->split ? mlt_fn_name(file->split) : "no first half",
            file->split ? "" : " of a split collective access", mlt_fn_name(first));
    if (buf != file->split_buf)
        return mlt_file_raise(me, file, MPI_ERR_BUFFER,
                              "argument buf is %p, but should be %p, which %s was given", buf,
                              file->split_buf, mlt_fn_name(file->split));
    file->split = 0;
    calls_tell(status, file->split_bytes);
    return MPI_SUCCESS;
}
