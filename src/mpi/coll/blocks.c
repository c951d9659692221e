// SPDX-License-Identifier: BSD-3-Clause
// MPI_Gather, MPI_Scatter, MPI_Allgather and MPI_Alltoall: blocks of one size.
#include "mpi/coll/coll.h"
#include "mpi/coll/inter.h"
#include "mpi_bodies.h"

// Bytes of a block for each rank can be counted, those of each for each in a worker too.
static inline int check_total(mlt_rank *me, mlt_comm *comm, uint64_t bytes)
{
    uint64_t most = INT64_MAX / 4 / (uint64_t)comm->size;
    if (MLT_UNLIKELY(bytes > UINT32_MAX) && bytes > most)
        return mlt_coll_bad_total(me, comm);
    return MPI_SUCCESS;
}

// `here` and all blocks there. In MPI_Allgather it may be one of them itself, and stays where it is;
// that is for MPI_IN_PLACE to say, but programs from before MPI 2 do it.
static inline int check_apart(mlt_rank *me, mlt_comm *comm, mlt_collective collective,
                              const mlt_coll_data *here, const mlt_coll_data *all)
{
    uint64_t bytes = mlt_coll_data_bytes(all), area = bytes * (uint64_t)comm->size;
    uint64_t own = collective == MLT_COLL_ALLTOALL ? area : bytes;
    if (MLT_LIKELY(!mlt_coll_overlap(here->buf, own, all->buf, area)) ||
        !mlt_type_is_dense(here->type) || !mlt_type_is_dense(all->type) ||
        (collective == MLT_COLL_ALLGATHER &&
         (uintptr_t)here->buf == (uintptr_t)all->buf + bytes * (uint64_t)comm->rank))
        return MPI_SUCCESS;
    return mlt_coll_bad_overlap(me, comm);
}

// True if the team can work on what a rank has; NULL: it has nothing there.
static inline bool blocks_is_plain(const mlt_coll_data *d)
{
    return !d || MLT_LIKELY(d->type->contiguous);
}

static inline void *buf_of(const mlt_coll_data *d)
{
    return d ? (void *)(uintptr_t)d->buf : NULL;
}

// The root, or everybody if there is none, has `all`; what it has itself, `here`, may be in place.
static inline __attribute__((always_inline)) int
blocks_move(mlt_rank *me, mlt_collective collective, const mlt_coll_data *send,
            const mlt_coll_data *recv, int root, mlt_comm *comm, const mlt_how *how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_blocks(me, collective, send, recv, root, comm, how);
    bool scatters = collective == MLT_COLL_SCATTER, alltoall = collective == MLT_COLL_ALLTOALL;
    bool rooted = scatters || collective == MLT_COLL_GATHER;
    bool is_root = !rooted || comm->rank == root;
    const mlt_coll_data *here = scatters ? recv : send, *all = scatters ? send : recv;
    bool in_place = is_root && mlt_coll_in_place(here->buf);
    int code = rooted ? mlt_coll_check_root(me, comm, root) : MPI_SUCCESS;
    if (code == MPI_SUCCESS && is_root)
        code = mlt_coll_check_data(me, comm, all);
    if (code == MPI_SUCCESS && !in_place)
        code = mlt_coll_check_data(me, comm, here);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    uint64_t bytes = mlt_coll_data_bytes(in_place ? all : here);
    if (is_root && MLT_UNLIKELY(mlt_coll_data_bytes(all) != bytes))
        return mlt_coll_bad_sizes(me, comm, mlt_coll_data_bytes(send), mlt_coll_data_bytes(recv));
    code = check_total(me, comm, bytes);
    if (code == MPI_SUCCESS && is_root && !in_place)
        code = check_apart(me, comm, collective, here, all);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    const mlt_coll_data *own = in_place ? NULL : here, *whole = is_root ? all : NULL;
    const mlt_coll_data *in = scatters ? whole : own, *out = scatters ? own : whole;
    uint16_t kind = mlt_type_kind(is_root ? all->type : here->type);
    mlt_coll_what what = {.collective = (uint8_t)collective,
                          .in_place = in_place && collective == MLT_COLL_ALLGATHER,
                          .kind = kind,
                          .kind_sent = kind,
                          .root = (uint32_t)root,
                          .element = 1,
                          .count = bytes};
    bool copies = alltoall && in_place;
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && !copies && blocks_is_plain(in) &&
        blocks_is_plain(out))
        return mlt_coll_quick(me, comm, &what, buf_of(in), buf_of(out));
    mlt_coll_job job = {
        .comm = comm, .what = what, .reads_out = in_place, .writes_out = true, .copies_in = copies};
    if (in)
        job.in = mlt_coll_data_side(in, scatters || alltoall ? comm->size : 1);
    if (out)
        job.out = mlt_coll_data_side(out, scatters ? 1 : comm->size);
    return mlt_coll_go(me, &job, how);
}

int mlt_mpi_Gather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount, const mlt_type *sendtype,
                   void *recvbuf, MPI_Count recvcount, const mlt_type *recvtype, int root,
                   mlt_comm *comm, const mlt_how *how)
{
    return blocks_move(me, MLT_COLL_GATHER, &MLT_COLL_DATA(send), &MLT_COLL_DATA(recv), root, comm,
                       how);
}

int mlt_mpi_Scatter(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                    const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                    const mlt_type *recvtype, int root, mlt_comm *comm, const mlt_how *how)
{
    return blocks_move(me, MLT_COLL_SCATTER, &MLT_COLL_DATA(send), &MLT_COLL_DATA(recv), root, comm,
                       how);
}

int mlt_mpi_Allgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                      const mlt_type *recvtype, mlt_comm *comm, const mlt_how *how)
{
    return blocks_move(me, MLT_COLL_ALLGATHER, &MLT_COLL_DATA(send), &MLT_COLL_DATA(recv), 0, comm,
                       how);
}

int mlt_mpi_Alltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                     const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                     const mlt_type *recvtype, mlt_comm *comm, const mlt_how *how)
{
    return blocks_move(me, MLT_COLL_ALLTOALL, &MLT_COLL_DATA(send), &MLT_COLL_DATA(recv), 0, comm,
                       how);
}
