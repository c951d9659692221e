// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/answer.h"

#include "mpi/comm/session.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/file/file.h"
#include "mpi/type/dtype.h"

int mlt_refuse_handle(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                      const char *what, uintptr_t value)
{
    return mlt_mpi_answer(me, mlt_bad_handle(me, comm, fn, class, name, what, value));
}

int mlt_refuse_wild(mlt_rank *me, uint16_t fn, int class, const char *name, const char *what,
                    uintptr_t value)
{
    return mlt_mpi_answer(me, mlt_mpi_raise(me, NULL, fn, class,
                                            "argument %s is %#llx, where no memory is, but should "
                                            "be a valid %s (was it never set?)",
                                            name, (unsigned long long)value, what));
}

int mlt_refuse_value(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                     int64_t value, const char *should)
{
    return mlt_mpi_answer(me, mlt_bad_value(me, comm, fn, class, name, value, should));
}

int mlt_refuse_rank(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                    int64_t value, const char *more)
{
    return mlt_mpi_answer(me, mlt_bad_rank(me, comm, fn, class, name, value, more));
}

int mlt_refuse_uncommitted(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name)
{
    return mlt_mpi_answer(me, mlt_bad_uncommitted(me, comm, fn, name));
}

int mlt_refuse_null(mlt_rank *me, mlt_comm *comm, uint16_t fn, int class, const char *name,
                    const char *should)
{
    return mlt_mpi_answer(me, mlt_bad_null(me, comm, fn, class, name, should));
}

int mlt_refuse_buffer(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name, const void *buf,
                      const char *should)
{
    return mlt_mpi_answer(me, mlt_bad_buffer(me, comm, fn, name, buf, should));
}

int mlt_refuse_narrow(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name, int64_t value)
{
    return mlt_mpi_answer(me, mlt_bad_narrow(me, comm, fn, name, value));
}

int mlt_refuse_type(mlt_rank *me, mlt_comm *comm, uint16_t fn, const char *name, MPI_Datatype type)
{
    return mlt_mpi_answer(me, mlt_bad_type(me, comm, fn, name, type));
}

int mlt_refuse_file(mlt_rank *me, uint16_t fn, const char *name, MPI_File handle)
{
    return mlt_mpi_answer(me, mlt_bad_file(me, fn, name, handle));
}

int mlt_refuse_file_null(mlt_rank *me, mlt_file *file, const char *name, const char *should)
{
    return mlt_mpi_answer(me,
                          mlt_file_raise(me, file, MPI_ERR_ARG,
                                         "argument %s is NULL, but should be %s", name, should));
}

int mlt_refuse_session_null(mlt_rank *me, MPI_Session handle, uint16_t fn, const char *name,
                            const char *should)
{
    return mlt_mpi_answer(me, mlt_session_bad_null(me, handle, fn, name, should));
}

int mlt_refuse_errhandler_null(mlt_rank *me, MPI_Errhandler errhandler, uint16_t fn,
                               const char *name, const char *should)
{
    return mlt_mpi_answer(me, mlt_errhandler_bad_null(me, errhandler, fn, name, should));
}
