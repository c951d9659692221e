// SPDX-License-Identifier: BSD-3-Clause
// Reductions: MPI_Reduce, MPI_Allreduce, MPI_Reduce_scatter and its block twin, MPI_Scan,
// MPI_Exscan.
//
// The team sees elements as far apart as the type's extent, since functions of operations do. A
// type with gaps is copied with them (mlt_coll_job.layout).
#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/coll/inter.h"
#include "mpi/coll/op.h"
#include "mpi/coll/reduce_to.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi_bodies.h"

// ---- the operation

// Type and operation. The type may be NULL.
static inline int reduce_prepare(mlt_rank *me, mlt_comm *comm, const mlt_type *type, MPI_Op op,
                                 mlt_inter_op *out)
{
    int code = MPI_SUCCESS;
    if (MLT_UNLIKELY(!type) || MLT_UNLIKELY(!type->committed))
        return mlt_coll_check_data(me, comm, &(mlt_coll_data){"", NULL, 0, type});
    if (MLT_UNLIKELY(!mlt_op_of(me, comm, op, type, &out->op, &code)))
        return code;
    out->object = mlt_op_object(op);
    out->layout = !out->op.direct;
    return MPI_SUCCESS;
}

// Elements without bytes are none: they need no memory, and no function sees them.
static inline MPI_Count with_bytes(MPI_Count count, const mlt_type *type)
{
    return MLT_UNLIKELY(!type->size) && count > 0 ? 0 : count;
}

// What it has on the stack is gone when a rank waits (bcast.c).
static inline int reduce_check_buffers(mlt_rank *me, mlt_comm *comm, const void *sendbuf,
                                       void *recvbuf, MPI_Count count, const mlt_type *type,
                                       uint32_t element, bool receives)
{
    mlt_coll_data send = {"send", sendbuf, count, type}, recv = {"recv", recvbuf, count, type};
    bool in_place = mlt_coll_in_place(sendbuf);
    int code = MPI_SUCCESS;
    if (!in_place)
        code = mlt_coll_check_operands(me, comm, &send, "count", element);
    if (MLT_LIKELY(code == MPI_SUCCESS) && receives)
        code = mlt_coll_check_operands(me, comm, &recv, "count", element);
    if (MLT_LIKELY(code == MPI_SUCCESS) && receives && mlt_type_is_dense(type)) {
        uint64_t bytes = (uint64_t)count * type->size;
        if (MLT_UNLIKELY(mlt_coll_overlap(sendbuf, bytes, recvbuf, bytes)) && !in_place)
            code = mlt_coll_bad_overlap(me, comm);
    }
    return code;
}

// The job of what the body has put together; in, out: where operands lie, NULL: nowhere here. copied: in
// is out's memory, too.
static int reduce_go(mlt_rank *me, mlt_comm *comm, const mlt_coll_what *what,
                     const mlt_inter_op *op, const mlt_coll_data *in, const mlt_coll_data *out,
                     bool copied, void *memory, const mlt_how *how)
{
    mlt_coll_job job = {
        .comm = comm,
        .what = *what,
        .op_object = op->object,
        .reads_out = true, // in place, or an exscan that leaves it as it is
        .writes_out = true,
        .layout = op->layout,
        .memory = memory,
    };
    if (in && (in->buf || in->count))
        job.in = mlt_coll_data_side(in, 1);
    if (out && (out->buf || out->count))
        job.out = mlt_coll_data_side(out, 1);
    job.in.copied = copied;
    mlt_coll_op_copy(&job.op, &op->op);
    job.what.op = &job.op;
    return mlt_coll_go(me, &job, how);
}

// ---- one block: reduce, allreduce, scan, exscan

// Apart, for the stack of a rank that waits in a quick call (bcast.c).
static MLT_NOINLINE int one_block_otherwise(mlt_rank *me, mlt_comm *comm, const mlt_coll_what *what,
                                            const mlt_inter_op *op, const mlt_type *type,
                                            const void *in, bool gives, void *out, bool receives,
                                            const mlt_how *how)
{
    mlt_coll_data send = {"send", in, (MPI_Count)what->count, type};
    mlt_coll_data recv = {"recv", out, (MPI_Count)what->count, type};
    return reduce_go(me, comm, what, op, gives ? &send : NULL, receives ? &recv : NULL, false, NULL,
                     how);
}

