// SPDX-License-Identifier: BSD-3-Clause
// Opening, closing and deleting files, and what is asked or told of them as a whole.
//
// A file is opened once a worker, by its leader: the first of its ranks in the communicator. If it
// is to be created, rank 0 does that alone, and the others open what is there then. All ranks learn
// how it went at the others, so all of them succeed, or all fail with the same class.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "mpi/comm/shared.h"
#include "mpi/error/errhandler.h"
#include "mpi/file/file.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"
#include "os/file.h"

enum { MODE = 0666 }; // less the umask

// ---- what the ranks of a worker share

static mlt_file_shared *shared_new(const char *path, int amode)
{
    mlt_file_shared *shared = mlt_xcalloc(1, sizeof *shared);
    shared->fd = -1;
    shared->amode = amode;
    shared->path = strdup(path);
    if (!shared->path)
        mlt_no_room("the name of a file");
    pthread_mutex_init(&shared->atomic_mutex, NULL);
    return shared;
}

void mlt_file_shared_drop(mlt_file_shared *shared)
{
    if (--shared->refs > 0)
        return;
    if (shared->fd >= 0)
        (void)mlt_os_file_close(shared->fd);
    pthread_mutex_destroy(&shared->atomic_mutex);
    free(shared->path);
    free(shared);
}

// All ranks of a communicator open a file before any of them opens the next one on it: the
// communicator is the file's own.
static mlt_file_shared *find_shared(mlt_comm *comm, const char *path, int amode)
{
    mlt_comm_shared *of = mlt_comm_shared_of(comm);
    const mlt_members *members = mlt_comm_members(comm);
    if (!of->file)
        of->file = shared_new(path, amode);
    mlt_file_shared *shared = of->file;
    shared->refs++;
    shared->present = members->at[members->place].present;
    shared->context = comm->context;
    return shared;
}

static bool is_leader(mlt_comm *comm)
{
    const mlt_members *members = mlt_comm_members(comm);
    return (uint32_t)comm->rank == members->at[members->place].first;
}

// ---- opening

static int flags_of(int amode, bool creates)
{
    int flags = amode & MPI_MODE_RDWR ? O_RDWR : amode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
    if (creates && (amode & MPI_MODE_CREATE))
        flags |= O_CREAT | (amode & MPI_MODE_EXCL ? O_EXCL : 0);
    return flags;
}

// The calling rank opens it for its worker. Whoever only writes may read as well, if the file
// allows it: sieved writes need that.
static void open_here(mlt_rank *me, mlt_file_shared *shared, bool creates)
{
    mlt_outside outside = mlt_thread_step_out(me);
    int flags = flags_of(shared->amode, creates), writes = flags & O_ACCMODE;
    if (writes == O_WRONLY && !(shared->amode & MPI_MODE_SEQUENTIAL))
        shared->fd = mlt_os_file_open(shared->path, (flags & ~O_ACCMODE) | O_RDWR, MODE);
    shared->readable = shared->fd >= 0 || writes != O_WRONLY;
    if (shared->fd < 0)
        shared->fd = mlt_os_file_open(shared->path, flags, MODE);
    shared->error = shared->fd < 0 ? errno : 0;
    shared->in_memory = shared->fd >= 0 && mlt_os_file_in_memory(shared->fd);
    mlt_thread_step_in(me, outside);
}

// What all ranks must agree on: errors count by the highest number, and who has it.
typedef struct verdict {
    int64_t error;       // errno's value, and the world rank
    int64_t most, least; // of amode
} verdict;

static verdict open_agree(mlt_rank *me, mlt_file *file, int error, int amode)
{
    int64_t mine[3] = {(int64_t)error << 32 | (error ? me->world : 0), amode, -amode}, all[3];
    mlt_file_allreduce_max(me, file->comm, mine, all, 3);
    return (verdict){.error = all[0], .most = all[1], .least = -all[2]};
}

static int open_failed(mlt_rank *me, const char *path, int64_t error)
{
    int number = (int)(error >> 32), who = (int)(error & INT32_MAX);
    return mlt_file_raise(me, NULL, mlt_file_class(number), "rank %d cannot open '%s': %s", who,
                          path, strerror(number));
}

// Rank 0 makes the file before anybody else looks for it.
static void open_workers(mlt_rank *me, mlt_file *file)
{
    mlt_file_shared *shared = file->shared;
    int64_t error = 0;
    bool creates = shared->amode & MPI_MODE_CREATE, first = file->comm->rank == 0;
    if (creates && first) {
        open_here(me, shared, true);
        error = shared->error;
    }
    if (creates)
        mlt_file_bcast(me, file->comm, &error, 0);
    if (error == 0 && file->leads && !(creates && first))
        open_here(me, shared, false);
}

