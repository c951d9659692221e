// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/inter.h"

#include <stdio.h>
#include <string.h>

#include "coll/alg/inter.h"
#include "mpi/coll/list.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"

// ---- who is where

// The first rank of the other group, in the order of both.
static int32_t far_first(const mlt_comm *comm)
{
    return comm->side ? 0 : comm->shared->group[0]->size;
}

static bool is_idle(int root)
{
    return root == MPI_PROC_NULL;
}

static bool coll_inter_is_root(int root)
{
    return root == MPI_ROOT;
}

static int coll_inter_check_root(mlt_rank *me, mlt_comm *comm, int root)
{
    if (MLT_LIKELY(root >= 0 && root < comm->peers) || coll_inter_is_root(root) || is_idle(root))
        return MPI_SUCCESS;
    return mlt_mpi_raise(
        me, comm, me->fn, MPI_ERR_ROOT,
        "argument root is %d, but should be a rank from 0 to %d of the other group "
        "of %s, or MPI_ROOT or MPI_PROC_NULL in the root's own group",
        root, comm->peers - 1, mlt_comm_name(me, comm));
}

// count elements at buf, an argument of that name, and not in place.
static int coll_inter_check_data(mlt_rank *me, mlt_comm *comm, const char *which, const void *buf,
                                 MPI_Count count, const mlt_type *type)
{
    if (MLT_LIKELY(!mlt_coll_in_place(buf)))
        return mlt_coll_check_data(me, comm, which, buf, count, type);
    char name[16];
    snprintf(name, sizeof name, "%s%s", which, which[0] ? "buf" : "buffer");
    return mlt_coll_bad_in_place(me, comm, name);
}

// The same for operands of a reduction.
static int check_operands(mlt_rank *me, mlt_comm *comm, const char *which, const void *buf,
                          MPI_Count count, const mlt_type *type, const mlt_inter_op *op)
{
    if (MLT_UNLIKELY(mlt_coll_in_place(buf)))
        return coll_inter_check_data(me, comm, which, buf, count, type);
    return mlt_coll_check_operands(me, comm, which, buf, "count", count, type, op->op.element);
}

// The same for one block of every rank of the other group.
static int coll_inter_check_blocks(mlt_rank *me, mlt_comm *comm, const char *which, const void *buf,
                                   MPI_Count count, const mlt_type *type)
{
    int code = coll_inter_check_data(me, comm, which, buf, count, type);
    uint64_t bytes;
    if (code != MPI_SUCCESS || MLT_LIKELY(!__builtin_mul_overflow((uint64_t)count * type->size,
                                                                  (uint64_t)comm->peers, &bytes) &&
                                          bytes <= INT64_MAX))
        return code;
    char name[16];
    snprintf(name, sizeof name, "%scount", which);
    return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, name, count,
                         "so few that the bytes of all blocks fit into 63 bits");
}

// ---- schedules

static void coll_inter_emit(const mlt_coll_what *what, mlt_goal_program *program, uint32_t rank)
{
    mlt_inter x = *(const mlt_inter *)what->custom;
    x.op = what->op;
    x.starts = what->starts;
    mlt_inter_emit(&x, program, rank);
}

static inline mlt_coll_side coll_inter_side(const void *buf, MPI_Count count, const mlt_type *type)
{
    return (mlt_coll_side){
        .buf = (void *)(uintptr_t)buf, .type = type, .blocks = 1, .count = (uint64_t)count};
}

