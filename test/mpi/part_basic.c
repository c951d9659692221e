// SPDX-License-Identifier: BSD-3-Clause
//
// Partitioned messages between neighbours of a ring: all pairs of partitionings, sizes from nothing
// to several messages, orders of starting and of becoming ready, types with gaps, many rounds.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { TAG = 5 };

typedef struct shape {
    int out_parts, out_count, in_parts, in_count; // counts are of bytes
} shape;

static const shape shapes[] = {
    {1, 1, 1, 1},         {4, 8, 4, 8},           {16, 4, 4, 16},         {3, 40, 5, 24},
    {100, 1, 1, 100},     {1, 300, 300, 1},       {4, 0, 4, 0},           {0, 7, 0, 3},
    {7, 0, 3, 0},         {64, 64, 64, 64},       {130, 3, 65, 6},        {8, 1000, 10, 800},
    {4, 30000, 4, 30000}, {3, 100000, 2, 150000}, {2, 300001, 1, 600002}, {65, 8192, 13, 40960},
};

typedef enum order { UP, DOWN, RANGE, LIST, MIXED, ORDERS } order;

static void become_ready(int parts, order how, MPI_Request send)
{
    int *list = must_alloc((size_t)(parts + 1) * sizeof *list), n = 0;
    switch (how) {
    case UP:
        for (int i = 0; i < parts; i++)
            CHECK_OK(MPI_Pready(i, send));
        break;
    case DOWN:
        for (int i = parts; i-- > 0;)
            CHECK_OK(MPI_Pready(i, send));
        break;
    case RANGE:
        if (parts > 1)
            CHECK_OK(MPI_Pready_range(parts / 2, parts - 1, send));
        if (parts > 0)
            CHECK_OK(MPI_Pready_range(0, parts > 1 ? parts / 2 - 1 : 0, send));
        break;
    case LIST:
        for (int i = 0; i < parts; i += 2)
            list[n++] = i;
        for (int i = 1; i < parts; i += 2)
            list[n++] = i;
        CHECK_OK(MPI_Pready_list(n, list, send));
        break;
    default:
        for (int i = 1; i < parts; i += 3)
            CHECK_OK(MPI_Pready(i, send));
        for (int i = 0; i < parts; i++)
            if (i % 3 != 1)
                list[n++] = i;
        CHECK_OK(MPI_Pready_list(n, n ? list : NULL, send));
    }
    free(list);
}

// Looks at every partition until it is there, and at its bytes then.
static void watch(const unsigned char *in, const shape *s, unsigned seed, MPI_Request recv)
{
    unsigned char *want = must_alloc((size_t)s->in_parts * (size_t)s->in_count + 1);
    pattern_fill(want, (size_t)s->in_parts * (size_t)s->in_count, seed);
    for (int i = s->in_parts; i-- > 0;) {
        int flag = 0;
        while (!flag)
            CHECK_OK(MPI_Parrived(recv, i, &flag));
        size_t at = (size_t)i * (size_t)s->in_count;
        CHECK(memcmp(in + at, want + at, (size_t)s->in_count) == 0);
    }
    free(want);
}

