// SPDX-License-Identifier: BSD-3-Clause
#include "fortran/names.h"

#include "fortran/section.h"

int mlt_f_bottom_, mlt_f_in_place_, mlt_f_buffer_automatic_;
int mlt_f_errcodes_ignore_, mlt_f_unweighted_, mlt_f_weights_empty_;
MPI_Fint mlt_f_status_ignore_[MPI_F_STATUS_SIZE];
MPI_Fint mlt_f_statuses_ignore_[MPI_F_STATUS_SIZE];
MPI_Fint mlt_f08_status_ignore_[MPI_F_STATUS_SIZE];
MPI_Fint mlt_f08_statuses_ignore_[MPI_F_STATUS_SIZE];
char mlt_f_argv_null_, mlt_f_argvs_null_;

// ---- predefined callbacks

// Those of MPI_KEYVAL_CREATE have INTEGERs.
#define COPY(name, copies, integer)                                                                \
    void name(MPI_Fint *object, MPI_Fint *keyval, integer *extra_state, integer *in, integer *out, \
              int *flag, MPI_Fint *ierror)                                                         \
    {                                                                                              \
        *flag = copies;                                                                            \
        if (copies)                                                                                \
            *out = *in;                                                                            \
        *ierror = MPI_SUCCESS;                                                                     \
    }
#define DELETE(name, integer)                                                                      \
    void name(MPI_Fint *object, MPI_Fint *keyval, integer *value, integer *extra_state,            \
              MPI_Fint *ierror)                                                                    \
    {                                                                                              \
        *ierror = MPI_SUCCESS;                                                                     \
    }
#define CONVERSION(name)                                                                           \
    void name(void *userbuf, MPI_Fint *datatype, void *count, void *filebuf, MPI_Offset *position, \
              MPI_Aint *extra_state, MPI_Fint *ierror)                                             \
    {                                                                                              \
        *ierror = MPI_ERR_UNSUPPORTED_OPERATION;                                                   \
    }

COPY(mpi_comm_null_copy_fn_, 0, MPI_Aint)
COPY(mpi_comm_dup_fn_, 1, MPI_Aint)
COPY(mpi_type_null_copy_fn_, 0, MPI_Aint)
COPY(mpi_type_dup_fn_, 1, MPI_Aint)
COPY(mpi_win_null_copy_fn_, 0, MPI_Aint)
COPY(mpi_win_dup_fn_, 1, MPI_Aint)
DELETE(mpi_comm_null_delete_fn_, MPI_Aint)
DELETE(mpi_type_null_delete_fn_, MPI_Aint)
DELETE(mpi_win_null_delete_fn_, MPI_Aint)
COPY(mpi_null_copy_fn_, 0, MPI_Fint)
COPY(mpi_dup_fn_, 1, MPI_Fint)
DELETE(mpi_null_delete_fn_, MPI_Fint)
CONVERSION(mpi_conversion_fn_null_)
CONVERSION(mpi_conversion_fn_null_c_)

// ---- what is no function of C's: handles compared, MPI_Sizeof, MPI_F_sync_reg

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes" // only Fortran calls them

#define COMPARE(type, kind)                                                                        \
    int mlt_f_##kind##_eq_(const MPI_Fint *a, const MPI_Fint *b)                                   \
    {                                                                                              \
        return *a == *b;                                                                           \
    }                                                                                              \
    int mlt_f_##kind##_ne_(const MPI_Fint *a, const MPI_Fint *b)                                   \
    {                                                                                              \
        return *a != *b;                                                                           \
    }
MLT_F_KINDS(COMPARE)

void mlt_f_sizeof_(const mlt_f_section *x, MPI_Fint *size, MPI_Fint *ierror)
{
    *size = (MPI_Fint)x->element;
    if (ierror)
        *ierror = MPI_SUCCESS;
}

// The compiler cannot look into these, and so keeps nothing of the buffer in registers across them.
#define SYNC(name)                                                                                 \
    void name(const void *buf)                                                                     \
    {                                                                                              \
    }
SYNC(mpi_f_sync_reg_)
SYNC(pmpi_f_sync_reg_)
SYNC(mpi_f_sync_reg_f08ts_)
SYNC(pmpi_f_sync_reg_f08ts_)

#pragma GCC visibility pop