static MLT_NOINLINE int one_block_between(mlt_rank *me, mlt_collective collective,
                                          const void *sendbuf, void *recvbuf, MPI_Count count,
                                          const mlt_type *type, const mlt_inter_op *op, int root,
                                          mlt_comm *comm, const mlt_how *how)
{
    mlt_coll_data send = {"send", sendbuf, count, type}, recv = {"recv", recvbuf, count, type};
    if (collective == MLT_COLL_REDUCE || collective == MLT_COLL_ALLREDUCE)
        return mlt_inter_reduce(me, collective, &send, &recv, op, root, NULL, comm, how);
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                         "%s is an intercommunicator, on which scans are not defined",
                         mlt_comm_name(me, comm));
}

typedef struct draft {
    mlt_inter_op op;
    mlt_coll_what what;
} draft;

static inline __attribute__((always_inline)) int
one_block_in(draft *d, mlt_rank *me, mlt_collective collective, const void *sendbuf, void *recvbuf,
             MPI_Count count, const mlt_type *type, MPI_Op handle, int root, mlt_comm *comm,
             const mlt_how *how, bool tree)
{
    static const char tree_key[] = "tree";
    bool rooted = collective == MLT_COLL_REDUCE;
    if (rooted && MLT_UNLIKELY(root == MPI_PROC_NULL) && comm->inter)
        return mlt_inter_idle(me, MLT_COLL_REDUCE, comm, how);
    int code = reduce_prepare(me, comm, type, handle, &d->op);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    count = with_bytes(count, type);
    if (MLT_UNLIKELY(comm->inter))
        return one_block_between(me, collective, sendbuf, recvbuf, count, type, &d->op, root, comm,
                                 how);
    if (rooted && (code = mlt_coll_check_root(me, comm, root)) != MPI_SUCCESS)
        return code;
    bool in_place = mlt_coll_in_place(sendbuf);
    bool receives = rooted                          ? comm->rank == root
                    : collective == MLT_COLL_EXSCAN ? comm->rank > 0 || in_place // 0 gets nothing
                                                    : true;
    code =
        reduce_check_buffers(me, comm, sendbuf, recvbuf, count, type, d->op.op.element, receives);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    if (MLT_UNLIKELY(in_place && !receives))
        return mlt_coll_bad_in_place(me, comm, "sendbuf of a rank that is not the root");
    d->what = (mlt_coll_what){
        .collective = (uint8_t)collective,
        .in_place = in_place && !rooted,
        .kind = mlt_type_kind(type),
        .kind_sent = mlt_type_kind(type),
        .root = (uint32_t)root,
        .element = d->op.op.element,
        .count = (uint64_t)count,
        .op = &d->op.op,
        .tree = tree,
        .key = tree ? tree_key : NULL,
        .key_bytes = tree ? sizeof tree_key : 0,
    };
    const void *in = in_place ? NULL : sendbuf;
    void *out = receives ? recvbuf : NULL;
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && MLT_LIKELY(!d->op.layout))
        return mlt_coll_quick(me, comm, &d->what, in, out);
    return one_block_otherwise(me, comm, &d->what, &d->op, type, in, !in_place, out, receives, how);
}

// Thousands of ranks that share a worker may wait in here, and every line of their stacks that they
// touch when they go on is cold. So their arguments lie elsewhere: in memory of the thread, as no
// other rank runs until the call has copied them.
static MLT_NOINLINE int one_block_shared(mlt_rank *me, mlt_collective collective,
                                         const void *sendbuf, void *recvbuf, MPI_Count count,
                                         const mlt_type *type, MPI_Op handle, int root,
                                         mlt_comm *comm, const mlt_how *how)
{
    static _Thread_local draft d __attribute__((tls_model("initial-exec")));
    return one_block_in(&d, me, collective, sendbuf, recvbuf, count, type, handle, root, comm, how,
                        false);
}

int mlt_coll_one_block(mlt_rank *me, mlt_collective collective, const void *sendbuf, void *recvbuf,
                       MPI_Count count, const mlt_type *type, MPI_Op handle, int root,
                       mlt_comm *comm, const mlt_how *how)
{
    draft d;
    return one_block_in(&d, me, collective, sendbuf, recvbuf, count, type, handle, root, comm, how,
                        false);
}

int mlt_mpi_Reduce(mlt_rank *me, const void *sendbuf, void *recvbuf, MPI_Count count,
                   const mlt_type *datatype, MPI_Op op, int root, mlt_comm *comm,
                   const mlt_how *how)
{
    return (me->worker->count > 1 ? one_block_shared : mlt_coll_one_block)(
        me, MLT_COLL_REDUCE, sendbuf, recvbuf, count, datatype, op, root, comm, how);
}

