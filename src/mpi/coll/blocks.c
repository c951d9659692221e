// SPDX-License-Identifier: BSD-3-Clause
// MPI_Gather, MPI_Scatter, MPI_Allgather and MPI_Alltoall: blocks of one size.
#include "mpi/coll/coll.h"
#include "mpi/coll/inter.h"
#include "mpi/error/error.h"
#include "mpi_bodies.h"

// What the user says of one buffer.
typedef struct blocks_data {
    const void *buf;
    MPI_Count count;
    const mlt_type *type;
} blocks_data;

static inline uint64_t bytes_of(const blocks_data *d)
{
    return (uint64_t)d->count * d->type->size;
}

// `blocks` of them lie one after the other.
static inline mlt_coll_side blocks_side_of(const blocks_data *d, int32_t blocks)
{
    return (mlt_coll_side){
        .buf = (void *)(uintptr_t)d->buf,
        .type = d->type,
        .blocks = (uint64_t)blocks,
        .count = (uint64_t)d->count,
    };
}

static inline int check_send(mlt_rank *me, mlt_comm *comm, const blocks_data *send)
{
    if (MLT_UNLIKELY(mlt_coll_in_place(send->buf)))
        return mlt_coll_bad_in_place(me, comm, "sendbuf");
    return mlt_coll_check_data(me, comm, "send", send->buf, send->count, send->type);
}

static inline int check_recv(mlt_rank *me, mlt_comm *comm, const blocks_data *recv)
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

// One block here and all of them there. stays: it may be one of them itself, and stays where it is;
// that is for MPI_IN_PLACE to say, but programs from before MPI 2 do it in MPI_Allgather.
static inline int blocks_check_apart(mlt_rank *me, mlt_comm *comm, const blocks_data *one,
                                     const blocks_data *all, bool stays)
{
    uint64_t bytes = bytes_of(one), area = bytes * (uint64_t)comm->size;
    if (MLT_LIKELY(!mlt_coll_overlap(one->buf, bytes, all->buf, area)) || !one->type->contiguous ||
        !all->type->contiguous ||
        (stays && (uintptr_t)one->buf == (uintptr_t)all->buf + bytes * (uint64_t)comm->rank))
        return MPI_SUCCESS;
    return mlt_coll_bad_overlap(me, comm);
}

// True if the team can work on what a rank has; NULL: it has nothing there.
static inline bool blocks_is_plain(const blocks_data *d)
{
    return !d || MLT_LIKELY(d->type->contiguous);
}

static inline void *buf_of(const blocks_data *d)
{
    return d ? (void *)(uintptr_t)d->buf : NULL;
}

// ---- gather

static int blocks_gather(mlt_rank *me, blocks_data send, blocks_data recv, int root, mlt_comm *comm,
                         mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_gather(me, send.buf, send.count, send.type, (void *)(uintptr_t)recv.buf,
                                recv.count, recv.type, root, comm, how);
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
    code = check_total(me, comm, bytes);
    if (code == MPI_SUCCESS && is_root && !in_place)
        code = blocks_check_apart(me, comm, &send, &recv, false);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    const blocks_data *in = in_place ? NULL : &send, *out = is_root ? &recv : NULL;
    uint16_t kind = mlt_type_kind(is_root ? recv.type : send.type);
    mlt_coll_what what = {.collective = MLT_COLL_GATHER,
                          .kind = kind,
                          .kind_sent = kind,
                          .root = (uint32_t)root,
                          .element = 1,
                          .count = bytes};
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && blocks_is_plain(in) && blocks_is_plain(out))
        return mlt_coll_quick(me, comm, &what, buf_of(in), buf_of(out));
    mlt_coll_job job = {.comm = comm, .what = what, .reads_out = in_place, .writes_out = is_root};
    if (in)
        job.in = blocks_side_of(in, 1);
    if (out)
        job.out = blocks_side_of(out, comm->size);
    return mlt_coll_go(me, &job, how);
}

int mlt_mpi_Gather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount, const mlt_type *sendtype,
                   void *recvbuf, MPI_Count recvcount, const mlt_type *recvtype, int root,
                   mlt_comm *comm)
{
    return blocks_gather(me, (blocks_data){sendbuf, sendcount, sendtype},
                         (blocks_data){recvbuf, recvcount, recvtype}, root, comm, MLT_BLOCKING);
}

