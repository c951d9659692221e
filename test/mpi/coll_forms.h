// SPDX-License-Identifier: BSD-3-Clause
//
// Every collective in each of its forms, behind one type of function: a test describes a call once,
// in a struct coll_args, and runs it blocking, nonblocking and persistent, with int counts and with
// large ones.
//
// The names are written out, so that one sees (and check.py finds) what is called. A peer without
// MPI 4 has the first two forms only.

#pragma once

#include <mpi.h>

// Open MPI 4.1 is an MPI 3.1, without the large counts that check.h uses.
#if MPI_VERSION < 4
static inline int MPI_Get_count_c(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    return MPI_Get_elements_x(status, type, count);
}
#endif

#include "check.h"

// MPICH 4.0 truncates messages above 64 KiB of a datatype with units of several sizes in
// MPI_Gather, crashes in MPI_Reduce in place at a root other than 0, and wants a receive buffer of
// the first rank of MPI_Exscan. Its persistent gather and scatter deliver stale data at a second
// start, and a test of allgathers fails in its datatype engine when persistent forms are among
// them.
#ifdef MPICH_VERSION
enum { ON_MPICH = 1 };
#else
enum { ON_MPICH = 0 };
#endif

enum coll_kind {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    COLL_KINDS
};

enum coll_form { BLOCKING, NONBLOCKING, PERSISTENT, BLOCKING_C, NONBLOCKING_C, PERSISTENT_C };

#if MPI_VERSION >= 4
enum { COLL_FORMS = 6, COLL_BASIC_FORMS = 3 };
#else
enum { COLL_FORMS = 2, COLL_BASIC_FORMS = 2 };
#endif

// The arguments of any collective; each takes those that it has. A broadcast's buffer, its count
// and its type are those that receive. The arrays live until the call has completed, or the
// persistent request is freed, as the standard wants.
struct coll_args {
    const void *sendbuf;
    void *recvbuf;
    MPI_Count sendcount, recvcount;
    MPI_Datatype sendtype, recvtype;
    MPI_Op op;
    int root;
    MPI_Comm comm;
    int slots; // entries of each array
    int *sendcounts, *sdispls, *recvcounts, *rdispls;
    MPI_Count *sendcounts_c, *recvcounts_c; // the same numbers, see coll_args_widen
    MPI_Aint *sdispls_c, *rdispls_c;
    MPI_Datatype *sendtypes, *recvtypes;
};

typedef int coll_call(const struct coll_args *a, MPI_Request *request);

// Arguments of each signature, without communicator and request; INT and BIG are the forms of
// counts.
#define ARGS_BCAST_INT a->recvbuf, (int)a->recvcount, a->recvtype, a->root
#define ARGS_BCAST_BIG a->recvbuf, a->recvcount, a->recvtype, a->root
#define ARGS_SEND_INT  a->sendbuf, (int)a->sendcount, a->sendtype
#define ARGS_SEND_BIG  a->sendbuf, a->sendcount, a->sendtype
#define ARGS_RECV_INT  a->recvbuf, (int)a->recvcount, a->recvtype
#define ARGS_RECV_BIG  a->recvbuf, a->recvcount, a->recvtype
#define ARGS_SENDV_INT a->sendbuf, a->sendcounts, a->sdispls, a->sendtype
#define ARGS_SENDV_BIG a->sendbuf, a->sendcounts_c, a->sdispls_c, a->sendtype
#define ARGS_RECVV_INT a->recvbuf, a->recvcounts, a->rdispls, a->recvtype
#define ARGS_RECVV_BIG a->recvbuf, a->recvcounts_c, a->rdispls_c, a->recvtype
#define ARGS_SENDW_INT a->sendbuf, a->sendcounts, a->sdispls, a->sendtypes
#define ARGS_SENDW_BIG a->sendbuf, a->sendcounts_c, a->sdispls_c, a->sendtypes
#define ARGS_RECVW_INT a->recvbuf, a->recvcounts, a->rdispls, a->recvtypes
#define ARGS_RECVW_BIG a->recvbuf, a->recvcounts_c, a->rdispls_c, a->recvtypes
#define ARGS_SENDX_INT a->sendbuf, a->sendcounts, a->sdispls_c, a->sendtypes
#define ARGS_RECVX_INT a->recvbuf, a->recvcounts, a->rdispls_c, a->recvtypes