// The job of an operation with that shape; root as the user gave it, MPI_ROOT if there is none.
// Takes over `starts`, memory of the worker's: [ranks of both groups + 1], or NULL.
static int coll_inter_go(mlt_rank *me, mlt_comm *comm, mlt_coll_job *job, mlt_inter_shape shape,
                         int root, uint64_t *starts, mlt_coll_how how)
{
    const mlt_team *team = mlt_comm_flat(comm);
    uint64_t room = starts ? (team->ranks + 1ull) * sizeof *starts : 0;
    mlt_inter *x = mlt_coll_memory_take(me, sizeof *x + room);
    shape.size[0] = (uint32_t)comm->shared->group[0]->size;
    shape.size[1] = (uint32_t)comm->shared->group[1]->size;
    shape.idle = is_idle(root);
    shape.root = root >= 0                  ? (uint32_t)(far_first(comm) + root)
                 : coll_inter_is_root(root) ? (uint32_t)mlt_comm_order(comm)
                                            : 0;
    shape.has_starts = starts != NULL;
    *x = (mlt_inter){.shape = shape,
                     .question = {.reproducible = team->reproducible,
                                  .crowded = team->crowded,
                                  .sharing = mlt_team_sharing(team),
                                  .cores = mlt_team_cores(team),
                                  .reach = team->reach,
                                  .reads = team->reads,
                                  .comm = ""}};
    if (starts)
        memcpy(x + 1, starts, room);
    mlt_coll_memory_give(me, starts);
    job->comm = comm;
    job->writes_out = true;
    job->memory = x;
    // Two groups that gather from each other may have different types.
    const mlt_type *type = job->out.type ? job->out.type : job->in.type;
    uint16_t kind = type && shape.collective != MLT_COLL_ALLGATHER ? mlt_type_kind(type) : 0;
    job->what = (mlt_coll_what){.collective = (uint8_t)shape.collective,
                                .kind = kind,
                                .kind_sent = kind,
                                .root = shape.root,
                                .element = shape.element,
                                .count = shape.count[comm->side],
                                .starts = starts ? (uint64_t *)(x + 1) : NULL,
                                .op = job->what.op,
                                .emit = coll_inter_emit,
                                .custom = x,
                                .key = &x->shape,
                                .key_bytes = sizeof x->shape};
    return mlt_coll_go(me, job, how);
}

// Of operations that move `bytes` for each rank.
static mlt_inter_shape moves(mlt_collective collective, uint64_t bytes)
{
    return (mlt_inter_shape){.collective = collective, .count = {bytes, bytes}, .element = 1};
}

// ---- lists

// Every rank of the other group, or the root.
static int32_t far_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i, int32_t *tag)
{
    return far_first(comm) + (root < 0 ? (int32_t)i : root);
}

// A side without anything: no argument is looked at.
static const mlt_listing coll_inter_nothing = {.which = "", .listed = true, .typed = true};

static mlt_listing alike(const char *which, const void *buf, uint32_t blocks, MPI_Count count,
                         const mlt_type *type)
{
    return (mlt_listing){
        .which = which, .buf = buf, .blocks = blocks, .count = count, .type = type};
}

static mlt_listing differing(const char *which, const void *buf, const mlt_comm *comm,
                             mlt_coll_numbers counts, mlt_coll_numbers displs, const mlt_type *type)
{
    return (mlt_listing){.which = which,
                         .buf = buf,
                         .blocks = (uint32_t)comm->peers,
                         .type = type,
                         .counts = counts,
                         .displs = displs,
                         .listed = true};
}

// ---- barrier, broadcast

int mlt_inter_idle(mlt_rank *me, mlt_collective collective, mlt_comm *comm, mlt_coll_how how)
{
    mlt_coll_job job = {0};
    return coll_inter_go(me, comm, &job, moves(collective, 0), MPI_PROC_NULL, NULL, how);
}

int mlt_inter_barrier(mlt_rank *me, mlt_comm *comm, mlt_coll_how how)
{
    // Any algorithm over the ranks of both groups.
    mlt_coll_job job = {.comm = comm, .what = {.collective = MLT_COLL_BARRIER, .element = 1}};
    return mlt_coll_go(me, &job, how);
}

int mlt_inter_bcast(mlt_rank *me, void *buffer, MPI_Count count, const mlt_type *type, int root,
                    mlt_comm *comm, mlt_coll_how how)
{
    if (is_idle(root))
        return mlt_inter_idle(me, MLT_COLL_BCAST, comm, how);
    int code = coll_inter_check_root(me, comm, root);
    if (code == MPI_SUCCESS)
        code = coll_inter_check_data(me, comm, "", buffer, count, type);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_job job = {0};
    job.out = coll_inter_side(buffer, count, type);
    job.reads_out = coll_inter_is_root(root);
    return coll_inter_go(me, comm, &job, moves(MLT_COLL_BCAST, (uint64_t)count * type->size), root,
                         NULL, how);
}

// ---- gather, scatter

