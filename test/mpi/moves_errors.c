// SPDX-License-Identifier: BSD-3-Clause
//
// What data-moving collectives say about wrong arguments: those that count at a rank are refused
// there, others are not looked at. At the end sizes that differ between ranks, which only the
// schedule finds.
#include "moves.h"

enum { RANKS = 4 };

struct room {
    int a[8 * RANKS], b[8 * RANKS];
    int counts[RANKS], displs[RANKS];
    MPI_Count large[RANKS];
    MPI_Aint far[RANKS];
    MPI_Datatype types[RANKS];
};

static void fill(struct room *m)
{
    for (int i = 0; i < RANKS; i++) {
        m->counts[i] = 1;
        m->displs[i] = i;
        m->large[i] = 1;
        m->far[i] = i;
        m->types[i] = MPI_INT;
    }
}

static void roots(struct room *m)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int size = world_size();
    MPI_Request q;
    CHECK_ERROR(MPI_Gather(m->a, 1, MPI_INT, m->b, 1, MPI_INT, -1, w), MPI_ERR_ROOT, "MPI_Gather",
                "-1");
    CHECK_ERROR(MPI_Igather(m->a, 1, MPI_INT, m->b, 1, MPI_INT, size, w, &q), MPI_ERR_ROOT,
                "MPI_Igather", "root");
    CHECK_ERROR(MPI_Scatter(m->a, 1, MPI_INT, m->b, 1, MPI_INT, -1, w), MPI_ERR_ROOT, "MPI_Scatter",
                "root");
    CHECK_ERROR(MPI_Gatherv(m->a, 1, MPI_INT, m->b, m->counts, m->displs, MPI_INT, 99, w),
                MPI_ERR_ROOT, "MPI_Gatherv", "99");
    CHECK_ERROR(MPI_Scatterv(m->a, m->counts, m->displs, MPI_INT, m->b, 1, MPI_INT, -7, w),
                MPI_ERR_ROOT, "MPI_Scatterv", "-7");
}

// Each of these is wrong at every rank.
static void scalars(struct room *m)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int me = world_rank();
    MPI_Datatype bare;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &bare)); // never committed
    CHECK_ERROR(MPI_Gather(m->a, -1, MPI_INT, m->b, 1, MPI_INT, me, w), MPI_ERR_COUNT, "MPI_Gather",
                "sendcount");
    CHECK_ERROR(MPI_Gather(m->a, 1, MPI_INT, m->b, -1, MPI_INT, me, w), MPI_ERR_COUNT, "MPI_Gather",
                "recvcount");
    CHECK_ERROR(MPI_Scatter(m->a, -1, MPI_INT, m->b, 1, MPI_INT, me, w), MPI_ERR_COUNT,
                "MPI_Scatter", "sendcount");
    CHECK_ERROR(MPI_Allgather(m->a, 1, MPI_DATATYPE_NULL, m->b, 1, MPI_INT, w), MPI_ERR_TYPE,
                "MPI_Allgather", "sendtype");
    CHECK_ERROR(MPI_Allgather(m->a, 2, MPI_INT, m->b, 1, bare, w), MPI_ERR_TYPE, "MPI_Allgather",
                "recvtype");
    CHECK_ERROR(MPI_Alltoall(NULL, 1, MPI_INT, m->b, 1, MPI_INT, w), MPI_ERR_BUFFER, "MPI_Alltoall",
                "sendbuf");
    CHECK_ERROR(MPI_Alltoall(m->a, 1, MPI_INT, NULL, 1, MPI_INT, w), MPI_ERR_BUFFER, "MPI_Alltoall",
                "recvbuf");
    CHECK_ERROR(MPI_Alltoall_c(m->a, INT64_MAX / 4, MPI_INT, m->b, INT64_MAX / 4, MPI_INT, w),
                MPI_ERR_COUNT, "MPI_Alltoall_c", "63 bits");
    CHECK_ERROR(MPI_Allgather_c(m->a, INT64_MAX, MPI_INT, m->b, INT64_MAX, MPI_INT, w),
                MPI_ERR_COUNT, "MPI_Allgather_c", "63 bits");
    CHECK_OK(MPI_Type_free(&bare));
}