int mlt_mpi_Igather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                    const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                    const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Request *request)
{
    return blocks_gather(me, (blocks_data){sendbuf, sendcount, sendtype},
                         (blocks_data){recvbuf, recvcount, recvtype}, root, comm,
                         MLT_NONBLOCKING(request));
}

int mlt_mpi_Gather_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                        const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                        const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Info info,
                        MPI_Request *request)
{
    return blocks_gather(me, (blocks_data){sendbuf, sendcount, sendtype},
                         (blocks_data){recvbuf, recvcount, recvtype}, root, comm,
                         MLT_PERSISTENT(request, info));
}

// ---- scatter

static int blocks_scatter(mlt_rank *me, blocks_data send, blocks_data recv, int root,
                          mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_scatter(me, send.buf, send.count, send.type, (void *)(uintptr_t)recv.buf,
                                 recv.count, recv.type, root, comm, how);
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
    code = check_total(me, comm, bytes);
    if (code == MPI_SUCCESS && is_root && !in_place)
        code = blocks_check_apart(me, comm, &recv, &send, false);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    const blocks_data *in = is_root ? &send : NULL, *out = in_place ? NULL : &recv;
    uint16_t kind = mlt_type_kind(is_root ? send.type : recv.type);
    mlt_coll_what what = {.collective = MLT_COLL_SCATTER,
                          .kind = kind,
                          .kind_sent = kind,
                          .root = (uint32_t)root,
                          .element = 1,
                          .count = bytes};
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && blocks_is_plain(in) && blocks_is_plain(out))
        return mlt_coll_quick(me, comm, &what, buf_of(in), buf_of(out));
    mlt_coll_job job = {.comm = comm, .what = what, .writes_out = true};
    if (in)
        job.in = blocks_side_of(in, comm->size);
    if (out)
        job.out = blocks_side_of(out, 1);
    return mlt_coll_go(me, &job, how);
}

int mlt_mpi_Scatter(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                    const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                    const mlt_type *recvtype, int root, mlt_comm *comm)
{
    return blocks_scatter(me, (blocks_data){sendbuf, sendcount, sendtype},
                          (blocks_data){recvbuf, recvcount, recvtype}, root, comm, MLT_BLOCKING);
}

int mlt_mpi_Iscatter(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                     const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                     const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Request *request)
{
    return blocks_scatter(me, (blocks_data){sendbuf, sendcount, sendtype},
                          (blocks_data){recvbuf, recvcount, recvtype}, root, comm,
                          MLT_NONBLOCKING(request));
}

int mlt_mpi_Scatter_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                         const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                         const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Info info,
                         MPI_Request *request)
{
    return blocks_scatter(me, (blocks_data){sendbuf, sendcount, sendtype},
                          (blocks_data){recvbuf, recvcount, recvtype}, root, comm,
                          MLT_PERSISTENT(request, info));
}

// ---- allgather, alltoall: everybody sends and receives

static inline int check_both(mlt_rank *me, mlt_comm *comm, const blocks_data *send,
                             const blocks_data *recv, bool in_place)
{
    int code = check_recv(me, comm, recv);
    if (code == MPI_SUCCESS && !in_place)
        code = check_send(me, comm, send);
    if (code == MPI_SUCCESS && !in_place && MLT_UNLIKELY(bytes_of(send) != bytes_of(recv)))
        code = mlt_coll_bad_sizes(me, comm, bytes_of(send), bytes_of(recv));
    if (code == MPI_SUCCESS)
        code = check_total(me, comm, bytes_of(recv));
    return code;
}