// A block of each rank, and all of them at the root.
static int coll_inter_blocks(mlt_rank *me, mlt_collective collective, const void *one,
                             MPI_Count one_count, const mlt_type *one_type, const void *all,
                             MPI_Count all_count, const mlt_type *all_type, int root,
                             mlt_comm *comm, mlt_coll_how how)
{
    bool gathers = collective == MLT_COLL_GATHER;
    mlt_coll_job job = {0};
    if (is_idle(root))
        return mlt_inter_idle(me, collective, comm, how);
    int code = coll_inter_check_root(me, comm, root);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    const mlt_type *type = coll_inter_is_root(root) ? all_type : one_type;
    MPI_Count count = coll_inter_is_root(root) ? all_count : one_count;
    if (coll_inter_is_root(root))
        code = coll_inter_check_blocks(me, comm, gathers ? "recv" : "send", all, count, type);
    else
        code = coll_inter_check_data(me, comm, gathers ? "send" : "recv", one, count, type);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_side *data = coll_inter_is_root(root) == gathers ? &job.out : &job.in;
    *data = coll_inter_side(coll_inter_is_root(root) ? all : one, count, type);
    data->blocks = coll_inter_is_root(root) ? (uint64_t)comm->peers : 1;
    return coll_inter_go(me, comm, &job, moves(collective, (uint64_t)count * type->size), root,
                         NULL, how);
}

int mlt_inter_gather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                     const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                     const mlt_type *recvtype, int root, mlt_comm *comm, mlt_coll_how how)
{
    return coll_inter_blocks(me, MLT_COLL_GATHER, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                             recvtype, root, comm, how);
}

int mlt_inter_scatter(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                      const mlt_type *recvtype, int root, mlt_comm *comm, mlt_coll_how how)
{
    return coll_inter_blocks(me, MLT_COLL_SCATTER, recvbuf, recvcount, recvtype, sendbuf, sendcount,
                             sendtype, root, comm, how);
}

int mlt_inter_gatherv(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, void *recvbuf, mlt_coll_numbers recvcounts,
                      mlt_coll_numbers displs, const mlt_type *recvtype, int root, mlt_comm *comm,
                      mlt_coll_how how)
{
    int code = coll_inter_check_root(me, comm, root);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_listing send = coll_inter_nothing, recv = coll_inter_nothing;
    if (coll_inter_is_root(root))
        recv = differing("recv", recvbuf, comm, recvcounts, displs, recvtype);
    else if (!is_idle(root))
        send = alike("send", sendbuf, 1, sendcount, sendtype);
    recv.displs_name = "displs";
    return mlt_coll_list_exchange(me, comm, &send, &recv, far_peer, root, MLT_FORM_GATHERV, how);
}

int mlt_inter_scatterv(mlt_rank *me, const void *sendbuf, mlt_coll_numbers sendcounts,
                       mlt_coll_numbers displs, const mlt_type *sendtype, void *recvbuf,
                       MPI_Count recvcount, const mlt_type *recvtype, int root, mlt_comm *comm,
                       mlt_coll_how how)
{
    int code = coll_inter_check_root(me, comm, root);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_listing send = coll_inter_nothing, recv = coll_inter_nothing;
    if (coll_inter_is_root(root))
        send = differing("send", sendbuf, comm, sendcounts, displs, sendtype);
    else if (!is_idle(root))
        recv = alike("recv", recvbuf, 1, recvcount, recvtype);
    send.displs_name = "displs";
    return mlt_coll_list_exchange(me, comm, &send, &recv, far_peer, root, MLT_FORM_SCATTERV, how);
}

// ---- allgather, alltoall

int mlt_inter_allgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                        const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                        const mlt_type *recvtype, mlt_comm *comm, mlt_coll_how how)
{
    int code = coll_inter_check_data(me, comm, "send", sendbuf, sendcount, sendtype);
    if (code == MPI_SUCCESS)
        code = coll_inter_check_blocks(me, comm, "recv", recvbuf, recvcount, recvtype);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_inter_shape shape = {.collective = MLT_COLL_ALLGATHER, .element = 1};
    shape.count[comm->side] = (uint64_t)sendcount * sendtype->size;
    shape.count[!comm->side] = (uint64_t)recvcount * recvtype->size;
    uint32_t size[2] = {(uint32_t)comm->size, (uint32_t)comm->peers};
    if (!mlt_inter_gathers(size, shape.count)) {
        mlt_listing send = alike("send", sendbuf, size[1], sendcount, sendtype);
        mlt_listing recv = alike("recv", recvbuf, size[1], recvcount, recvtype);
        send.same = true;
        return mlt_coll_list_exchange(me, comm, &send, &recv, far_peer, MPI_ROOT,
                                      MLT_FORM_ALLGATHER, how);
    }
    mlt_coll_job job = {.in = coll_inter_side(sendbuf, sendcount, sendtype),
                        .out = coll_inter_side(recvbuf, recvcount, recvtype)};
    job.out.blocks = size[1];
    return coll_inter_go(me, comm, &job, shape, MPI_ROOT, NULL, how);
}