int mlt_coll_treereduce(mlt_rank *me, const void *sendbuf, void *recvbuf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    draft d;
    mlt_comm *found = mlt_comm_of(me, comm);
    if (!found)
        return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_COMM, "comm", "communicator",
                              (uintptr_t)comm);
    const mlt_type *type = mlt_type_mine(me, datatype);
    if (!type)
        return mlt_bad_type(me, found, me->fn, "datatype", datatype);
    if (found->inter)
        return mlt_mpi_raise(me, found, me->fn, MPI_ERR_COMM,
                             "%s is an intercommunicator, but should be an intracommunicator",
                             mlt_comm_name(me, found));
    return one_block_in(&d, me, MLT_COLL_REDUCE, sendbuf, recvbuf, count, type, op, root, found,
                        MLT_BLOCKING, true);
}

// A few predefined elements are reduced by the operation that the worker used last.
static inline bool is_everyday(const mlt_rank *me, const void *sendbuf, const void *recvbuf,
                               MPI_Count count, const mlt_type *type, MPI_Op op,
                               const mlt_comm *comm)
{
    const mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    return mlt_coll_has_thread(me) && op == w->last_op.handle && type == w->last_op.type &&
           w->last_op.op.direct && w->last_op.op.element <= sizeof(uint64_t) &&
           mlt_coll_is_quick(me, comm, MLT_BLOCKING) &&
           mlt_coll_is_everyday(sendbuf, count, type) &&
           (uintptr_t)recvbuf > (uintptr_t)MPI_IN_PLACE &&
           !mlt_coll_overlap(sendbuf, (uint64_t)count * type->size, recvbuf,
                             (uint64_t)count * type->size);
}

MLT_NOINLINE int mlt_mpi_Allreduce(mlt_rank *me, const void *sendbuf, void *recvbuf,
                                   MPI_Count count, const mlt_type *datatype, MPI_Op op,
                                   mlt_comm *comm, const mlt_how *how)
{
    return (me->worker->count > 1 ? one_block_shared : mlt_coll_one_block)(
        me, MLT_COLL_ALLREDUCE, sendbuf, recvbuf, count, datatype, op, 0, comm, how);
}

int mlt_blocking_Allreduce(mlt_rank *me, const void *sendbuf, void *recvbuf, MPI_Count count,
                           const mlt_type *datatype, MPI_Op op, mlt_comm *comm)
{
    static _Thread_local mlt_coll_what what
        __attribute__((tls_model("initial-exec"))) = {.collective = MLT_COLL_ALLREDUCE};
    if (MLT_LIKELY(is_everyday(me, sendbuf, recvbuf, count, datatype, op, comm))) {
        const mlt_coll_op *found = &mlt_mpi_worker_of(me)->last_op.op;
        what.kind = what.kind_sent = datatype->code;
        what.element = found->element;
        what.count = (uint64_t)count;
        what.op = found;
        return mlt_coll_quick_small(me, comm, &what, sendbuf, recvbuf);
    }
    return mlt_mpi_Allreduce(me, sendbuf, recvbuf, count, datatype, op, comm, MLT_BLOCKING);
}

// ---- reduce_scatter

#define SUM "recvcounts, all together," // the name of what is checked

