// SPDX-License-Identifier: BSD-3-Clause
// What libmpi_fortran needs beyond MPI's functions. These are exported, for that library alone.
//
// Callbacks and attributes have a language. A Fortran function is made known by C's function
// (MPI_Op_create and the like, with the address as it is), and what that made is then marked: from
// there on it is called as Fortran wants it, with addresses, and integers for handles.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

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

// Calls `take` for each basic element of `count` elements of a datatype, in the order of its type map,
// with the byte where it lies.
typedef void mlt_fortran_element(void *user, MPI_Datatype basic, int64_t size, int64_t at);
__attribute__((visibility("default"))) void
mlt_fortran_elements(MPI_Datatype type, int64_t count, mlt_fortran_element *take, void *user);

// A section with gaps whose elements an operation under way has in a copy. The request has it until
// it is freed: what MPI does to the copy appears in the section before the program hears of it.
typedef struct mlt_fortran_copy {
    struct mlt_fortran_copy *next;
    // Copies `bytes` of the elements, from byte `from` of them, from the section or back to it.
    void (*move)(struct mlt_fortran_copy *copy, int64_t from, int64_t bytes, bool back);
    void (*free)(struct mlt_fortran_copy *copy);
    int64_t bytes;
    int64_t part; // of a partitioned request: bytes of a partition, which move one by one; 0: no
    bool out;     // the operation writes
    bool is_back; // what it wrote in this round is in the section
    bool *parts_back; // MPI's: and which partitions are
} mlt_fortran_copy;

// Hands a copy over to a request that a call has just made. One that is persistent looks at the
// section when it is started.
__attribute__((visibility("default"))) void mlt_fortran_keep(MPI_Request request,
                                                             mlt_fortran_copy *copy);

// Raises an error with the handler of comm, in the name of a function.
__attribute__((visibility("default"))) int mlt_fortran_raise(MPI_Comm comm, const char *function,
                                                             int class, const char *text);
