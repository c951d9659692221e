// SPDX-License-Identifier: BSD-3-Clause
// MPI_Gather, MPI_Scatter, MPI_Allgather and MPI_Alltoall: blocks of one size.
#include "mpi/coll.h"
#include "mpi/error.h"
#include "mpi_bodies.h"

// What the user says of one buffer.
typedef struct data {
    const void *buf;
    MPI_Count count;
    const mlt_type *type;
} data;

static inline uint64_t bytes_of(const data *d)
{
    return (uint64_t)d->count * d->type->size;
}

// `blocks` of them lie one behind the other.
static inline mlt_coll_side side_of(const data *d, int32_t blocks)
{
    return (mlt_coll_side){
        .buf = (void *)(uintptr_t)d->buf,
        .type = d->type,
        .blocks = (uint64_t)blocks,
        .count = (uint64_t)d->count,
    };
}

static inline int check_send(mlt_rank *me, mlt_comm *comm, const data *send)
{
    if (MLT_UNLIKELY(mlt_coll_in_place(send->buf)))
        return mlt_coll_bad_in_place(me, comm, "sendbuf");
    return mlt_coll_check_data(me, comm, "send", send->buf, send->count, send->type);
}

static inline int check_recv(mlt_rank *me, mlt_comm *comm, const data *recv)
{
    if (MLT_UNLIKELY(mlt_coll_in_place(recv->buf)))
        return mlt_coll_bad_in_place(me, comm, "recvbuf");
    return mlt_coll_check_data(me, comm, "recv", recv->buf, recv->count, recv->type);
}

// Bytes of a block for each rank can be counted, those of each for each in a worker too.
static inline int check_total(mlt_rank *me, mlt_comm *comm, uint64_t bytes)
{
    uint64_t most = INT64_MAX / 4 / (uint64_t)comm->size;
    if (MLT_UNLIKELY(bytes > UINT32_MAX) && bytes > most)
        return mlt_coll_bad_total(me, comm);
    return MPI_SUCCESS;
}

// The end of every body: blocks of `bytes` bytes.
static inline int go(mlt_rank *me, mlt_coll_job *job, uint64_t bytes, mlt_coll_how how)
{
    int code = check_total(me, job->comm, bytes);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    job->what.element = 1;
    job->what.count = bytes;
    return mlt_coll_go(me, job, how);
}

// ---- gather

static int gather(mlt_rank *me, data send, data recv, int root, mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_coll_no_inter(me, comm);
    bool is_root = comm->rank == root, in_place = is_root && mlt_coll_in_place(send.buf);
    int code = mlt_coll_check_root(me, comm, root);
    if (code == MPI_SUCCESS && !in_place)
        code = check_send(me, comm, &send);
    if (code == MPI_SUCCESS && is_root)
        code = check_recv(me, comm, &recv);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    uint64_t bytes = in_place ? bytes_of(&recv) : bytes_of(&send);
    if (is_root && MLT_UNLIKELY(bytes_of(&recv) != bytes))
        return mlt_coll_bad_sizes(me, comm, bytes, bytes_of(&recv));
    mlt_coll_job job = {
        .comm = comm,
        .what = {.collective = MLT_COLL_GATHER, .root = (uint32_t)root},
        .reads_out = in_place,
        .writes_out = is_root,
    };
    if (!in_place)
        job.in = side_of(&send, 1);
    if (is_root)
        job.out = side_of(&recv, comm->size);
    return go(me, &job, bytes, how);
}

int mlt_mpi_Gather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount, const mlt_type *sendtype,
                   void *recvbuf, MPI_Count recvcount, const mlt_type *recvtype, int root,
                   mlt_comm *comm)
{
    return gather(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                  root, comm, MLT_BLOCKING);
}

