// SPDX-License-Identifier: BSD-3-Clause
// Handles of files, and how their errors are raised.
#include <errno.h>

#include "base/text.h"
#include "host/own.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/file/file.h"
#include "mpi_bodies.h"
#include "win/cache.h"

static mlt_registry files = MLT_REGISTRY_INIT(mlt_file);

mlt_file *mlt_file_new(mlt_rank *me)
{
    mlt_file *file = mlt_registry_take(&files);
    mlt_registry_fill(file, &(mlt_file){.rank = me, .window = MPI_WIN_NULL}, sizeof *file);
    file->view = mlt_file_view_bytes();
    return file;
}

void mlt_file_free(mlt_file *file)
{
    mlt_registry_name(&file->head, 0); // stale handles are caught from here on
    mlt_errhandler_drop(file->errhandler);
    mlt_file_view_drop(file->view);
    mlt_info_free(file->info);
    mlt_win_cache_free(file->cache);
    mlt_registry_give(&files, file);
}

MPI_Errhandler *mlt_file_errhandler(mlt_rank *me, MPI_File file)
{
    mlt_file *object = mlt_file_of(file);
    if (object)
        return &object->errhandler;
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->file_errhandler)
        own->file_errhandler = MPI_ERRORS_RETURN;
    return (MPI_Errhandler *)&own->file_errhandler;
}

int mlt_bad_file(mlt_rank *me, uint16_t fn, const char *name, MPI_File handle)
{
    const mlt_file *file = mlt_file_of(handle);
    const char *null = mlt_handle_null_name(MPI_ERR_FILE, (uintptr_t)handle);
    bool null_is_allowed = fn == MLT_FN_File_set_errhandler || fn == MLT_FN_File_get_errhandler ||
                           fn == MLT_FN_File_call_errhandler;
    int code;
    if (file)
        code = mlt_mpi_code(me, fn, MPI_ERR_FILE,
                            "argument %s is a file of rank %d, but should be one of rank "
                            "%d; " MLT_HANDLE_OF_OTHER,
                            name, (int)file->rank->world, (int)me->world);
    else if (null)
        code = mlt_mpi_code(me, fn, MPI_ERR_FILE, "argument %s is %s, but should be a valid file",
                            name, null);
    else
        code = mlt_mpi_code(me, fn, MPI_ERR_FILE,
                            "argument %s is %#llx, but should be a valid file%s (was it closed, "
                            "or never set?)",
                            name, (unsigned long long)(uintptr_t)handle,
                            null_is_allowed ? " or MPI_FILE_NULL" : "");
    return mlt_file_raise_code(me, NULL, code);
}

int mlt_file_raise_code(mlt_rank *me, mlt_file *file, int code)
{
    MPI_File handle = file ? (MPI_File)file : MPI_FILE_NULL;
    return mlt_errhandler_call(me, *mlt_file_errhandler(me, handle), handle, code);
}

int mlt_file_raise(mlt_rank *me, mlt_file *file, int class, const char *format, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    MLT_TEXT_PRINT(text, sizeof text, format);
    return mlt_file_raise_code(me, file, mlt_mpi_code(me, me->fn, class, "%s", text));
}

// Nothing can go wrong: the communicator is the file's own.
int mlt_bad_file_null(mlt_rank *me, mlt_file *file, const char *name, const char *should)
{
    return mlt_file_raise(me, file, MPI_ERR_ARG, "argument %s is NULL, but should be %s", name,
                          should);
}

void mlt_file_allreduce_max(mlt_rank *me, mlt_comm *comm, const int64_t *mine, int64_t *all,
                            int count)
{
    const mlt_type *type = mlt_type_coded((uintptr_t)MPI_INT64_T);
    (void)mlt_blocking_Allreduce(me, mine, all, count, type, MPI_MAX, comm);
}

void mlt_file_bcast(mlt_rank *me, mlt_comm *comm, int64_t *number, int from)
{
    (void)mlt_blocking_Bcast(me, number, 1, mlt_type_coded((uintptr_t)MPI_INT64_T), from, comm);
}

int mlt_file_check_info(mlt_rank *me, mlt_file *file, MPI_Info info)
{
    if (info == MPI_INFO_NULL || mlt_info_of(info))
        return MPI_SUCCESS;
    return mlt_file_raise(me, file, MPI_ERR_INFO,
                          "argument info should be a valid info object or MPI_INFO_NULL");
}

int mlt_file_class(int error)
{
    switch (error) {
    case ENOENT:
        return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
        return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
        return MPI_ERR_ACCESS;
    case EROFS:
        return MPI_ERR_READ_ONLY;
    case ENOSPC:
        return MPI_ERR_NO_SPACE;
    case EDQUOT:
        return MPI_ERR_QUOTA;
    case EBUSY:
    case ETXTBSY:
        return MPI_ERR_FILE_IN_USE;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return MPI_ERR_BAD_FILE;
    case ENOMEM:
        return MPI_ERR_NO_MEM;
    default:
        return MPI_ERR_IO;
    }
}

void mlt_file_rank_ends(mlt_rank *me)
{
    mlt_rank_own *own = me->own;
    mlt_datarep_forget(me);
    if (!own || !own->file_errhandler)
        return;
    mlt_errhandler_drop(own->file_errhandler);
    own->file_errhandler = NULL;
}