#define ARGS_GATHER_INT         ARGS_SEND_INT, ARGS_RECV_INT, a->root
#define ARGS_GATHER_BIG         ARGS_SEND_BIG, ARGS_RECV_BIG, a->root
#define ARGS_GATHERV_INT        ARGS_SEND_INT, ARGS_RECVV_INT, a->root
#define ARGS_GATHERV_BIG        ARGS_SEND_BIG, ARGS_RECVV_BIG, a->root
#define ARGS_SCATTERV_INT       ARGS_SENDV_INT, ARGS_RECV_INT, a->root
#define ARGS_SCATTERV_BIG       ARGS_SENDV_BIG, ARGS_RECV_BIG, a->root
#define ARGS_ALL_INT            ARGS_SEND_INT, ARGS_RECV_INT
#define ARGS_ALL_BIG            ARGS_SEND_BIG, ARGS_RECV_BIG
#define ARGS_ALLGATHERV_INT     ARGS_SEND_INT, ARGS_RECVV_INT
#define ARGS_ALLGATHERV_BIG     ARGS_SEND_BIG, ARGS_RECVV_BIG
#define ARGS_ALLTOALLV_INT      ARGS_SENDV_INT, ARGS_RECVV_INT
#define ARGS_ALLTOALLV_BIG      ARGS_SENDV_BIG, ARGS_RECVV_BIG
#define ARGS_ALLTOALLW_INT      ARGS_SENDW_INT, ARGS_RECVW_INT
#define ARGS_ALLTOALLW_BIG      ARGS_SENDW_BIG, ARGS_RECVW_BIG
#define ARGS_NEIGHBORW_INT      ARGS_SENDX_INT, ARGS_RECVX_INT
#define ARGS_ALLREDUCE_INT      a->sendbuf, a->recvbuf, (int)a->recvcount, a->recvtype, a->op
#define ARGS_ALLREDUCE_BIG      a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op
#define ARGS_REDUCE_INT         ARGS_ALLREDUCE_INT, a->root
#define ARGS_REDUCE_BIG         ARGS_ALLREDUCE_BIG, a->root
#define ARGS_REDUCE_SCATTER_INT a->sendbuf, a->recvbuf, a->recvcounts, a->recvtype, a->op
#define ARGS_REDUCE_SCATTER_BIG a->sendbuf, a->recvbuf, a->recvcounts_c, a->recvtype, a->op

// A function NAME_FORM that makes one call. A blocking one leaves a null request, so that all are
// completed alike.
#define COLL_BLOCKING(name, call, ...)                                                             \
    static inline int name(const struct coll_args *a, MPI_Request *request)                        \
    {                                                                                              \
        *request = MPI_REQUEST_NULL;                                                               \
        return call(__VA_ARGS__, a->comm);                                                         \
    }
#define COLL_NONBLOCKING(name, call, ...)                                                          \
    static inline int name(const struct coll_args *a, MPI_Request *request)                        \
    {                                                                                              \
        return call(__VA_ARGS__, a->comm, request);                                                \
    }
#define COLL_PERSISTENT(name, call, ...)                                                           \
    static inline int name(const struct coll_args *a, MPI_Request *request)                        \
    {                                                                                              \
        return call(__VA_ARGS__, a->comm, MPI_INFO_NULL, request);                                 \
    }
