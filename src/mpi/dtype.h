// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes as objects: a mlt_type with its owner, its references, how it was made
// (envelope and contents), name and attributes. The handle is the address of `type`.
//
// References: the user's handle (until MPI_Type_free, which clears the magic at once, so that the
// handle is dead), every type built from it (contents need it), every request and message that is
// under way with it.
#ifndef MLT_MPI_DTYPE_H
#define MLT_MPI_DTYPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/attr.h"
#include "p2p/p2p.h"
#include "type/type.h"

// What the constructor was given, in the order of MPI_Type_get_contents. Numbers are kept wide.
typedef struct mlt_contents {
    int combiner;
    bool large;                                 // made by a _c function
    int64_t integers, addresses, counts, types; // how many of each
    int64_t *number;                            // integers, then addresses, then counts
    MPI_Datatype *type;                         // held
} mlt_contents;

typedef struct mlt_dtype {
    mlt_type type; // first: the handle's address
    uint32_t refs;
    mlt_rank *owner; // whose it is
    mlt_contents contents;
    mlt_attrs attrs;
} mlt_dtype;

static inline mlt_dtype *mlt_dtype_of(const mlt_type *type)
{
    return (mlt_dtype *)(uintptr_t)type;
}

void mlt_dtype_release(mlt_dtype *dtype);

// Predefined types are not counted, but may be given; NULL too.
static inline void mlt_dtype_hold(const mlt_type *type)
{
    if (type && !type->code)
        mlt_dtype_of(type)->refs++;
}

static inline void mlt_dtype_drop(const mlt_type *type)
{
    if (type && !type->code && --mlt_dtype_of(type)->refs == 0)
        mlt_dtype_release(mlt_dtype_of(type));
}

// The handle that the user knows it by.
static inline MPI_Datatype mlt_dtype_handle(const mlt_type *type)
{
    return type->code ? (MPI_Datatype)(uintptr_t)type->code : (MPI_Datatype)(uintptr_t)type;
}

#endif