static void in_place(struct room *m)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int me = world_rank(), other = (me + 1) % world_size();
    CHECK_ERROR(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, m->b, 1, MPI_INT, other, w), MPI_ERR_BUFFER,
                "MPI_Gather", "sendbuf");
    CHECK_ERROR(MPI_Gather(m->a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, me, w), MPI_ERR_BUFFER,
                "MPI_Gather", "recvbuf");
    CHECK_ERROR(MPI_Scatter(m->a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, other, w), MPI_ERR_BUFFER,
                "MPI_Scatter", "recvbuf");
    CHECK_ERROR(MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, m->b, 1, MPI_INT, me, w), MPI_ERR_BUFFER,
                "MPI_Scatter", "sendbuf");
    CHECK_ERROR(MPI_Allgather(m->a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, w), MPI_ERR_BUFFER,
                "MPI_Allgather", "recvbuf");
    CHECK_ERROR(MPI_Alltoall(m->a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, w), MPI_ERR_BUFFER,
                "MPI_Alltoall", "recvbuf");
    CHECK_ERROR(
        MPI_Gatherv(MPI_IN_PLACE, 1, MPI_INT, m->b, m->counts, m->displs, MPI_INT, other, w),
        MPI_ERR_BUFFER, "MPI_Gatherv", "sendbuf");
    CHECK_ERROR(MPI_Gatherv(m->a, 1, MPI_INT, MPI_IN_PLACE, m->counts, m->displs, MPI_INT, me, w),
                MPI_ERR_BUFFER, "MPI_Gatherv", "recvbuf");
    CHECK_ERROR(MPI_Scatterv(MPI_IN_PLACE, m->counts, m->displs, MPI_INT, m->b, 1, MPI_INT, me, w),
                MPI_ERR_BUFFER, "MPI_Scatterv", "sendbuf");
    CHECK_ERROR(
        MPI_Scatterv(m->a, m->counts, m->displs, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, other, w),
        MPI_ERR_BUFFER, "MPI_Scatterv", "recvbuf");
    CHECK_ERROR(MPI_Allgatherv(m->a, 1, MPI_INT, MPI_IN_PLACE, m->counts, m->displs, MPI_INT, w),
                MPI_ERR_BUFFER, "MPI_Allgatherv", "recvbuf");
    CHECK_ERROR(MPI_Alltoallv(m->a, m->counts, m->displs, MPI_INT, MPI_IN_PLACE, m->counts,
                              m->displs, MPI_INT, w),
                MPI_ERR_BUFFER, "MPI_Alltoallv", "recvbuf");
}

