#include "mpi/coll_inter.h"
#include "mpi/error.h"
#define NO __attribute__((weak)) int
#define R                                                                                          \
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,                          \
                         "not on intercommunicators yet")
NO mlt_inter_reduce(mlt_rank *me, const void *a, void *b, MPI_Count c, const mlt_type *t,
                    const mlt_inter_op *op, int root, mlt_comm *comm, mlt_coll_how how)
{
    R;
}
NO mlt_inter_allreduce(mlt_rank *me, const void *a, void *b, MPI_Count c, const mlt_type *t,
                       const mlt_inter_op *op, mlt_comm *comm, mlt_coll_how how)
{
    R;
}
NO mlt_inter_reduce_scatter(mlt_rank *me, const void *a, void *b, mlt_coll_numbers c,
                            const mlt_type *t, const mlt_inter_op *op, mlt_comm *comm,
                            mlt_coll_how how)
{
    R;
}
NO mlt_inter_reduce_scatter_block(mlt_rank *me, const void *a, void *b, MPI_Count c,
                                  const mlt_type *t, const mlt_inter_op *op, mlt_comm *comm,
                                  mlt_coll_how how)
{
    R;
}
NO mlt_inter_no_scan(mlt_rank *me, mlt_comm *comm)
{
    R;
}
