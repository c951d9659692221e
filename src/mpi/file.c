// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file.h"

#include "host/own.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/self.h"

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

int mlt_bad_file(mlt_rank *me, MPI_File handle)
{
    int code = mlt_mpi_code(me, me->fn, MPI_ERR_FILE,
                            "argument file is %#llx, but should be a valid file or MPI_FILE_NULL "
                            "(was it closed, or never set?)",
                            (unsigned long long)(uintptr_t)handle);
    return mlt_errhandler_call(me, *mlt_file_errhandler(me, MPI_FILE_NULL), MPI_FILE_NULL, code);
}

void mlt_file_close(mlt_rank *me)
{
    mlt_rank_own *own = me->own;
    if (!own || !own->file_errhandler)
        return;
    mlt_errhandler_drop(own->file_errhandler);
    own->file_errhandler = NULL;
}