static void arrays(struct room *m)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int me = world_rank(), last = world_size() - 1;
    struct room bad = *m;
    bad.counts[last] = -3;
    bad.large[last] = INT64_MAX;
    bad.far[last] = INT64_MAX;
    bad.types[last] = MPI_DATATYPE_NULL;
    char counts[32], types[32];
    snprintf(counts, sizeof counts, "recvcounts[%d] is -3", last);
    snprintf(types, sizeof types, "sendtypes[%d]", last);
    CHECK_ERROR(MPI_Gatherv(m->a, 1, MPI_INT, m->b, bad.counts, m->displs, MPI_INT, me, w),
                MPI_ERR_COUNT, "MPI_Gatherv", counts);
    CHECK_ERROR(MPI_Gatherv(m->a, 1, MPI_INT, m->b, NULL, m->displs, MPI_INT, me, w), MPI_ERR_ARG,
                "MPI_Gatherv", "recvcounts");
    CHECK_ERROR(MPI_Gatherv(m->a, 1, MPI_INT, m->b, m->counts, NULL, MPI_INT, me, w), MPI_ERR_ARG,
                "MPI_Gatherv", "displs");
    CHECK_ERROR(MPI_Gatherv(m->a, 1, MPI_INT, NULL, m->counts, m->displs, MPI_INT, me, w),
                MPI_ERR_BUFFER, "MPI_Gatherv", "recvbuf");
    CHECK_ERROR(MPI_Scatterv(m->a, m->counts, m->displs, MPI_INT, NULL, 1, MPI_INT, me, w),
                MPI_ERR_BUFFER, "MPI_Scatterv", "recvbuf");
    CHECK_ERROR(
        MPI_Scatterv(m->a, m->counts, m->displs, MPI_DATATYPE_NULL, m->b, 1, MPI_INT, me, w),
        MPI_ERR_TYPE, "MPI_Scatterv", "sendtype");
    CHECK_ERROR(MPI_Allgatherv(m->a, 1, MPI_INT, m->b, bad.counts, m->displs, MPI_INT, w),
                MPI_ERR_COUNT, "MPI_Allgatherv", counts);
    CHECK_ERROR(MPI_Allgatherv(m->a, 1, MPI_INT, m->b, NULL, m->displs, MPI_INT, w), MPI_ERR_ARG,
                "MPI_Allgatherv", "recvcounts");
    CHECK_ERROR(MPI_Allgatherv(m->a, 1, MPI_INT, m->b, m->counts, NULL, MPI_INT, w), MPI_ERR_ARG,
                "MPI_Allgatherv", "displs");
    CHECK_ERROR(MPI_Allgatherv(m->a, 1, MPI_INT, NULL, m->counts, m->displs, MPI_INT, w),
                MPI_ERR_BUFFER, "MPI_Allgatherv", "recvbuf");
    CHECK_ERROR(MPI_Allgatherv_c(m->a, 1, MPI_INT, m->b, bad.large, m->far, MPI_INT, w),
                MPI_ERR_COUNT, "MPI_Allgatherv_c", "63 bits");
    CHECK_ERROR(
        MPI_Alltoallv(m->a, m->counts, NULL, MPI_INT, m->b, m->counts, m->displs, MPI_INT, w),
        MPI_ERR_ARG, "MPI_Alltoallv", "sdispls");
    CHECK_ERROR(
        MPI_Alltoallv_c(m->a, m->large, m->far, MPI_INT, m->b, bad.large, m->far, MPI_INT, w),
        MPI_ERR_COUNT, "MPI_Alltoallv_c", "63 bits");
    CHECK_ERROR(
        MPI_Alltoallv_c(m->a, m->large, bad.far, MPI_INT, m->b, m->large, m->far, MPI_INT, w),
        MPI_ERR_ARG, "MPI_Alltoallv_c", "displs");
    CHECK_ERROR(MPI_Alltoallw(m->a, m->counts, m->displs, bad.types, m->b, m->counts, m->displs,
                              m->types, w),
                MPI_ERR_TYPE, "MPI_Alltoallw", types);
    CHECK_ERROR(
        MPI_Alltoallw(m->a, m->counts, m->displs, m->types, m->b, m->counts, m->displs, NULL, w),
        MPI_ERR_ARG, "MPI_Alltoallw", "recvtypes");
}

// A rank's own block has two sizes.
static void own_sizes(struct room *m)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int me = world_rank();
    CHECK_ERROR(MPI_Gather(m->a, 2, MPI_INT, m->b, 1, MPI_INT, me, w), MPI_ERR_TRUNCATE,
                "MPI_Gather", "sends 8 bytes to itself, but receives 4");
    CHECK_ERROR(MPI_Scatter(m->a, 1, MPI_INT, m->b, 2, MPI_INT, me, w), MPI_ERR_TRUNCATE,
                "MPI_Scatter", "sends 4 bytes to itself, but receives 8");
    CHECK_ERROR(MPI_Allgather(m->a, 1, MPI_INT, m->b, 1, MPI_SHORT, w), MPI_ERR_TRUNCATE,
                "MPI_Allgather", "receives 2");
    CHECK_ERROR(MPI_Alltoall(m->a, 0, MPI_INT, m->b, 1, MPI_INT, w), MPI_ERR_TRUNCATE,
                "MPI_Alltoall", "sends 0");
    CHECK_ERROR(MPI_Gatherv(m->a, 3, MPI_INT, m->b, m->counts, m->displs, MPI_INT, me, w),
                MPI_ERR_TRUNCATE, "MPI_Gatherv", "sends 12");
    CHECK_ERROR(MPI_Allgatherv(m->a, 3, MPI_INT, m->b, m->counts, m->displs, MPI_INT, w),
                MPI_ERR_TRUNCATE, "MPI_Allgatherv", "sends 12");
}

