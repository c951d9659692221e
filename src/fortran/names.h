// SPDX-License-Identifier: BSD-3-Clause
// What Fortran's programs name and have no C function: arguments that stand for something by their
// address, and predefined callbacks.
//
// The program may have the storage itself: mpif.h puts each into a common block. The dynamic
// loader makes them one, so these symbols are visible and never bound inside the library.
#pragma once

#include <mpi.h>

// X(type, name) for each kind of handles that is a number in Fortran.
#define MLT_F_KINDS(X)                                                                             \
    X(MPI_Comm, comm)                                                                              \
    X(MPI_Datatype, datatype)                                                                      \
    X(MPI_Errhandler, errhandler)                                                                  \
    X(MPI_File, file)                                                                              \
    X(MPI_Group, group)                                                                            \
    X(MPI_Info, info)                                                                              \
    X(MPI_Message, message)                                                                        \
    X(MPI_Op, op)                                                                                  \
    X(MPI_Request, request)                                                                        \
    X(MPI_Session, session)                                                                        \
    X(MPI_Win, win)

#pragma GCC visibility push(default)

extern int mlt_f_bottom_, mlt_f_in_place_, mlt_f_buffer_automatic_;
extern int mlt_f_errcodes_ignore_, mlt_f_unweighted_, mlt_f_weights_empty_;
extern MPI_Fint mlt_f_status_ignore_[MPI_F_STATUS_SIZE];
extern MPI_Fint mlt_f_statuses_ignore_[MPI_F_STATUS_SIZE];
// The same of mpi_f08, which have another type: a file that uses both modules needs two symbols.
extern MPI_Fint mlt_f08_status_ignore_[MPI_F_STATUS_SIZE];
extern MPI_Fint mlt_f08_statuses_ignore_[MPI_F_STATUS_SIZE];
extern char mlt_f_argv_null_, mlt_f_argvs_null_;

// Only their addresses count, but a program may call them.
typedef void mlt_f_copy_fn(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra_state, MPI_Aint *in,
                           MPI_Aint *out, int *flag, MPI_Fint *ierror);
typedef void mlt_f_delete_fn(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value,
                             MPI_Aint *extra_state, MPI_Fint *ierror);
typedef void mlt_f_conversion_fn(void *userbuf, MPI_Fint *datatype, void *count, void *filebuf,
                                 MPI_Offset *position, MPI_Aint *extra_state, MPI_Fint *ierror);
extern mlt_f_copy_fn mpi_comm_null_copy_fn_, mpi_comm_dup_fn_, mpi_type_null_copy_fn_,
    mpi_type_dup_fn_, mpi_win_null_copy_fn_, mpi_win_dup_fn_;
extern mlt_f_delete_fn mpi_comm_null_delete_fn_, mpi_type_null_delete_fn_, mpi_win_null_delete_fn_;
extern mlt_f_conversion_fn mpi_conversion_fn_null_, mpi_conversion_fn_null_c_;
void mpi_null_copy_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *extra_state, MPI_Fint *in,
                       MPI_Fint *out, int *flag, MPI_Fint *ierror);
void mpi_dup_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *extra_state, MPI_Fint *in,
                 MPI_Fint *out, int *flag, MPI_Fint *ierror);
void mpi_null_delete_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *extra_state,
                         MPI_Fint *ierror);

#pragma GCC visibility pop
