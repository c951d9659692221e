// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/fortran.h"

#include <string.h>

#include "mpi/coll/signature.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/thread.h"
#include "mpi/type/dtype.h"
#include "mpi_fn.h"

_Atomic bool *mlt_fortran_arrays(void)
{
    static _Atomic bool nobody; // a thread that is no rank
    const mlt_rank *me = mlt_rank_self();
    return me && me->mpi ? &mlt_mpi_of(me)->fortran : &nobody;
}

// What mlt_fortran_elements has come to.
typedef struct elements {
    const mlt_type *type;
    uint64_t from; // bytes of the packed form
    mlt_fortran_element *take;
    void *user;
} elements;

static void take_run(void *user, const mlt_type *basic, uint64_t n)
{
    elements *e = user;
    int64_t size = (int64_t)basic->size;
    for (uint64_t left = n * basic->size, got; left > 0; left -= got) {
        mlt_type_run runs[8];
        uint32_t count = 8;
        got = mlt_type_runs(e->type, e->from, left, runs, &count);
        e->from += got;
        for (const mlt_type_run *run = runs; run < runs + count; run++)
            for (uint64_t i = 0; i < run->count; i++)
                for (int64_t at = 0; at < (int64_t)run->length; at += size)
                    e->take(e->user, mlt_dtype_handle(basic), size,
                            run->at + (int64_t)i * run->stride + at);
    }
}

void mlt_fortran_elements(MPI_Datatype type, int64_t count, mlt_fortran_element *take, void *user)
{
    elements e = {mlt_type_of(type), 0, take, user};
    mlt_signature_walk(e.type, (uint64_t)count, take_run, &e);
}

static uint16_t number_of(const char *function)
{
    for (uint16_t fn = 1; fn < MLT_FN_COUNT; fn++)
        if (strcmp(mlt_fn_table[fn].name, function) == 0)
            return fn;
    return MLT_FN_NONE;
}

static MLT_NOINLINE int raise_here(MPI_Comm comm, uint16_t fn, int class, const char *text)
{
    mlt_rank *me = mlt_thread_enter_anytime(fn);
    return mlt_mpi_raise(me, me ? mlt_comm_of(me, comm) : NULL, fn, class, "%s", text);
}

// As the surface does for a call of a thread that the rank has started.
int mlt_fortran_raise(MPI_Comm comm, const char *function, int class, const char *text)
{
    uint16_t fn = number_of(function);
    bool moves = !mlt_rank_self() && mlt_thread_moves();
    mlt_delegates *moved = moves ? mlt_thread_adopt(fn) : NULL;
    int code = raise_here(comm, fn, class, text);
    if (moved)
        mlt_thread_leave(moved);
    return code;
}
