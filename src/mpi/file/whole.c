// SPDX-License-Identifier: BSD-3-Clause
// What is asked or told of a file as a whole: size, room, access mode, group, atomicity.
#include <errno.h>
#include <string.h>

#include "mpi/file/file.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"
#include "os/file.h"

static int system_failed(mlt_rank *me, mlt_file *file, const char *what, int error)
{
    return mlt_file_raise(me, file, mlt_file_class(error), "cannot %s '%s': %s", what,
                          file->shared->path, strerror(error));
}

// Rank 0 has done something for all: they learn how it went, and that it is over.
static int told_by_first(mlt_rank *me, mlt_file *file, const char *what, int64_t error)
{
    mlt_file_bcast(me, file->comm, &error, 0);
    return error ? system_failed(me, file, what, (int)error) : MPI_SUCCESS;
}

// A collective call with a number that must be the same on all ranks, at least 0.
static int whole_check_same(mlt_rank *me, mlt_file *file, const char *name, int64_t value)
{
    int64_t mine[2] = {value, -value}, all[2];
    mlt_file_allreduce_max(me, file->comm, mine, all, 2);
    if (all[0] != -all[1])
        return mlt_file_raise(
            me, file, MPI_ERR_NOT_SAME,
            "argument %s is %lld, but others gave %lld; it must be the same on all "
            "ranks",
            name, (long long)value, (long long)(all[0] == value ? -all[1] : all[0]));
    if (value < 0)
        return mlt_file_raise(me, file, MPI_ERR_ARG,
                              "argument %s is %lld, but should be at least 0", name,
                              (long long)value);
    return MPI_SUCCESS;
}

static int check_size(mlt_rank *me, mlt_file *file, MPI_Offset size)
{
    if (!(file->shared->amode & MPI_MODE_RDONLY))
        return whole_check_same(me, file, "size", size);
    return mlt_file_raise(me, file, MPI_ERR_READ_ONLY,
                          "'%s' was opened with MPI_MODE_RDONLY, so its size cannot be changed",
                          file->shared->path);
}

int mlt_mpi_File_set_size(mlt_rank *me, mlt_file *file, MPI_Offset size)
{
    int code = check_size(me, file, size);
    if (code != MPI_SUCCESS)
        return code;
    int64_t error = 0;
    if (file->comm->rank == 0 && mlt_os_file_resize(file->shared->fd, size) != 0)
        error = errno;
    return told_by_first(me, file, "change the size of", error);
}

int mlt_mpi_File_preallocate(mlt_rank *me, mlt_file *file, MPI_Offset size)
{
    int code = check_size(me, file, size);
    if (code != MPI_SUCCESS)
        return code;
    int64_t error = 0;
    if (file->comm->rank == 0) {
        mlt_outside outside = mlt_thread_step_out(me);
        error = mlt_os_file_allocate(file->shared->fd, size) != 0 ? errno : 0;
        mlt_thread_step_in(me, outside);
    }
    return told_by_first(me, file, "allocate room for", error);
}

int mlt_mpi_File_get_size(mlt_rank *me, mlt_file *file, MPI_Offset *size)
{
    mlt_mpi_yield_if_due(me);
    int64_t bytes;
    if (mlt_os_file_size(file->shared->fd, &bytes) != 0)
        return system_failed(me, file, "find the size of", errno);
    *size = bytes;
    return MPI_SUCCESS;
}

// ---- consistency

int mlt_mpi_File_set_atomicity(mlt_rank *me, mlt_file *file, int flag)
{
    int code = whole_check_same(me, file, "flag", flag != 0);
    mlt_file_cached_forget(file);
    if (code == MPI_SUCCESS)
        file->atomic = flag != 0;
    return code;
}

// One rank of each worker syncs, when all ranks of the file have come; what any of them has written before
// is part of it.
int mlt_mpi_File_sync(mlt_rank *me, mlt_file *file)
{
    mlt_mpi_yield_if_due(me); // of a file that one rank has opened alone
    mlt_file_cached_forget(file);
    return mlt_file_sync(me, file);
}