// The leaders of several workers have a communicator of their own.
static int join_leaders(mlt_rank *me, mlt_file *file)
{
    const mlt_members *members = mlt_comm_members(file->comm);
    if (members->workers == 1)
        return MPI_SUCCESS;
    mlt_comm *leaders = NULL;
    int code = mlt_comm_split(me, file->comm, file->leads ? 0 : MPI_UNDEFINED, 0, &leaders);
    if (file->leads)
        file->shared->leaders = leaders;
    return code;
}

// Hosts that write the same page of NFS must write their own bytes alone. One of them says if some
// cannot be kept from writing more.
static void keep_apart(mlt_rank *me, mlt_file *file)
{
    mlt_file_shared *shared = file->shared;
    int error = 0;
    shared->may_be_stale = mlt_os_file_is_loose(shared->fd);
    if (shared->may_be_stale && !(shared->amode & MPI_MODE_RDONLY) &&
        mlt_os_file_keep(shared->fd) != 0)
        error = errno;
    int64_t mine = (int64_t)error << 32 | (error ? me->world : 0), all = mine;
    mlt_file_allreduce_max(me, shared->leaders, &mine, &all, 1);
    if (all && shared->leaders->rank == 0)
        mlt_log("the host of rank %d cannot lock '%s', which is on a network file system (%s): "
                "what ranks of several hosts write less than a page apart may be lost",
                (int)(all & INT32_MAX), shared->path, strerror((int)(all >> 32)));
}

// Sieved writes need locks that all writers reach: on one host.
static void find_locks(mlt_rank *me, mlt_file *file)
{
    mlt_file_shared *shared = file->shared;
    if (!file->leads)
        return;
    mlt_file_locks *locks = mlt_file_pointer_locks(me, file);
    int64_t far = !locks, any = far;
    if (shared->leaders)
        mlt_file_allreduce_max(me, shared->leaders, &far, &any, 1);
    shared->locks = any ? NULL : locks;
    if (any && shared->leaders)
        keep_apart(me, file);
}

static void leave(mlt_rank *me, mlt_file *file)
{
    mlt_comm *comm = file->comm;
    if (file->leads)
        mlt_file_exchange_close(me, file->shared);
    if (file->leads && file->shared->leaders)
        (void)mlt_comm_free(me, file->shared->leaders);
    mlt_file_shared_drop(file->shared);
    mlt_file_free(file);
    (void)mlt_comm_free(me, comm);
    mlt_file_service_close(me);
}

static int open_settle(mlt_rank *me, mlt_file *file, const char *path, int amode)
{
    open_workers(me, file);
    verdict all = open_agree(me, file, file->shared->error, amode);
    if (all.most != all.least)
        return mlt_file_raise(
            me, NULL, MPI_ERR_NOT_SAME,
            "argument amode is %d, but others gave %d; it must be the same on all "
            "ranks",
            amode, (int)(all.most == amode ? all.least : all.most));
    if (all.error)
        return open_failed(me, path, all.error);
    int code = join_leaders(me, file);
    if (code == MPI_SUCCESS)
        code = mlt_file_pointer_open(me, file);
    if (code == MPI_SUCCESS)
        find_locks(me, file);
    return code;
}

// Where both pointers begin.
static int go_to_end(mlt_rank *me, mlt_file *file)
{
    int64_t size = 0;
    if (file->comm->rank == 0 && mlt_os_file_size(file->shared->fd, &size) != 0)
        size = 0;
    mlt_file_bcast(me, file->comm, &size, 0);
    file->position = size;
    return file->comm->rank == 0 ? mlt_file_pointer_set(me, file, size) : MPI_SUCCESS;
}

// ---- checks

static int check_amode(mlt_rank *me, int amode)
{
    enum {
        WAYS = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR,
        ALL = WAYS | MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
              MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN
    };
    int way = amode & WAYS;
    const char *why = NULL;
    if (amode & ~ALL)
        why = "has bits that no access mode has";
    else if (way == 0 || (way & (way - 1)) != 0)
        why = "should have exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR";
    else if (way == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)))
        why = "has MPI_MODE_RDONLY, with which MPI_MODE_CREATE and MPI_MODE_EXCL are wrong";
    else if (way == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL))
        why = "has MPI_MODE_SEQUENTIAL, with which MPI_MODE_RDWR is wrong";
    return why ? mlt_file_raise(me, NULL, MPI_ERR_AMODE, "argument amode is %#x, which %s",
                                (unsigned)amode, why)
               : MPI_SUCCESS;
}