static void exchange(const shape *s, order how, int rounds)
{
    int rank = world_rank(), size = world_size(), flag;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    size_t n = (size_t)s->out_parts * (size_t)s->out_count;
    unsigned char *out = must_alloc(n + 1), *in = must_alloc(n + 1);
    MPI_Request both[2];
    MPI_Status statuses[2];
    CHECK_OK(MPI_Psend_init(out, s->out_parts, s->out_count, MPI_BYTE, right, TAG, WORLD,
                            MPI_INFO_NULL, &both[0]));
    CHECK_OK(MPI_Precv_init(in, s->in_parts, s->in_count, MPI_BYTE, left, TAG, WORLD, MPI_INFO_NULL,
                            &both[1]));
    for (int i = 0; i < s->in_parts; i++) {
        CHECK_OK(MPI_Parrived(both[1], i, &flag));
        CHECK_INT(flag, 1); // inactive
    }
    for (int round = 0; round < rounds; round++) {
        pattern_fill(out, n, (unsigned)(rank * 100 + round));
        memset(in, 0xee, n + 1);
        if ((rank + round) % 2 == 0) {
            CHECK_OK(MPI_Startall(2, both));
            become_ready(s->out_parts, how, both[0]);
        } else { // the partitions are ready before the receive starts
            CHECK_OK(MPI_Start(&both[0]));
            become_ready(s->out_parts, how, both[0]);
            CHECK_OK(MPI_Start(&both[1]));
        }
        if (round % 3 == 1)
            watch(in, s, (unsigned)(left * 100 + round), both[1]);
        if (round % 3 == 2) {
            for (flag = 0; !flag;)
                CHECK_OK(MPI_Testall(2, both, &flag, statuses));
        } else {
            CHECK_OK(MPI_Waitall(2, both, statuses));
        }
        CHECK_STATUS(&statuses[1], left, TAG, (int)n);
        CHECK_PATTERN(in, n, (unsigned)(left * 100 + round));
        CHECK_INT(in[n], 0xee);
        CHECK(both[0] != MPI_REQUEST_NULL && both[1] != MPI_REQUEST_NULL);
    }
    CHECK_OK(MPI_Request_free(&both[0]));
    CHECK_OK(MPI_Request_free(&both[1]));
    free(out);
    free(in);
}

// Columns of a matrix, received as rows, with partitions that end inside of an element.
static void gaps(int lines, int columns)
{
    int rank = world_rank(), size = world_size(), n = lines * columns;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int *out = must_alloc((size_t)n * 3 * sizeof *out),
        *in = must_alloc((size_t)n * 2 * sizeof *in);
    MPI_Datatype pick, triple, resized;
    MPI_Request both[2];
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 3 * (MPI_Aint)sizeof(int), &pick));
    CHECK_OK(MPI_Type_vector(3, 1, 2, MPI_INT, &triple)); // three ints with gaps
    CHECK_OK(MPI_Type_create_resized(triple, 0, 6 * (MPI_Aint)sizeof(int), &resized));
    CHECK_OK(MPI_Type_commit(&pick));
    CHECK_OK(MPI_Type_commit(&resized));
    CHECK_OK(MPI_Psend_init(out, lines, columns, pick, right, TAG, WORLD, MPI_INFO_NULL, &both[0]));
    CHECK_OK(MPI_Precv_init(in, n / 3, 1, resized, left, TAG, WORLD, MPI_INFO_NULL, &both[1]));
    MPI_Type_free(&pick); // the requests hold them
    MPI_Type_free(&triple);
    MPI_Type_free(&resized);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3 * n; i++)
            out[i] = i % 3 ? -1 : (i / 3) * 7 + rank + round;
        for (int i = 0; i < 2 * n; i++)
            in[i] = -2;
        CHECK_OK(MPI_Startall(2, both));
        become_ready(lines, (order)(round + 2), both[0]);
        CHECK_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 2 * n; i++)
            CHECK_INT(in[i], i % 2 ? -2 : (i / 2) * 7 + left + round);
    }
    CHECK_OK(MPI_Request_free(&both[0]));
    CHECK_OK(MPI_Request_free(&both[1]));
    free(out);
    free(in);
}

