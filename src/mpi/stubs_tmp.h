// SPDX-License-Identifier: BSD-3-Clause
// What dtype.h declares, until it is here: attributes of predefined datatypes.
#ifndef MLT_MPI_STUBS_TMP_H
#define MLT_MPI_STUBS_TMP_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/attr.h"
#include "p2p/p2p.h"
#include "type/type.h"

mlt_attrs *mlt_dtype_attrs(mlt_rank *me, const mlt_type *type, bool make);

static inline MPI_Datatype mlt_dtype_handle(const mlt_type *type)
{
    return type->code ? (MPI_Datatype)(uintptr_t)type->code : (MPI_Datatype)(uintptr_t)type;
}

// thread.h
int mlt_thread_grant(mlt_rank *me, int required);
void mlt_thread_ready(mlt_rank *me);

#endif
