// SPDX-License-Identifier: BSD-3-Clause
// What libmpi_fortran needs beyond MPI's functions. These are exported, for that library alone.
//
// Callbacks and attributes have a language. A Fortran function is made known by C's function
// (MPI_Op_create and its kin, with the address as it is), and what that made is then marked: from
// there on it is called as Fortran wants it, with addresses, and integers for handles.
#ifndef MLT_MPI_FORTRAN_H
#define MLT_MPI_FORTRAN_H

#include <mpi.h>
#include <stdbool.h>

// A handle that is an object's address, and its number. A number that was never given: NULL.
__attribute__((visibility("default"))) void *mlt_fortran_handle(int number);
__attribute__((visibility("default"))) int mlt_fortran_number(const void *handle);

// Callbacks of these are Fortran's. `old`: attributes are INTEGERs (MPI_KEYVAL_CREATE).
__attribute__((visibility("default"))) void mlt_fortran_mark_op(MPI_Op op);
__attribute__((visibility("default"))) void mlt_fortran_mark_errhandler(MPI_Errhandler errhandler);
__attribute__((visibility("default"))) void mlt_fortran_mark_keyval(int keyval, bool old);
__attribute__((visibility("default"))) void mlt_fortran_mark_grequest(MPI_Request request);

// The language of the next attribute that this rank sets, and how it wants to see the next that it
// gets: a Fortran attribute is an integer, which C sees by its address.
__attribute__((visibility("default"))) void mlt_fortran_attr(bool fortran);
// After a get: the attribute was set by Fortran.
__attribute__((visibility("default"))) bool mlt_fortran_attr_was(void);

// Where to say, around a call that takes arrays, that it is Fortran's: messages count their elements
// from 1 then. Never NULL.
__attribute__((visibility("default"))) _Atomic bool *mlt_fortran_arrays(void);

// Raises an error with the handler of comm, in the name of a function.
__attribute__((visibility("default"))) int mlt_fortran_raise(MPI_Comm comm, const char *function,
                                                             int class, const char *text);

#endif
