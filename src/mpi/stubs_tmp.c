// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/stubs_tmp.h"

#include <stdlib.h>

#include "mpi/comm_new.h"
#include "mpi/error.h"
#include "mpi/self.h"

struct mlt_type_note {
    struct mlt_type_note *next;
    const mlt_type *type;
    mlt_attrs attrs;
};

mlt_attrs *mlt_dtype_attrs(mlt_rank *me, const mlt_type *type, bool make)
{
    struct mlt_type_note *note = mlt_mpi_of(me)->type_notes;
    while (note && note->type != type)
        note = note->next;
    if (!note && make) {
        note = calloc(1, sizeof *note);
        note->type = type;
        note->next = mlt_mpi_of(me)->type_notes;
        mlt_mpi_of(me)->type_notes = note;
    }
    return note ? &note->attrs : NULL;
}

int mlt_comm_free(mlt_rank *me, mlt_comm *comm)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM, "%s cannot be freed",
                         mlt_comm_name(me, comm));
}

int mlt_thread_grant(mlt_rank *me, int required)
{
    return required < MPI_THREAD_FUNNELED ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED;
}

void mlt_thread_ready(mlt_rank *me)
{
    me->life = MLT_LIFE_READY;
}