static int check_open(mlt_rank *me, mlt_comm *comm, const char *filename, int amode, MPI_Info info)
{
    if (comm->inter)
        return mlt_file_raise(me, NULL, MPI_ERR_COMM,
                              "argument comm is an intercommunicator, but files are opened by the "
                              "ranks of an intracommunicator");
    if (mlt_comm_shared_of(comm)->foreign)
        return mlt_file_raise(me, NULL, MPI_ERR_UNSUPPORTED_OPERATION,
                              "%s has ranks of another job, but files are opened by ranks of one "
                              "job",
                              mlt_comm_name(me, comm));
    int code = mlt_file_check_info(me, NULL, info);
    if (code != MPI_SUCCESS)
        return code;
    if (strlen(filename) >= PATH_MAX || filename[0] == '\0')
        return mlt_file_raise(me, NULL, MPI_ERR_BAD_FILE,
                              "argument filename has %zu bytes, but should have 1 to %d",
                              strlen(filename), PATH_MAX - 1);
    return check_amode(me, amode);
}

int mlt_mpi_File_open(mlt_rank *me, mlt_comm *comm, const char *filename, int amode, MPI_Info info,
                      MPI_File *fh)
{
    mlt_mpi_yield_if_due(me); // for those that try until another rank has made the file
    int code = check_open(me, comm, filename, amode, info);
    mlt_comm *own = NULL;
    if (code == MPI_SUCCESS)
        code = mlt_comm_split(me, comm, 0, comm->rank, &own);
    if (code != MPI_SUCCESS)
        return code;
    mlt_file_service_open(me);
    mlt_file *file = mlt_file_new(me);
    file->comm = own;
    file->shared = find_shared(own, filename, amode);
    file->leads = is_leader(own);
    MPI_Errhandler handler = *mlt_file_errhandler(me, MPI_FILE_NULL);
    mlt_errhandler_hold(handler);
    file->errhandler = handler;
    if (info != MPI_INFO_NULL)
        file->info = mlt_info_dup(mlt_info_of(info));
    mlt_file_take_hints(file);
    code = open_settle(me, file, filename, amode);
    if (code != MPI_SUCCESS) {
        leave(me, file);
        return code;
    }
    mlt_registry_name(&file->head, MLT_FILE_MAGIC);
    if (amode & MPI_MODE_APPEND)
        (void)go_to_end(me, file);
    (void)mlt_blocking_Barrier(me, file->comm); // nobody has one that another still makes
    *fh = (MPI_File)file;
    return MPI_SUCCESS;
}

// ---- closing

int mlt_mpi_File_close(mlt_rank *me, MPI_File *fh)
{
    mlt_file *file = fh ? mlt_file_mine(me, *fh) : NULL;
    if (!file)
        return mlt_bad_file(me, me->fn, "fh", fh ? *fh : MPI_FILE_NULL);
    if (file->split)
        return mlt_file_raise(me, file, MPI_ERR_OTHER,
                              "%s has no end yet: call its twin before the file is closed",
                              mlt_fn_name(file->split));
    int64_t error = 0;
    bool deletes = file->shared->amode & MPI_MODE_DELETE_ON_CLOSE;
    char *path = NULL;
    mlt_comm_wait_freed(me, file->comm); // accesses whose requests were freed are part of it, too
    (void)mlt_file_pointer_close(me, file); // all ranks come
    if (deletes && file->comm->rank == 0 && mlt_os_file_unlink(file->shared->path) != 0)
        error = errno;
    if (deletes) {
        mlt_file_bcast(me, file->comm, &error, 0);
        path = error ? strdup(file->shared->path) : NULL;
    }
    *fh = MPI_FILE_NULL;
    leave(me, file);
    if (!error)
        return MPI_SUCCESS;
    int code = mlt_file_raise(me, NULL, mlt_file_class((int)error), "rank 0 cannot delete '%s': %s",
                              path ? path : "the file", strerror((int)error));
    free(path);
    return code;
}

int mlt_mpi_File_delete(mlt_rank *me, const char *filename, MPI_Info info)
{
    mlt_mpi_yield_if_due(me);
    int code = mlt_file_check_info(me, NULL, info);
    if (code != MPI_SUCCESS)
        return code;
    if (mlt_os_file_unlink(filename) == 0)
        return MPI_SUCCESS;
    int error = errno;
    return mlt_file_raise(me, NULL, mlt_file_class(error), "cannot delete '%s': %s", filename,
                          strerror(error));
}