int mlt_inter_allgatherv(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                         const mlt_type *sendtype, void *recvbuf, mlt_coll_numbers recvcounts,
                         mlt_coll_numbers displs, const mlt_type *recvtype, mlt_comm *comm,
                         mlt_coll_how how)
{
    mlt_listing send = alike("send", sendbuf, (uint32_t)comm->peers, sendcount, sendtype);
    mlt_listing recv = differing("recv", recvbuf, comm, recvcounts, displs, recvtype);
    send.same = true;
    recv.displs_name = "displs";
    return mlt_coll_list_exchange(me, comm, &send, &recv, far_peer, MPI_ROOT, MLT_FORM_ALLGATHER,
                                  how);
}

int mlt_inter_alltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                       const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                       const mlt_type *recvtype, mlt_comm *comm, mlt_coll_how how)
{
    mlt_listing send = alike("send", sendbuf, (uint32_t)comm->peers, sendcount, sendtype);
    mlt_listing recv = alike("recv", recvbuf, (uint32_t)comm->peers, recvcount, recvtype);
    return mlt_coll_list_exchange(me, comm, &send, &recv, far_peer, MPI_ROOT, MLT_FORM_ALLTOALL,
                                  how);
}

int mlt_inter_alltoallv(mlt_rank *me, const void *sendbuf, mlt_coll_numbers sendcounts,
                        mlt_coll_numbers sdispls, const mlt_type *sendtype, void *recvbuf,
                        mlt_coll_numbers recvcounts, mlt_coll_numbers rdispls,
                        const mlt_type *recvtype, mlt_comm *comm, mlt_coll_how how)
{
    mlt_listing send = differing("send", sendbuf, comm, sendcounts, sdispls, sendtype);
    mlt_listing recv = differing("recv", recvbuf, comm, recvcounts, rdispls, recvtype);
    return mlt_coll_list_exchange(me, comm, &send, &recv, far_peer, MPI_ROOT, MLT_FORM_ALLTOALLV,
                                  how);
}

int mlt_inter_alltoallw(mlt_rank *me, const void *sendbuf, mlt_coll_numbers sendcounts,
                        mlt_coll_numbers sdispls, const MPI_Datatype *sendtypes, void *recvbuf,
                        mlt_coll_numbers recvcounts, mlt_coll_numbers rdispls,
                        const MPI_Datatype *recvtypes, mlt_comm *comm, mlt_coll_how how)
{
    mlt_listing send = differing("send", sendbuf, comm, sendcounts, sdispls, NULL);
    mlt_listing recv = differing("recv", recvbuf, comm, recvcounts, rdispls, NULL);
    send.typed = recv.typed = true;
    send.types = sendtypes;
    recv.types = recvtypes;
    return mlt_coll_list_exchange(me, comm, &send, &recv, far_peer, MPI_ROOT, MLT_FORM_ALLTOALLV,
                                  how);
}

// ---- reductions

static int reduce(mlt_rank *me, mlt_comm *comm, mlt_collective collective, uint64_t count,
                  mlt_coll_side in, mlt_coll_side out, const mlt_inter_op *op, int root,
                  uint64_t *starts, mlt_coll_how how)
{
    mlt_coll_job job = {.in = in, .out = out, .op_object = op->object, .layout = op->layout};
    mlt_coll_op_copy(&job.op, &op->op);
    job.what.op = &job.op;
    mlt_inter_shape shape = {
        .collective = collective, .count = {count, count}, .element = op->op.element};
    return coll_inter_go(me, comm, &job, shape, root, starts, how);
}

int mlt_inter_reduce(mlt_rank *me, const void *sendbuf, void *recvbuf, MPI_Count count,
                     const mlt_type *type, const mlt_inter_op *op, int root, mlt_comm *comm,
                     mlt_coll_how how)
{
    int code = coll_inter_check_root(me, comm, root);
    if (code == MPI_SUCCESS)
        code = coll_inter_is_root(root)
                   ? check_operands(me, comm, "recv", recvbuf, count, type, op)
                   : check_operands(me, comm, "send", sendbuf, count, type, op);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_side in = {0}, out = {0};
    *(coll_inter_is_root(root) ? &out : &in) =
        coll_inter_side(coll_inter_is_root(root) ? recvbuf : sendbuf, count, type);
    return reduce(me, comm, MLT_COLL_REDUCE, (uint64_t)count, in, out, op, root, NULL, how);
}

