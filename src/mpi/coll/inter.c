// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/inter.h"

#include <string.h>

#include "coll/alg/inter.h"
#include "mpi/coll/list.h"
#include "mpi/comm/shared.h"

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

// One block of every rank of the other group.
static int coll_inter_check_blocks(mlt_rank *me, mlt_comm *comm, const mlt_coll_data *d)
{
    int code = mlt_coll_check_data(me, comm, d);
    uint64_t bytes;
    if (code != MPI_SUCCESS ||
        MLT_LIKELY(!__builtin_mul_overflow(mlt_coll_data_bytes(d), (uint64_t)comm->peers, &bytes) &&
                   bytes <= INT64_MAX))
        return code;
    return mlt_coll_bad_total(me, comm);
}

// ---- schedules

static void coll_inter_emit(const mlt_coll_what *what, mlt_goal_program *program, uint32_t rank)
{
    mlt_inter x = *(const mlt_inter *)what->custom;
    x.op = what->op;
    x.starts = what->starts;
    mlt_inter_emit(&x, program, rank);
}

// The job of an operation with that shape; root as the user gave it, MPI_ROOT if there is none.
// Takes over `starts`, memory of the worker's: [ranks of both groups + 1], or NULL.
static int coll_inter_go(mlt_rank *me, mlt_comm *comm, mlt_coll_job *job, mlt_inter_shape shape,
                         int root, uint64_t *starts, const mlt_how *how)
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

int32_t mlt_inter_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i, int32_t *tag)
{
    return far_first(comm) + (root < 0 ? (int32_t)i : root);
}

// ---- what is moved

int mlt_inter_idle(mlt_rank *me, mlt_collective collective, mlt_comm *comm, const mlt_how *how)
{
    mlt_coll_job job = {0};
    return coll_inter_go(me, comm, &job, moves(collective, 0), MPI_PROC_NULL, NULL, how);
}

int mlt_inter_bcast(mlt_rank *me, const mlt_coll_data *data, int root, mlt_comm *comm,
                    const mlt_how *how)
{
    if (is_idle(root))
        return mlt_inter_idle(me, MLT_COLL_BCAST, comm, how);
    int code = mlt_coll_check_root(me, comm, root);
    if (code == MPI_SUCCESS)
        code = mlt_coll_check_data(me, comm, data);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_job job = {.out = mlt_coll_data_side(data, 1), .reads_out = coll_inter_is_root(root)};
    return coll_inter_go(me, comm, &job, moves(MLT_COLL_BCAST, mlt_coll_data_bytes(data)), root,
                         NULL, how);
}

// A block of each rank, and all of them at the root.
static int coll_inter_rooted(mlt_rank *me, mlt_collective collective, const mlt_coll_data *send,
                             const mlt_coll_data *recv, int root, mlt_comm *comm,
                             const mlt_how *how)
{
    if (is_idle(root))
        return mlt_inter_idle(me, collective, comm, how);
    bool is_root = coll_inter_is_root(root), sends = is_root == (collective == MLT_COLL_SCATTER);
    const mlt_coll_data *data = sends ? send : recv;
    int code = mlt_coll_check_root(me, comm, root);
    if (code == MPI_SUCCESS)
        code =
            is_root ? coll_inter_check_blocks(me, comm, data) : mlt_coll_check_data(me, comm, data);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_job job = {0};
    *(sends ? &job.in : &job.out) = mlt_coll_data_side(data, is_root ? comm->peers : 1);
    return coll_inter_go(me, comm, &job, moves(collective, mlt_coll_data_bytes(data)), root, NULL,
                         how);
}

static mlt_coll_list coll_inter_list(const mlt_coll_data *d, const mlt_comm *comm, bool same)
{
    return (mlt_coll_list){.which = d->which,
                           .buf = d->buf,
                           .blocks = (uint32_t)comm->peers,
                           .count = d->count,
                           .type = d->type,
                           .same = same};
}

int mlt_inter_blocks(mlt_rank *me, mlt_collective collective, const mlt_coll_data *send,
                     const mlt_coll_data *recv, int root, mlt_comm *comm, const mlt_how *how)
{
    bool gathers = collective == MLT_COLL_ALLGATHER;
    if (!gathers && collective != MLT_COLL_ALLTOALL)
        return coll_inter_rooted(me, collective, send, recv, root, comm, how);
    int code = mlt_coll_check_data(me, comm, send);
    if (code == MPI_SUCCESS)
        code = coll_inter_check_blocks(me, comm, recv);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_inter_shape shape = {.collective = MLT_COLL_ALLGATHER, .element = 1};
    shape.count[comm->side] = mlt_coll_data_bytes(send);
    shape.count[!comm->side] = mlt_coll_data_bytes(recv);
    uint32_t size[2] = {(uint32_t)comm->size, (uint32_t)comm->peers};
    if (!gathers || !mlt_inter_gathers(size, shape.count)) {
        mlt_coll_list from = coll_inter_list(send, comm, gathers);
        mlt_coll_list to = coll_inter_list(recv, comm, false);
        return mlt_coll_exchange(me, comm, &from, &to, mlt_inter_peer, MPI_ROOT,
                                 gathers ? MLT_FORM_ALLGATHER : MLT_FORM_ALLTOALL, how);
    }
    mlt_coll_job job = {.in = mlt_coll_data_side(send, 1),
                        .out = mlt_coll_data_side(recv, comm->peers)};
    return coll_inter_go(me, comm, &job, shape, MPI_ROOT, NULL, how);
}

// ---- reductions

int mlt_inter_reduce(mlt_rank *me, mlt_collective collective, const mlt_coll_data *send,
                     const mlt_coll_data *recv, const mlt_inter_op *op, int root, uint64_t *starts,
                     mlt_comm *comm, const mlt_how *how)
{
    bool rooted = collective == MLT_COLL_REDUCE;
    bool gives = !rooted || !coll_inter_is_root(root), gets = !rooted || coll_inter_is_root(root);
    int code = rooted ? mlt_coll_check_root(me, comm, root) : MPI_SUCCESS;
    if (code == MPI_SUCCESS && gives)
        code = mlt_coll_check_operands(me, comm, send, "count", op->op.element);
    if (code == MPI_SUCCESS && gets)
        code = mlt_coll_check_operands(me, comm, recv, "count", op->op.element);
    if (MLT_UNLIKELY(code != MPI_SUCCESS)) {
        mlt_coll_memory_give(me, starts);
        return code;
    }
    mlt_coll_job job = {.op_object = op->object, .layout = op->layout};
    if (gives)
        job.in = mlt_coll_data_side(send, 1);
    if (gets)
        job.out = mlt_coll_data_side(recv, 1);
    mlt_coll_op_copy(&job.op, &op->op);
    job.what.op = &job.op;
    uint64_t count = (uint64_t)send->count;
    mlt_inter_shape shape = {
        .collective = collective, .count = {count, count}, .element = op->op.element};
    return coll_inter_go(me, comm, &job, shape, rooted ? root : MPI_ROOT, starts, how);
}