#define COLL_MPI3(name, call, icall, ...)                                                          \
    COLL_BLOCKING(name##_blocking, call, __VA_ARGS__)                                              \
    COLL_NONBLOCKING(name##_nonblocking, icall, __VA_ARGS__)
#if MPI_VERSION >= 4
#define COLL_DEFINE(name, small, big, call, icall, pcall, call_c, icall_c, pcall_c)                \
    COLL_MPI3(name, call, icall, small)                                                            \
    COLL_PERSISTENT(name##_persistent, pcall, small)                                               \
    COLL_BLOCKING(name##_blocking_c, call_c, big)                                                  \
    COLL_NONBLOCKING(name##_nonblocking_c, icall_c, big)                                           \
    COLL_PERSISTENT(name##_persistent_c, pcall_c, big)
#else
#define COLL_DEFINE(name, small, big, call, icall, pcall, call_c, icall_c, pcall_c)                \
    COLL_MPI3(name, call, icall, small)
#endif

COLL_DEFINE(coll_bcast, ARGS_BCAST_INT, ARGS_BCAST_BIG, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init,
            MPI_Bcast_c, MPI_Ibcast_c, MPI_Bcast_init_c)
COLL_DEFINE(coll_gather, ARGS_GATHER_INT, ARGS_GATHER_BIG, MPI_Gather, MPI_Igather, MPI_Gather_init,
            MPI_Gather_c, MPI_Igather_c, MPI_Gather_init_c)
COLL_DEFINE(coll_gatherv, ARGS_GATHERV_INT, ARGS_GATHERV_BIG, MPI_Gatherv, MPI_Igatherv,
            MPI_Gatherv_init, MPI_Gatherv_c, MPI_Igatherv_c, MPI_Gatherv_init_c)
COLL_DEFINE(coll_scatter, ARGS_GATHER_INT, ARGS_GATHER_BIG, MPI_Scatter, MPI_Iscatter,
            MPI_Scatter_init, MPI_Scatter_c, MPI_Iscatter_c, MPI_Scatter_init_c)
COLL_DEFINE(coll_scatterv, ARGS_SCATTERV_INT, ARGS_SCATTERV_BIG, MPI_Scatterv, MPI_Iscatterv,
            MPI_Scatterv_init, MPI_Scatterv_c, MPI_Iscatterv_c, MPI_Scatterv_init_c)
COLL_DEFINE(coll_allgather, ARGS_ALL_INT, ARGS_ALL_BIG, MPI_Allgather, MPI_Iallgather,
            MPI_Allgather_init, MPI_Allgather_c, MPI_Iallgather_c, MPI_Allgather_init_c)
COLL_DEFINE(coll_allgatherv, ARGS_ALLGATHERV_INT, ARGS_ALLGATHERV_BIG, MPI_Allgatherv,
            MPI_Iallgatherv, MPI_Allgatherv_init, MPI_Allgatherv_c, MPI_Iallgatherv_c,
            MPI_Allgatherv_init_c)
COLL_DEFINE(coll_alltoall, ARGS_ALL_INT, ARGS_ALL_BIG, MPI_Alltoall, MPI_Ialltoall,
            MPI_Alltoall_init, MPI_Alltoall_c, MPI_Ialltoall_c, MPI_Alltoall_init_c)
COLL_DEFINE(coll_alltoallv, ARGS_ALLTOALLV_INT, ARGS_ALLTOALLV_BIG, MPI_Alltoallv, MPI_Ialltoallv,
            MPI_Alltoallv_init, MPI_Alltoallv_c, MPI_Ialltoallv_c, MPI_Alltoallv_init_c)
COLL_DEFINE(coll_alltoallw, ARGS_ALLTOALLW_INT, ARGS_ALLTOALLW_BIG, MPI_Alltoallw, MPI_Ialltoallw,
            MPI_Alltoallw_init, MPI_Alltoallw_c, MPI_Ialltoallw_c, MPI_Alltoallw_init_c)
COLL_DEFINE(coll_reduce, ARGS_REDUCE_INT, ARGS_REDUCE_BIG, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init,
            MPI_Reduce_c, MPI_Ireduce_c, MPI_Reduce_init_c)
COLL_DEFINE(coll_allreduce, ARGS_ALLREDUCE_INT, ARGS_ALLREDUCE_BIG, MPI_Allreduce, MPI_Iallreduce,
            MPI_Allreduce_init, MPI_Allreduce_c, MPI_Iallreduce_c, MPI_Allreduce_init_c)
COLL_DEFINE(coll_reduce_scatter, ARGS_REDUCE_SCATTER_INT, ARGS_REDUCE_SCATTER_BIG,
            MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, MPI_Reduce_scatter_c,
            MPI_Ireduce_scatter_c, MPI_Reduce_scatter_init_c)
COLL_DEFINE(coll_reduce_scatter_block, ARGS_ALLREDUCE_INT, ARGS_ALLREDUCE_BIG,
            MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init,
            MPI_Reduce_scatter_block_c, MPI_Ireduce_scatter_block_c,
            MPI_Reduce_scatter_block_init_c)
COLL_DEFINE(coll_scan, ARGS_ALLREDUCE_INT, ARGS_ALLREDUCE_BIG, MPI_Scan, MPI_Iscan, MPI_Scan_init,
            MPI_Scan_c, MPI_Iscan_c, MPI_Scan_init_c)
COLL_DEFINE(coll_exscan, ARGS_ALLREDUCE_INT, ARGS_ALLREDUCE_BIG, MPI_Exscan, MPI_Iexscan,
            MPI_Exscan_init, MPI_Exscan_c, MPI_Iexscan_c, MPI_Exscan_init_c)
COLL_DEFINE(coll_neighbor_allgather, ARGS_ALL_INT, ARGS_ALL_BIG, MPI_Neighbor_allgather,
            MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init, MPI_Neighbor_allgather_c,
            MPI_Ineighbor_allgather_c, MPI_Neighbor_allgather_init_c)
COLL_DEFINE(coll_neighbor_allgatherv, ARGS_ALLGATHERV_INT, ARGS_ALLGATHERV_BIG,
            MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init,
            MPI_Neighbor_allgatherv_c, MPI_Ineighbor_allgatherv_c, MPI_Neighbor_allgatherv_init_c)
COLL_DEFINE(coll_neighbor_alltoall, ARGS_ALL_INT, ARGS_ALL_BIG, MPI_Neighbor_alltoall,
            MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init, MPI_Neighbor_alltoall_c,
            MPI_Ineighbor_alltoall_c, MPI_Neighbor_alltoall_init_c)
COLL_DEFINE(coll_neighbor_alltoallv, ARGS_ALLTOALLV_INT, ARGS_ALLTOALLV_BIG, MPI_Neighbor_alltoallv,
            MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init, MPI_Neighbor_alltoallv_c,
            MPI_Ineighbor_alltoallv_c, MPI_Neighbor_alltoallv_init_c)
COLL_DEFINE(coll_neighbor_alltoallw, ARGS_NEIGHBORW_INT, ARGS_ALLTOALLW_BIG, MPI_Neighbor_alltoallw,
            MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init, MPI_Neighbor_alltoallw_c,
            MPI_Ineighbor_alltoallw_c, MPI_Neighbor_alltoallw_init_c)

// A barrier has no count, so its large forms are the small ones.
static inline int coll_barrier_blocking(const struct coll_args *a, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return MPI_Barrier(a->comm);
}

static inline int coll_barrier_nonblocking(const struct coll_args *a, MPI_Request *request)
{
    return MPI_Ibarrier(a->comm, request);
}

#if MPI_VERSION >= 4
static inline int coll_barrier_persistent(const struct coll_args *a, MPI_Request *request)
{
    return MPI_Barrier_init(a->comm, MPI_INFO_NULL, request);
}

#define coll_barrier_blocking_c    coll_barrier_blocking
#define coll_barrier_nonblocking_c coll_barrier_nonblocking
#define coll_barrier_persistent_c  coll_barrier_persistent
#define COLL_ROW(name)                                                                             \
    {                                                                                              \
        &#name[5],                                                                                 \
        {                                                                                          \
            name##_blocking, name##_nonblocking, name##_persistent, name##_blocking_c,             \
                name##_nonblocking_c, name##_persistent_c                                          \
        }                                                                                          \
    }
#else
#define COLL_ROW(name)                                                                             \
    {                                                                                              \
        &#name[5],                                                                                 \
        {                                                                                          \
            name##_blocking, name##_nonblocking                                                    \
        }                                                                                          \
    }
#endif

struct coll_row {
    const char *name;
    coll_call *call[COLL_FORMS];
};

static inline const struct coll_row *coll_row_of(enum coll_kind kind)
{
    static const struct coll_row rows[COLL_KINDS] = {
        [BARRIER] = COLL_ROW(coll_barrier),
        [BCAST] = COLL_ROW(coll_bcast),
        [GATHER] = COLL_ROW(coll_gather),
        [GATHERV] = COLL_ROW(coll_gatherv),
        [SCATTER] = COLL_ROW(coll_scatter),
        [SCATTERV] = COLL_ROW(coll_scatterv),
        [ALLGATHER] = COLL_ROW(coll_allgather),
        [ALLGATHERV] = COLL_ROW(coll_allgatherv),
        [ALLTOALL] = COLL_ROW(coll_alltoall),
        [ALLTOALLV] = COLL_ROW(coll_alltoallv),
        [ALLTOALLW] = COLL_ROW(coll_alltoallw),
        [REDUCE] = COLL_ROW(coll_reduce),
        [ALLREDUCE] = COLL_ROW(coll_allreduce),
        [REDUCE_SCATTER] = COLL_ROW(coll_reduce_scatter),
        [REDUCE_SCATTER_BLOCK] = COLL_ROW(coll_reduce_scatter_block),
        [SCAN] = COLL_ROW(coll_scan),
        [EXSCAN] = COLL_ROW(coll_exscan),
        [NEIGHBOR_ALLGATHER] = COLL_ROW(coll_neighbor_allgather),
        [NEIGHBOR_ALLGATHERV] = COLL_ROW(coll_neighbor_allgatherv),
        [NEIGHBOR_ALLTOALL] = COLL_ROW(coll_neighbor_alltoall),
        [NEIGHBOR_ALLTOALLV] = COLL_ROW(coll_neighbor_alltoallv),
        [NEIGHBOR_ALLTOALLW] = COLL_ROW(coll_neighbor_alltoallw),
    };
    return &rows[kind];
}

static inline const char *coll_form_name(enum coll_form form)
{
    static const char *const names[] = {"blocking",   "nonblocking",   "persistent",
                                        "blocking_c", "nonblocking_c", "persistent_c"};
    return names[form];
}

static inline int coll_is_persistent(enum coll_form form)
{
    return form == PERSISTENT || form == PERSISTENT_C;
}

// Arrays of so many slots, all 0 (types: null).
static inline void coll_args_init(struct coll_args *a, int slots)
{
    size_t n = slots > 0 ? (size_t)slots : 1;
    *a = (struct coll_args){.slots = slots,
                            .sendtype = MPI_DATATYPE_NULL,
                            .recvtype = MPI_DATATYPE_NULL,
                            .op = MPI_OP_NULL,
                            .comm = MPI_COMM_NULL};
    a->sendcounts = calloc(n, sizeof(int));
    a->sdispls = calloc(n, sizeof(int));
    a->recvcounts = calloc(n, sizeof(int));
    a->rdispls = calloc(n, sizeof(int));
    a->sendcounts_c = calloc(n, sizeof(MPI_Count));
    a->recvcounts_c = calloc(n, sizeof(MPI_Count));
    a->sdispls_c = calloc(n, sizeof(MPI_Aint));
    a->rdispls_c = calloc(n, sizeof(MPI_Aint));
    a->sendtypes = must_alloc(n * sizeof(MPI_Datatype));
    a->recvtypes = must_alloc(n * sizeof(MPI_Datatype));
    CHECK(a->sendcounts && a->sdispls && a->recvcounts && a->rdispls && a->sendcounts_c &&
          a->recvcounts_c && a->sdispls_c && a->rdispls_c);
    for (size_t i = 0; i < n; i++)
        a->sendtypes[i] = a->recvtypes[i] = MPI_DATATYPE_NULL;
}

// Copies the int arrays to those of large counts.
static inline void coll_args_widen(struct coll_args *a)
{
    for (int i = 0; i < a->slots; i++) {
        a->sendcounts_c[i] = a->sendcounts[i];
        a->recvcounts_c[i] = a->recvcounts[i];
        a->sdispls_c[i] = a->sdispls[i];
        a->rdispls_c[i] = a->rdispls[i];
    }
}

static inline void coll_args_free(struct coll_args *a)
{
    free(a->sendcounts);
    free(a->sdispls);
    free(a->recvcounts);
    free(a->rdispls);
    free(a->sendcounts_c);
    free(a->recvcounts_c);
    free(a->sdispls_c);
    free(a->rdispls_c);
    free(a->sendtypes);
    free(a->recvtypes);
}