static int blocks_allgather(mlt_rank *me, blocks_data send, blocks_data recv, mlt_comm *comm,
                            mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_allgather(me, send.buf, send.count, send.type, (void *)(uintptr_t)recv.buf,
                                   recv.count, recv.type, comm, how);
    bool in_place = mlt_coll_in_place(send.buf);
    int code = check_both(me, comm, &send, &recv, in_place);
    if (code == MPI_SUCCESS && !in_place)
        code = blocks_check_apart(me, comm, &send, &recv, true);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    const blocks_data *in = in_place ? NULL : &send;
    mlt_coll_what what = {.collective = MLT_COLL_ALLGATHER,
                          .in_place = in_place,
                          .kind = mlt_type_kind(recv.type),
                          .kind_sent = mlt_type_kind(recv.type),
                          .element = 1,
                          .count = bytes_of(&recv)};
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && blocks_is_plain(in) &&
        blocks_is_plain(&recv))
        return mlt_coll_quick(me, comm, &what, buf_of(in), buf_of(&recv));
    mlt_coll_job job = {
        .comm = comm,
        .what = what,
        .out = blocks_side_of(&recv, comm->size),
        .reads_out = in_place,
        .writes_out = true,
    };
    if (in)
        job.in = blocks_side_of(in, 1);
    return mlt_coll_go(me, &job, how);
}

int mlt_mpi_Allgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                      const mlt_type *recvtype, mlt_comm *comm)
{
    return blocks_allgather(me, (blocks_data){sendbuf, sendcount, sendtype},
                            (blocks_data){recvbuf, recvcount, recvtype}, comm, MLT_BLOCKING);
}

int mlt_mpi_Iallgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                       const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                       const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return blocks_allgather(me, (blocks_data){sendbuf, sendcount, sendtype},
                            (blocks_data){recvbuf, recvcount, recvtype}, comm,
                            MLT_NONBLOCKING(request));
}

int mlt_mpi_Allgather_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                           const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                           const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                           MPI_Request *request)
{
    return blocks_allgather(me, (blocks_data){sendbuf, sendcount, sendtype},
                            (blocks_data){recvbuf, recvcount, recvtype}, comm,
                            MLT_PERSISTENT(request, info));
}

static int blocks_alltoall(mlt_rank *me, blocks_data send, blocks_data recv, mlt_comm *comm,
                           mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_alltoall(me, send.buf, send.count, send.type, (void *)(uintptr_t)recv.buf,
                                  recv.count, recv.type, comm, how);
    bool in_place = mlt_coll_in_place(send.buf);
    int code = check_both(me, comm, &send, &recv, in_place);
    if (code == MPI_SUCCESS && !in_place && blocks_is_plain(&send) && blocks_is_plain(&recv)) {
        uint64_t area = bytes_of(&recv) * (uint64_t)comm->size;
        if (MLT_UNLIKELY(mlt_coll_overlap(send.buf, area, recv.buf, area)))
            code = mlt_coll_bad_overlap(me, comm);
    }
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_what what = {.collective = MLT_COLL_ALLTOALL,
                          .kind = mlt_type_kind(recv.type),
                          .kind_sent = mlt_type_kind(recv.type),
                          .element = 1,
                          .count = bytes_of(&recv)};
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && MLT_LIKELY(!in_place) &&
        blocks_is_plain(&send) && blocks_is_plain(&recv))
        return mlt_coll_quick(me, comm, &what, buf_of(&send), buf_of(&recv));
    mlt_coll_job job = {
        .comm = comm,
        .what = what,
        .out = blocks_side_of(&recv, comm->size),
        .reads_out = in_place,
        .writes_out = true,
        .copies_in = in_place,
    };
    if (!in_place)
        job.in = blocks_side_of(&send, comm->size);
    return mlt_coll_go(me, &job, how);
}

int mlt_mpi_Alltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                     const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                     const mlt_type *recvtype, mlt_comm *comm)
{
    return blocks_alltoall(me, (blocks_data){sendbuf, sendcount, sendtype},
                           (blocks_data){recvbuf, recvcount, recvtype}, comm, MLT_BLOCKING);
}

int mlt_mpi_Ialltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                      const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return blocks_alltoall(me, (blocks_data){sendbuf, sendcount, sendtype},
                           (blocks_data){recvbuf, recvcount, recvtype}, comm,
                           MLT_NONBLOCKING(request));
}

int mlt_mpi_Alltoall_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                          const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                          const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                          MPI_Request *request)
{
    return blocks_alltoall(me, (blocks_data){sendbuf, sendcount, sendtype},
                           (blocks_data){recvbuf, recvcount, recvtype}, comm,
                           MLT_PERSISTENT(request, info));
}
