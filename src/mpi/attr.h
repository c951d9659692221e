// SPDX-License-Identifier: BSD-3-Clause
// Attributes: key and value on a communicator, datatype or window, with the user's copy and delete
// functions. A key (keyval) is a number of the process: programs that keep one in a static variable
// share it between the ranks of a process, and that works. The table of keys has a lock, which is
// never held across a callback or a switch; values belong to their object and need none.
//
// Callbacks may call MPI and change the attributes of the very object. Their codes go to the caller
// as they are: none of the functions here raises an error, mlt_attrs_raise does.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "p2p/p2p.h"
#include "type/type.h"

typedef enum mlt_attr_kind { MLT_ATTR_COMM, MLT_ATTR_TYPE, MLT_ATTR_WIN } mlt_attr_kind;

struct mlt_attr; // attr.c
struct mlt_comm;
struct mlt_win;

// The attributes of one object, in the order in which they were first set; zeroed: none.
typedef struct mlt_attrs {
    struct mlt_attr *first;
} mlt_attrs;

// The functions of a key.
typedef struct mlt_attr_functions {
    union {
        MPI_Comm_copy_attr_function *comm;
        MPI_Type_copy_attr_function *type;
        MPI_Win_copy_attr_function *win;
        uintptr_t value;
    } copy;
    union {
        MPI_Comm_delete_attr_function *comm;
        MPI_Type_delete_attr_function *type;
        MPI_Win_delete_attr_function *win;
        uintptr_t value;
    } delete;
} mlt_attr_functions;

// MPI_X_create_keyval, MPI_X_free_keyval.
int mlt_attr_new_key(mlt_rank *me, mlt_attr_kind kind, mlt_attr_functions its, void *extra,
                     int *keyval);
int mlt_attr_free_key(mlt_rank *me, mlt_attr_kind kind, int *keyval);

// The object of a call. With `make` it has a list, if an empty one.
typedef struct mlt_attr_holder {
    mlt_attr_kind kind;
    struct mlt_comm *comm; // whose handler hears of errors; NULL: MPI_COMM_SELF's, or the window's
    void *object;          // its handle
    mlt_attrs *attrs;      // NULL: none
} mlt_attr_holder;

mlt_attr_holder mlt_attr_of_comm(mlt_rank *me, struct mlt_comm *comm, bool make);
mlt_attr_holder mlt_attr_of_type(mlt_rank *me, const mlt_type *type, bool make);
mlt_attr_holder mlt_attr_of_win(struct mlt_win *win, bool make);

// MPI_X_get_attr, MPI_X_set_attr, MPI_X_delete_attr.
int mlt_attr_get(mlt_rank *me, mlt_attr_holder h, int keyval, void *value, int *flag);
int mlt_attr_set(mlt_rank *me, mlt_attr_holder h, int keyval, void *value);
int mlt_attr_delete(mlt_rank *me, mlt_attr_holder h, int keyval);

// Copies the attributes of an object to its duplicate by the keys' copy functions, in order. The
// first function that fails ends it with its code; what was copied so far is deleted again. `from`
// is the handle of the object, as the callbacks get it.
int mlt_attrs_copy(mlt_rank *me, mlt_attr_kind kind, void *from, const mlt_attrs *old,
                   mlt_attrs *new);

// Deletes all attributes by the keys' delete functions, the last set first. Stops at a function
// that fails and returns its code: that attribute and those set before it stay, and another call
// begins with it again.
int mlt_attrs_delete_all(mlt_rank *me, mlt_attr_kind kind, void *object, mlt_attrs *attrs);

// Removes the last attribute, or all, without calling functions: for objects that end in any case.
void mlt_attrs_forget_last(mlt_attrs *attrs);
void mlt_attrs_forget(mlt_attrs *attrs);

// Raises the code of a callback, with the handler of comm (NULL: of MPI_COMM_SELF). Returns it.
int mlt_attrs_raise(mlt_rank *me, struct mlt_comm *comm, int code) MLT_COLD;

// The code to raise for that of a callback, if the handler is that one: fatal ones print a message.
int mlt_attrs_code(mlt_rank *me, MPI_Errhandler handler, int code) MLT_COLD;

// The key lives: the program has not freed it.
bool mlt_attr_key_lives(int keyval);

// Where a call goes to another thread, what libmpi_fortran and these functions tell each other by the
// thread goes along.
typedef struct mlt_attr_fortran {
    bool sets, got;
} mlt_attr_fortran;

mlt_attr_fortran mlt_attr_fortran_take(void);
void mlt_attr_fortran_put(mlt_attr_fortran taken);