// Requests match in the order in which they were made, whatever the order of their starts, and
// apart from other messages with the same tag. One that was never matched is freed.
static void matching(void)
{
    enum { REQUESTS = 5 };
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int out[REQUESTS], in[REQUESTS], plain = -1;
    MPI_Request sends[REQUESTS], recvs[REQUESTS], spare;
    CHECK_OK(MPI_Precv_init(&plain, 1, 1, MPI_INT, left, TAG + 9, WORLD, MPI_INFO_NULL, &spare));
    CHECK_OK(MPI_Request_free(&spare)); // before there was a sender
    CHECK_INT((intptr_t)spare, (intptr_t)MPI_REQUEST_NULL);
    for (int i = 0; i < REQUESTS; i++) {
        in[i] = -1;
        out[i] = rank * 10 + i;
        CHECK_OK(MPI_Psend_init(&out[i], 1, 1, MPI_INT, right, TAG + 1, WORLD, MPI_INFO_NULL,
                                &sends[i]));
        CHECK_OK(
            MPI_Precv_init(&in[i], 1, 1, MPI_INT, left, TAG + 1, WORLD, MPI_INFO_NULL, &recvs[i]));
    }
    CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, TAG + 1, &plain, 1, MPI_INT, left, TAG + 1,
                          WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(plain, left);
    for (int i = REQUESTS; i-- > 0;) {
        CHECK_OK(MPI_Start(&sends[i]));
        CHECK_OK(MPI_Pready(0, sends[i]));
    }
    for (int i = 0; i < REQUESTS; i++)
        CHECK_OK(MPI_Start(&recvs[(i * 2) % REQUESTS]));
    CHECK_OK(MPI_Waitall(REQUESTS, sends, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Waitall(REQUESTS, recvs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < REQUESTS; i++) {
        CHECK_INT(in[i], left * 10 + i);
        CHECK_OK(MPI_Request_free(&sends[i]));
        CHECK_OK(MPI_Request_free(&recvs[i]));
    }
}

// An offer that was withdrawn before any start is not in the way of the next one.
static void withdrawn(void)
{
    int rank = world_rank(), size = world_size(), in = -1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request send, recv;
    CHECK_OK(MPI_Psend_init(&rank, 1, 1, MPI_INT, right, TAG + 2, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Psend_init(&rank, 1, 1, MPI_INT, right, TAG + 2, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(&in, 1, 1, MPI_INT, left, TAG + 2, WORLD, MPI_INFO_NULL, &recv));
    CHECK_OK(MPI_Start(&recv));
    CHECK_OK(MPI_Start(&send));
    CHECK_OK(MPI_Pready(0, send));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
    CHECK_INT(in, left);
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&recv));
}

// The receiver lags rounds behind; requests of a duplicate that was freed meanwhile.
static void ahead(int bytes)
{
    enum { ROUNDS = 40 };
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    unsigned char *out = must_alloc((size_t)bytes), *in = must_alloc((size_t)bytes);
    MPI_Request send, recv;
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(WORLD, &comm));
    CHECK_OK(MPI_Psend_init(out, 2, bytes / 2, MPI_BYTE, right, TAG, comm, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(in, 2, bytes / 2, MPI_BYTE, left, TAG, comm, MPI_INFO_NULL, &recv));
    CHECK_OK(MPI_Comm_free(&comm));
    for (int round = 0; round < ROUNDS; round++) {
        int flag = 0;
        CHECK_OK(MPI_Start(&send));
        memset(out, rank + round, (size_t)bytes);
        CHECK_OK(MPI_Pready(1, send));
        if (round % 4 == 3)
            CHECK_OK(MPI_Test(&recv, &flag, MPI_STATUS_IGNORE)); // inactive
        CHECK_OK(MPI_Pready(0, send));
        CHECK_OK(MPI_Start(&recv));
        CHECK_OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
        for (int i = 0; i < bytes; i++)
            CHECK_INT(in[i], (left + round) & 0xff);
        CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&recv));
    free(out);
    free(in);
}

static void nobody(void)
{
    int flag = 0;
    char byte = 0;
    MPI_Status status;
    MPI_Request send, recv;
    CHECK_OK(
        MPI_Psend_init_c(&byte, 3, 1, MPI_BYTE, MPI_PROC_NULL, TAG, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK( // their other names
        MPI_Precv_init_c(&byte, 3, 1, MPI_BYTE, MPI_PROC_NULL, TAG, WORLD, MPI_INFO_NULL, &recv));
    for (int round = 0; round < 2; round++) {
        CHECK_OK(MPI_Start(&send));
        CHECK_OK(MPI_Start(&recv));
        CHECK_OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
        CHECK_INT(flag, 0);
        CHECK_OK(MPI_Pready_range(0, 2, send));
        CHECK_OK(MPI_Parrived(recv, 2, &flag));
        CHECK_INT(flag, 1);
        CHECK_OK(MPI_Wait(&send, &status));
        CHECK_OK(MPI_Wait(&recv, &status));
        CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    }
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&recv));
}

// When MPI_Parrived has told of all partitions, the request is done, whoever asks.
static int looks_done(int how, MPI_Request *recv)
{
    int flag = 0, index = -1, count = 0;
    if (how == 0)
        CHECK_OK(MPI_Test(recv, &flag, MPI_STATUS_IGNORE));
    else if (how == 1)
        CHECK_OK(MPI_Testall(1, recv, &flag, MPI_STATUSES_IGNORE));
    else if (how == 2)
        CHECK_OK(MPI_Testany(1, recv, &index, &flag, MPI_STATUS_IGNORE));
    else if (how == 3)
        CHECK_OK(MPI_Request_get_status(*recv, &flag, MPI_STATUS_IGNORE));
    else
        CHECK_OK(MPI_Testsome(1, recv, &count, &index, MPI_STATUSES_IGNORE));
    return flag || count == 1;
}

static void arrived_is_done(void)
{
    enum { N = 70, ROUNDS = 500 };
    int rank = world_rank(), size = world_size(), out[N], in[N], flag;
    MPI_Request send, recv;
    CHECK_OK(
        MPI_Psend_init(out, N, 1, MPI_INT, (rank + 1) % size, TAG, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(in, N, 1, MPI_INT, (rank + size - 1) % size, TAG, WORLD, MPI_INFO_NULL,
                            &recv));
    for (int round = 0; round < ROUNDS; round++) {
        for (int p = 0; p < N; p++)
            out[p] = round + p;
        CHECK_OK(MPI_Start(&recv));
        CHECK_OK(MPI_Start(&send));
        for (int p = 0; p < N; p++)
            CHECK_OK(MPI_Pready(p, send));
        for (int p = 0; p < N; p++)
            do
                CHECK_OK(MPI_Parrived(recv, p, &flag));
            while (!flag);
        CHECK(looks_done(round % 5, &recv));
        CHECK_INT(in[N - 1], round + N - 1);
        CHECK_OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&recv));
}

// A receive that is larger than what is sent; MPI_Request_get_status; freed while active.
static void odd(void)
{
    int rank = world_rank(), size = world_size(), flag = 0;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int in[6] = {0};
    MPI_Status status;
    MPI_Request send, recv;
    CHECK_OK(MPI_Psend_init(&rank, 1, 1, MPI_INT, right, TAG, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(in, 3, 2, MPI_INT, left, TAG, WORLD, MPI_INFO_NULL, &recv));
    CHECK_OK(MPI_Start(&recv));
    CHECK_OK(MPI_Start(&send));
    CHECK_OK(MPI_Pready(0, send));
    CHECK_OK(MPI_Request_free(&send));
    for (flag = 0; !flag;)
        CHECK_OK(MPI_Request_get_status(recv, &flag, &status));
    CHECK_STATUS(&status, left, TAG, (int)sizeof(int));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(MPI_Parrived(recv, i, &flag));
        CHECK_INT(flag, 1);
    }
    CHECK_OK(MPI_Wait(&recv, &status));
    CHECK_STATUS(&status, left, TAG, (int)sizeof(int));
    CHECK_INT(in[0], left);
    CHECK_OK(MPI_Request_free(&recv));
    CHECK_OK(MPI_Barrier(WORLD));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int i = 0; i < COUNT_OF(shapes); i++)
        for (order how = UP; how < ORDERS; how++)
            exchange(&shapes[i], how, shapes[i].out_count > 10000 ? 2 : 6);
    gaps(12, 4);
    gaps(9, 1000);
    gaps(3, 20001);
    matching();
    withdrawn();
    ahead(16);
    ahead(40000);
    nobody();
    arrived_is_done();
    odd();
    CHECK_OK(MPI_Finalize());
    return 0;
}