int mlt_inter_allreduce(mlt_rank *me, const void *sendbuf, void *recvbuf, MPI_Count count,
                        const mlt_type *type, const mlt_inter_op *op, mlt_comm *comm,
                        mlt_coll_how how)
{
    int code = check_operands(me, comm, "send", sendbuf, count, type, op);
    if (code == MPI_SUCCESS)
        code = check_operands(me, comm, "recv", recvbuf, count, type, op);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    return reduce(me, comm, MLT_COLL_ALLREDUCE, (uint64_t)count,
                  coll_inter_side(sendbuf, count, type), coll_inter_side(recvbuf, count, type), op,
                  MPI_ROOT, NULL, how);
}

static int coll_inter_scatter(mlt_rank *me, const void *sendbuf, void *recvbuf, uint64_t total,
                              uint64_t mine, uint64_t *starts, const mlt_type *type,
                              const mlt_inter_op *op, mlt_comm *comm, mlt_coll_how how)
{
    int code = check_operands(me, comm, "send", sendbuf, (MPI_Count)total, type, op);
    if (code == MPI_SUCCESS)
        code = check_operands(me, comm, "recv", recvbuf, (MPI_Count)mine, type, op);
    if (MLT_UNLIKELY(code != MPI_SUCCESS)) {
        mlt_coll_memory_give(me, starts);
        return code;
    }
    return reduce(me, comm, MLT_COLL_REDUCE_SCATTER, total,
                  coll_inter_side(sendbuf, (MPI_Count)total, type),
                  coll_inter_side(recvbuf, (MPI_Count)mine, type), op, MPI_ROOT, starts, how);
}

int mlt_inter_reduce_scatter(mlt_rank *me, const void *sendbuf, void *recvbuf,
                             mlt_coll_numbers recvcounts, const mlt_type *type,
                             const mlt_inter_op *op, mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(!recvcounts.at))
        return mlt_coll_bad_array(me, comm, "recv", "counts");
    uint64_t ranks = (uint64_t)comm->size + (uint64_t)comm->peers, size = (uint64_t)comm->size;
    uint64_t *starts = mlt_coll_memory_take(me, (ranks + 1) * sizeof *starts);
    memset(starts, 0, (ranks + 1) * sizeof *starts);
    for (uint64_t r = 0; r < size; r++) {
        int64_t count = mlt_coll_number(recvcounts, r);
        count = type->size || count < 0 ? count : 0;
        if (MLT_LIKELY(count >= 0 && starts[r] + (uint64_t)count <= INT64_MAX)) {
            starts[r + 1] = starts[r] + (uint64_t)count;
            continue;
        }
        mlt_coll_memory_give(me, starts);
        return mlt_coll_bad_element(me, comm, MPI_ERR_COUNT, "recv", "counts", r, count,
                                    count < 0 ? "at least 0"
                                              : "so few that 63 bits count them all");
    }
    return coll_inter_scatter(me, sendbuf, recvbuf, starts[size],
                              starts[comm->rank + 1] - starts[comm->rank], starts, type, op, comm,
                              how);
}

int mlt_inter_reduce_scatter_block(mlt_rank *me, const void *sendbuf, void *recvbuf,
                                   MPI_Count recvcount, const mlt_type *type,
                                   const mlt_inter_op *op, mlt_comm *comm, mlt_coll_how how)
{
    MPI_Count total;
    if (MLT_UNLIKELY(recvcount < 0 || __builtin_mul_overflow(recvcount, comm->size, &total)))
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, "recvcount", recvcount,
                             recvcount < 0 ? "at least 0" : "so few that 63 bits count them all");
    return coll_inter_scatter(me, sendbuf, recvbuf, (uint64_t)total, (uint64_t)recvcount, NULL,
                              type, op, comm, how);
}

int mlt_inter_no_scan(mlt_rank *me, mlt_comm *comm)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                         "%s is an intercommunicator, on which scans are not defined",
                         mlt_comm_name(me, comm));
}
