// SPDX-License-Identifier: BSD-3-Clause
// Where accesses begin: seeks and positions, and the shared pointer.
//
// The shared pointer is a word in a window of the file's own, in the memory of rank 0. An access
// adds what it moves and gets what was there before, in one atomic operation: on one host that is an
// instruction on shared memory; over hosts rank 0's worker answers. The window's epoch lasts as long
// as the file is open. Behind the pointer lie the locks of writers (file/lock.h).
#include <errno.h>
#include <string.h>

#include "mpi/file/file.h"
#include "mpi/self.h"
#include "mpi/win/win.h"
#include "mpi_bodies.h"
#include "os/file.h"

#define POINTER_TYPE_INT64 (mlt_type_coded((uintptr_t)MPI_INT64_T))

typedef struct pointer_common {
    int64_t pointer;
    mlt_file_locks locks;
} pointer_common;

int mlt_file_pointer_open(mlt_rank *me, mlt_file *file)
{
    pointer_common *mine = NULL;
    bool first = file->comm->rank == 0;
    mlt_win_recipe r = {
        .flavor = MPI_WIN_FLAVOR_ALLOCATE, .size = first ? sizeof *mine : 0, .unit = 1};
    int code = mlt_win_make(me, file->comm, &r, MPI_INFO_NULL, &mine, &file->window);
    if (code != MPI_SUCCESS)
        return code;
    if (first)
        memset(mine, 0, sizeof *mine);
    (void)mlt_blocking_Barrier(me, file->comm);
    return mlt_mpi_Win_lock_all(me, MPI_MODE_NOCHECK, (mlt_win *)file->window);
}

mlt_file_locks *mlt_file_pointer_locks(mlt_rank *me, mlt_file *file)
{
    MPI_Aint size, unit;
    pointer_common *first = NULL;
    int code = mlt_mpi_Win_shared_query(me, (mlt_win *)file->window, 0, &size, &unit, &first);
    return code == MPI_SUCCESS && first ? &first->locks : NULL;
}

int mlt_file_pointer_close(mlt_rank *me, mlt_file *file)
{
    int code = mlt_mpi_Win_unlock_all(me, (mlt_win *)file->window);
    return code == MPI_SUCCESS ? mlt_mpi_Win_free(me, &file->window) : code;
}

static int change(mlt_rank *me, mlt_file *file, int64_t value, MPI_Op op, int64_t *before)
{
    int code = mlt_mpi_Fetch_and_op(me, &value, before, POINTER_TYPE_INT64, 0, 0, op,
                                    (mlt_win *)file->window);
    return code == MPI_SUCCESS ? mlt_mpi_Win_flush(me, 0, (mlt_win *)file->window) : code;
}

int mlt_file_pointer_add(mlt_rank *me, mlt_file *file, int64_t etypes, int64_t *before)
{
    return change(me, file, etypes, etypes ? MPI_SUM : MPI_NO_OP, before);
}

int mlt_file_pointer_set(mlt_rank *me, mlt_file *file, int64_t etypes)
{
    int64_t before;
    return change(me, file, etypes, MPI_REPLACE, &before);
}

// ---- seeks

// The etypes of the view that lie before the end of the file; one that the end cuts counts.
static int end_of(mlt_rank *me, mlt_file *file, int64_t *etypes)
{
    int64_t bytes;
    const mlt_file_view *view = file->view;
    mlt_mpi_yield_if_due(me);
    if (mlt_os_file_size(file->shared->fd, &bytes) != 0)
        return mlt_file_raise(me, file, mlt_file_class(errno), "cannot find the size of '%s': %s",
                              file->shared->path, strerror(errno));
    uint64_t data = view->shown->size && view->in_order
                        ? mlt_file_data_before(view->disp, view->shown, bytes, view->once)
                        : 0;
    *etypes = (int64_t)((data + view->unit - 1) / view->unit);
    return MPI_SUCCESS;
}

int mlt_file_whence(mlt_rank *me, mlt_file *file, int64_t offset, int whence, int64_t now,
                    int64_t *to)
{
    int64_t base = 0, found;
    int code = MPI_SUCCESS;
    if (whence == MPI_SEEK_CUR)
        base = now;
    else if (whence == MPI_SEEK_END)
        code = end_of(me, file, &base);
    else if (whence != MPI_SEEK_SET)
        code = mlt_file_raise(me, file, MPI_ERR_ARG,
                              "argument whence is %d, but should be MPI_SEEK_SET, MPI_SEEK_CUR or "
                              "MPI_SEEK_END",
                              whence);
    if (code != MPI_SUCCESS)
        return code;
    if (__builtin_add_overflow(base, offset, &found) || found < 0)
        return mlt_file_raise(me, file, MPI_ERR_ARG,
                              "argument offset is %lld, which leads to before the beginning of the "
                              "view",
                              (long long)offset);
    *to = found;
    return MPI_SUCCESS;
}

static int no_pointer(mlt_rank *me, mlt_file *file)
{
    if (!(file->shared->amode & MPI_MODE_SEQUENTIAL))
        return MPI_SUCCESS;
    return mlt_file_raise(me, file, MPI_ERR_UNSUPPORTED_OPERATION,
                          "'%s' was opened with MPI_MODE_SEQUENTIAL, which allows calls with the "
                          "shared pointer only, and no seeks",
                          file->shared->path);
}

int mlt_mpi_File_seek(mlt_rank *me, mlt_file *file, MPI_Offset offset, int whence)
{
    int code = no_pointer(me, file);
    return code == MPI_SUCCESS
               ? mlt_file_whence(me, file, offset, whence, file->position, &file->position)
               : code;
}

int mlt_mpi_File_get_position(mlt_rank *me, mlt_file *file, MPI_Offset *offset)
{
    int code = no_pointer(me, file);
    if (code != MPI_SUCCESS)
        return code;
    *offset = file->position;
    return MPI_SUCCESS;
}

// Collective: all give the same arguments, rank 0 moves it.
int mlt_mpi_File_seek_shared(mlt_rank *me, mlt_file *file, MPI_Offset offset, int whence)
{
    int code = no_pointer(me, file);
    if (code != MPI_SUCCESS)
        return code;
    int64_t mine[4] = {offset, -offset, whence, -whence}, all[4], to = 0;
    mlt_file_allreduce_max(me, file->comm, mine, all, 4);
    if (all[0] != -all[1] || all[2] != -all[3])
        return mlt_file_raise(me, file, MPI_ERR_NOT_SAME,
                              "arguments offset and whence are %lld and %d, but others gave other "
                              "ones; they must be the same on all ranks",
                              (long long)offset, whence);
    if (whence == MPI_SEEK_CUR)
        code = mlt_file_pointer_add(me, file, 0, &to);
    if (code == MPI_SUCCESS)
        code = mlt_file_whence(me, file, offset, whence, to, &to);
    (void)mlt_blocking_Barrier(me, file->comm); // all have looked before it moves
    if (code == MPI_SUCCESS && file->comm->rank == 0)
        code = mlt_file_pointer_set(me, file, to);
    (void)mlt_blocking_Barrier(me, file->comm);
    return code;
}

int mlt_mpi_File_get_position_shared(mlt_rank *me, mlt_file *file, MPI_Offset *offset)
{
    int64_t now;
    int code = mlt_file_pointer_add(me, file, 0, &now);
    if (code == MPI_SUCCESS)
        *offset = now;
    return code;
}
