// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/fortran.h"

#include <string.h>

#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi_fn.h"

_Atomic bool *mlt_fortran_arrays(void)
{
    static _Atomic bool nobody; // a thread that is no rank
    const mlt_rank *me = mlt_rank_self();
    return me && me->mpi ? &mlt_mpi_of(me)->fortran : &nobody;
}

int mlt_fortran_raise(MPI_Comm comm, const char *function, int class, const char *text)
{
    mlt_rank *me = mlt_rank_self();
    uint16_t fn = 1;
    while (fn < MLT_FN_COUNT && strcmp(mlt_fn_table[fn].name, function) != 0)
        fn++;
    return mlt_mpi_raise(me, me ? mlt_comm_of(me, comm) : NULL,
                         fn < MLT_FN_COUNT ? fn : MLT_FN_NONE, class, "%s", text);
}