int mlt_mpi_Igather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                    const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                    const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Request *request)
{
    return gather(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                  root, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Gather_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                        const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                        const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Info info,
                        MPI_Request *request)
{
    return gather(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                  root, comm, MLT_PERSISTENT(request));
}

// ---- scatter

static int scatter(mlt_rank *me, data send, data recv, int root, mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_coll_no_inter(me, comm);
    bool is_root = comm->rank == root, in_place = is_root && mlt_coll_in_place(recv.buf);
    int code = mlt_coll_check_root(me, comm, root);
    if (code == MPI_SUCCESS && is_root)
        code = check_send(me, comm, &send);
    if (code == MPI_SUCCESS && !in_place)
        code = check_recv(me, comm, &recv);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    uint64_t bytes = in_place ? bytes_of(&send) : bytes_of(&recv);
    if (is_root && MLT_UNLIKELY(bytes_of(&send) != bytes))
        return mlt_coll_bad_sizes(me, comm, bytes_of(&send), bytes);
    mlt_coll_job job = {
        .comm = comm,
        .what = {.collective = MLT_COLL_SCATTER, .root = (uint32_t)root},
        .writes_out = true,
    };
    if (is_root)
        job.in = side_of(&send, comm->size);
    if (!in_place)
        job.out = side_of(&recv, 1);
    return go(me, &job, bytes, how);
}

int mlt_mpi_Scatter(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                    const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                    const mlt_type *recvtype, int root, mlt_comm *comm)
{
    return scatter(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                   root, comm, MLT_BLOCKING);
}

int mlt_mpi_Iscatter(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                     const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                     const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Request *request)
{
    return scatter(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                   root, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Scatter_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                         const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                         const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Info info,
                         MPI_Request *request)
{
    return scatter(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                   root, comm, MLT_PERSISTENT(request));
}

// ---- allgather, alltoall: everybody sends and receives

static inline int check_both(mlt_rank *me, mlt_comm *comm, const data *send, const data *recv,
                             bool in_place)
{
    int code = check_recv(me, comm, recv);
    if (code == MPI_SUCCESS && !in_place)
        code = check_send(me, comm, send);
    if (code == MPI_SUCCESS && !in_place && MLT_UNLIKELY(bytes_of(send) != bytes_of(recv)))
        code = mlt_coll_bad_sizes(me, comm, bytes_of(send), bytes_of(recv));
    return code;
}

static int allgather(mlt_rank *me, data send, data recv, mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_coll_no_inter(me, comm);
    bool in_place = mlt_coll_in_place(send.buf);
    int code = check_both(me, comm, &send, &recv, in_place);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_job job = {
        .comm = comm,
        .what = {.collective = MLT_COLL_ALLGATHER, .in_place = in_place},
        .out = side_of(&recv, comm->size),
        .reads_out = in_place,
        .writes_out = true,
    };
    if (!in_place)
        job.in = side_of(&send, 1);
    return go(me, &job, bytes_of(&recv), how);
}

int mlt_mpi_Allgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                      const mlt_type *recvtype, mlt_comm *comm)
{
    return allgather(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                     comm, MLT_BLOCKING);
}

int mlt_mpi_Iallgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                       const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                       const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return allgather(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                     comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Allgather_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                           const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                           const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                           MPI_Request *request)
{
    return allgather(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                     comm, MLT_PERSISTENT(request));
}

static int alltoall(mlt_rank *me, data send, data recv, mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_coll_no_inter(me, comm);
    bool in_place = mlt_coll_in_place(send.buf);
    int code = check_both(me, comm, &send, &recv, in_place);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_job job = {
        .comm = comm,
        .what = {.collective = MLT_COLL_ALLTOALL},
        .out = side_of(&recv, comm->size),
        .reads_out = in_place,
        .writes_out = true,
        .copies_in = in_place,
    };
    if (!in_place)
        job.in = side_of(&send, comm->size);
    return go(me, &job, bytes_of(&recv), how);
}

int mlt_mpi_Alltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                     const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                     const mlt_type *recvtype, mlt_comm *comm)
{
    return alltoall(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                    comm, MLT_BLOCKING);
}

int mlt_mpi_Ialltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                      const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return alltoall(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                    comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Alltoall_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                          const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                          const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                          MPI_Request *request)
{
    return alltoall(me, (data){sendbuf, sendcount, sendtype}, (data){recvbuf, recvcount, recvtype},
                    comm, MLT_PERSISTENT(request));
}
