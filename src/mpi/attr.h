// SPDX-License-Identifier: BSD-3-Clause
// Attributes: key and value on a communicator, datatype or window, with the user's copy and delete
// functions. A key (keyval) is a number of the process: programs that keep one in a static variable
// share it between the ranks of a process, and that works. The table of keys has a lock, which is
// never held across a callback or a switch; values belong to their object and need none.
#ifndef MLT_MPI_ATTR_H
#define MLT_MPI_ATTR_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "p2p/p2p.h"

typedef enum mlt_attr_kind { MLT_ATTR_COMM, MLT_ATTR_TYPE, MLT_ATTR_WIN } mlt_attr_kind;

struct mlt_attr; // attr.c

// The attributes of one object, in the order in which they were first set; zeroed: none.
typedef struct mlt_attrs {
    struct mlt_attr *first;
} mlt_attrs;

// Copies the attributes of an object to its duplicate by the keys' copy functions, in order. The
// first function that fails ends it with its code; what was copied so far is deleted again. `from`
// is the handle of the object, as the callbacks get it.
int mlt_attrs_copy(mlt_rank *me, mlt_attr_kind kind, void *from, const mlt_attrs *old,
                   mlt_attrs *new);

// Deletes all attributes by the keys' delete functions, the last set first. Stops at a function
// that fails and returns its code; called again, it goes on behind that one.
int mlt_attrs_delete_all(mlt_rank *me, mlt_attr_kind kind, void *object, mlt_attrs *attrs);

#endif