static void requests(struct room *m)
{
    MPI_Comm w = MPI_COMM_WORLD;
    CHECK_ERROR(MPI_Iallgather(m->a, 1, MPI_INT, m->b, 1, MPI_INT, w, NULL), MPI_ERR_ARG,
                "MPI_Iallgather", "request");
    CHECK_ERROR(MPI_Alltoallv_init(m->a, m->counts, m->displs, MPI_INT, m->b, m->counts, m->displs,
                                   MPI_INT, w, MPI_INFO_NULL, NULL),
                MPI_ERR_ARG, "MPI_Alltoallv_init", "request");
}

// After all that the communicator still works.
static void works(struct room *m)
{
    m->a[0] = world_rank();
    CHECK_OK(MPI_Allgather(m->a, 1, MPI_INT, m->b, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < world_size(); i++)
        CHECK_INT(m->b[i], i);
}

// Rank 1 sends more than the root expects, or less.
static void lists_differ(struct room *m, int ints, int waits)
{
    int me = world_rank(), n = me == 1 ? ints : 2, code;
    MPI_Request q = MPI_REQUEST_NULL;
    for (int i = 0; i < RANKS; i++)
        m->counts[i] = 2;
    if (waits) {
        CHECK_OK(MPI_Igatherv(m->a, n, MPI_INT, m->b, m->counts, m->displs, MPI_INT, 0,
                              MPI_COMM_WORLD, &q));
        code = MPI_Wait(&q, MPI_STATUS_IGNORE);
    } else {
        code =
            MPI_Gatherv(m->a, n, MPI_INT, m->b, m->counts, m->displs, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (me == 0)
        CHECK_ERROR(code, MPI_ERR_TRUNCATE, waits ? "MPI_Wait" : "MPI_Gatherv",
                    ints > 2 ? "rank 1 has 12 bytes, but 8 were" : "rank 1 has 4 bytes, but 8");
    else
        CHECK_OK(code);
}

// All ranks but the first have blocks of two. The others may find no difference: what comes by way
// of another rank has the right size.
static void blocks_differ(struct room *m)
{
    int n = world_rank() ? 2 : 1;
    int code = MPI_Allgather(m->a, n, MPI_INT, m->b, n, MPI_INT, MPI_COMM_WORLD);
    if (world_rank() == 0)
        CHECK_ERROR(code, MPI_ERR_TRUNCATE, "MPI_Allgather",
                    "ranks of MPI_COMM_WORLD do not agree");
}

// In one worker: the same number of bytes in all, cut otherwise.
static void starts_differ(struct room *m)
{
    int me = world_rank();
    m->counts[0] = me ? 1 : 3;
    m->counts[1] = me ? 3 : 1;
    m->counts[2] = 4;
    CHECK_ERROR(MPI_Allgatherv(m->a, m->counts[me], MPI_INT, m->b, m->counts, m->displs, MPI_INT,
                               MPI_COMM_WORLD),
                MPI_ERR_TRUNCATE, "MPI_Allgatherv", "other blocks");
}

int main(int argc, char **argv)
{
    struct room m = {0};
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    fill(&m);
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "lists")) {
        lists_differ(&m, 3, 0);
        lists_differ(&m, 1, 0);
        lists_differ(&m, 3, 1);
    } else if (!strcmp(what, "blocks")) {
        blocks_differ(&m);
    } else if (!strcmp(what, "starts")) {
        starts_differ(&m);
    } else {
        roots(&m);
        scalars(&m);
        in_place(&m);
        arrays(&m);
        own_sizes(&m);
        requests(&m);
        works(&m);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