// starts: NULL if all blocks have `count` elements, else [size + 1]; the job's memory from now on.
static int reduce_scatter(mlt_rank *me, const void *sendbuf, void *recvbuf, uint64_t count,
                          uint64_t *starts, const mlt_type *type, const mlt_inter_op *op,
                          mlt_comm *comm, const mlt_how *how)
{
    uint64_t size = (uint64_t)comm->size, all = starts ? starts[size] : size * count;
    uint64_t own = starts ? starts[comm->rank + 1] - starts[comm->rank] : count;
    bool in_place = !comm->inter && mlt_coll_in_place(sendbuf);
    mlt_coll_what what = {
        .collective = MLT_COLL_REDUCE_SCATTER,
        .kind = mlt_type_kind(type),
        .kind_sent = mlt_type_kind(type),
        .element = op->op.element,
        .count = count,
        .starts = starts,
        .op = &op->op,
    };
    mlt_coll_data send = {in_place ? "recv" : "send", in_place ? recvbuf : sendbuf, (MPI_Count)all,
                          type};
    mlt_coll_data recv = {"recv", recvbuf, (MPI_Count)own, type};
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_reduce(me, MLT_COLL_REDUCE_SCATTER, &send, &recv, op, MPI_ROOT, starts,
                                comm, how);
    int code = MPI_SUCCESS;
    if (!in_place)
        code = mlt_coll_check_operands(me, comm, &recv, SUM, what.element);
    if (MLT_LIKELY(code == MPI_SUCCESS)) // all of them: what has no address, or too many
        code = mlt_coll_check_operands(me, comm, &send, SUM, what.element);
    if (MLT_LIKELY(code == MPI_SUCCESS) && !in_place && mlt_type_is_dense(type) &&
        MLT_UNLIKELY(mlt_coll_overlap(sendbuf, all * type->size, recvbuf, own * type->size)))
        code = mlt_coll_bad_overlap(me, comm);
    bool quick = MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && !op->layout && !in_place;
    if (MLT_UNLIKELY(code != MPI_SUCCESS) || quick) {
        if (code == MPI_SUCCESS)
            code = mlt_coll_quick(me, comm, &what, sendbuf, recvbuf);
        mlt_coll_memory_give(me, starts);
        return code;
    }
    return reduce_go(me, comm, &what, op, &send, &recv, in_place, starts, how);
}

int mlt_mpi_Reduce_scatter_block(mlt_rank *me, const void *sendbuf, void *recvbuf,
                                 MPI_Count recvcount, const mlt_type *type, MPI_Op handle,
                                 mlt_comm *comm, const mlt_how *how)
{
    mlt_inter_op op;
    int code = reduce_prepare(me, comm, type, handle, &op);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    recvcount = with_bytes(recvcount, type);
    int64_t all;
    if (MLT_UNLIKELY(recvcount < 0) || __builtin_mul_overflow(recvcount, comm->size, &all))
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, "recvcount", recvcount,
                             "at least 0, and those of all ranks together fit into 63 bits");
    return reduce_scatter(me, sendbuf, recvbuf, (uint64_t)recvcount, NULL, type, &op, comm, how);
}

// Where the blocks begin; NULL if all are alike on an intracommunicator, and then *count says so. A code.
static int read_counts(mlt_rank *me, mlt_comm *comm, mlt_coll_numbers counts, const mlt_type *type,
                       uint64_t **starts, uint64_t *count)
{
    *starts = NULL;
    if (MLT_UNLIKELY(!counts.at))
        return mlt_coll_bad_array(me, comm, "recvcounts");
    int64_t first = with_bytes(mlt_coll_number(counts, 0), type), all = 0;
    bool alike = !comm->inter;
    for (uint64_t r = 0; r < (uint64_t)comm->size; r++) {
        int64_t n = mlt_coll_number(counts, r);
        if (MLT_UNLIKELY(n < 0))
            return mlt_coll_bad_element(me, comm, MPI_ERR_COUNT, "recvcounts", r, n, "at least 0");
        n = with_bytes(n, type);
        if (MLT_UNLIKELY(__builtin_add_overflow(all, n, &all)))
            return mlt_coll_bad_total(me, comm);
        alike = alike && n == first;
    }
    *count = (uint64_t)first;
    if (alike)
        return MPI_SUCCESS;
    uint64_t ranks =
        (uint64_t)comm->size + (uint64_t)comm->peers; // of an intracommunicator: enough
    uint64_t *at = *starts = mlt_coll_memory_take(me, (ranks + 1) * sizeof *at);
    memset(at, 0, (ranks + 1) * sizeof *at);
    for (uint64_t r = 0; r < (uint64_t)comm->size; r++)
        at[r + 1] = at[r] + (uint64_t)with_bytes(mlt_coll_number(counts, r), type);
    return MPI_SUCCESS;
}

int mlt_mpi_Reduce_scatter(mlt_rank *me, const void *sendbuf, void *recvbuf,
                           mlt_coll_numbers counts, const mlt_type *type, MPI_Op handle,
                           mlt_comm *comm, const mlt_how *how)
{
    mlt_inter_op op;
    uint64_t *starts, count = 0;
    int code = reduce_prepare(me, comm, type, handle, &op);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    code = read_counts(me, comm, counts, type, &starts, &count);
    return code == MPI_SUCCESS
               ? reduce_scatter(me, sendbuf, recvbuf, count, starts, type, &op, comm, how)
               : code;
}
