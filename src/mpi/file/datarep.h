// SPDX-License-Identifier: BSD-3-Clause
// Data representations: how a file holds what memory holds. "native" and "internal" are the memory's
// own; "external32" and those that the program registers are converted. The latter belong to the
// rank that registered them, until it ends.
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "base/status.h"
#include "p2p/p2p.h"
#include "type/type.h"

typedef enum mlt_datarep_kind {
    MLT_DATAREP_MEMORY, // nothing is converted
    MLT_DATAREP_EXTERNAL32,
    MLT_DATAREP_USER,
} mlt_datarep_kind;

typedef struct mlt_datarep {
    struct mlt_datarep *next;
    mlt_datarep_kind kind;
    char name[MPI_MAX_DATAREP_STRING + 1];
    MPI_Datarep_conversion_function *read, *write; // NULL, and no read_c: the memory's own
    MPI_Datarep_conversion_function_c *read_c, *write_c;
    MPI_Datarep_extent_function *extent;
    void *state;
} mlt_datarep;

// The one that all files begin with.
extern const mlt_datarep mlt_datarep_native;

// NULL: there is none of that name.
const mlt_datarep *mlt_datarep_find(const mlt_rank *me, const char *name);

// MPI_Register_datarep: `new` has the functions, and is copied.
int mlt_datarep_add(mlt_rank *me, const char *name, const mlt_datarep *new);

void mlt_datarep_forget(mlt_rank *me); // the rank ends

// A type as the file holds it, made from how `type` was made: basic types have the sizes of the
// representation, and so have strides and displacements that are counted in elements. *out is the
// caller's (mlt_type_unmake). A function of the user's may be called; its code if it fails.
// MLT_ERR_INVALID: a size does not fit.
mlt_status mlt_datarep_type(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type,
                            mlt_type *out, int *code) MLT_MUST_CHECK;

// Converts `count` elements between memory and `bytes` of the file's form. An MPI code.
int mlt_datarep_write(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type, const void *buf,
                      uint64_t count, void *file);
int mlt_datarep_read(mlt_rank *me, const mlt_datarep *rep, const mlt_type *type, void *buf,
                     uint64_t count, const void *file);
