// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of the user's: buffers of different sizes, operations that do not commute, reversed
// operands, several functions, functions of a text.

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

typedef struct matrix {
    long a[4]; // 2 x 2, by rows
} matrix;

// buf1 = buf1 x buf2, which does not commute.
static void multiply(void *buf1, int size1, void *buf2, int size2)
{
    CHECK_INT(size1, sizeof(matrix));
    CHECK_INT(size2, sizeof(matrix));
    matrix x = *(matrix *)buf1, y = *(matrix *)buf2;
    for (int i = 0; i < 4; i++)
        ((matrix *)buf1)->a[i] = x.a[i / 2 * 2] * y.a[i % 2] + x.a[i / 2 * 2 + 1] * y.a[i % 2 + 2];
}

static void count_ones(void *buf1, int size1, void *buf2, int size2)
{
    CHECK_INT(size1, sizeof(int));
    for (int i = 0; i < size2; i++)
        *(int *)buf1 += ((unsigned char *)buf2)[i] == 1;
}

static matrix of_rank(int rank)
{
    return (matrix){{1, rank + 1, rank % 3, 1 - rank % 2}};
}

// The product of all ranks' matrices in the order of ranks. The chain goes up (each rank has the
// product of those below and multiplies by its own: reversed) or down.
static void chain(int rank, int size, int reversed)
{
    int from = reversed ? rank - 1 : rank + 1, to = reversed ? rank + 1 : rank - 1;
    int end = reversed ? size - 1 : 0;
    matrix own, in, want = of_rank(0);
    for (int r = 1; r < size; r++) {
        matrix next = of_rank(r);
        multiply(&want, sizeof want, &next, sizeof next);
    }
    GOAL_Goal g = GOAL_Create();
    GOAL_fid f = CHECK_ID(GOAL_Reg_func(g, multiply));
    GOAL_id product = -1;
    if (from >= 0 && from < size) {
        GOAL_id recv = CHECK_ID(GOAL_Recv(g, &in, sizeof in, from));
        product = reversed ? GOAL_Exec_reversed(g, f, &own, sizeof own, &in, sizeof in)
                           : GOAL_Exec(g, f, &own, sizeof own, &in, sizeof in);
        CHECK_OK(GOAL_Requ(g, CHECK_ID(product), recv));
    }
    if (to >= 0 && to < size) {
        GOAL_id send = CHECK_ID(GOAL_Send(g, &own, sizeof own, to));
        if (product >= 0)
            CHECK_OK(GOAL_Requ(g, send, product));
    }
    GOAL_Sched s = compiled(g);
    for (int i = 0; i < 3; i++) {
        own = of_rank(rank);
        CHECK_OK(GOAL_Sched_run(s));
        if (rank == end)
            CHECK(memcmp(&own, &want, sizeof own) == 0);
        if (product >= 0) // the other operand is as it came
            CHECK(in.a[0] != 0 || in.a[1] != 0);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

static void sizes(void)
{
    enum { N = 300 };
    unsigned char bytes[N];
    int ones = 0;
    matrix a = of_rank(3), b = of_rank(5), want = a;
    for (int i = 0; i < N; i++)
        bytes[i] = i % 3 == 0;
    multiply(&want, sizeof want, &b, sizeof b);
    GOAL_Goal g = GOAL_Create();
    GOAL_fid product = CHECK_ID(GOAL_Reg_func(g, multiply));
    GOAL_fid count = CHECK_ID(GOAL_Reg_func(g, count_ones));
    CHECK_INT(product, 0);
    CHECK_INT(count, 1);
    CHECK_ID(GOAL_Exec(g, count, &ones, sizeof ones, bytes, N));
    CHECK_ID(GOAL_Exec(g, product, &a, sizeof a, &b, sizeof b));
    GOAL_Sched s = compiled(g);
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_INT(ones, N / 3);
    CHECK(memcmp(&a, &want, sizeof a) == 0);
    CHECK_OK(GOAL_Sched_free(&s));
}

// `exec user N` of a text means what it is told to mean.
static void of_text(int rank)
{
    GOAL_Sched s;
    unsigned char *memory;
    size_t size;
    const char *text = "rank #0 { exec user 1 with 0,4 , 4,6; }";
    CHECK_OK(GOAL_Sched_text(text, WORLD, &s));
    if (rank == 0)
        CHECK_ERROR(GOAL_Sched_run(s), MPI_ERR_OP, "GOAL_Sched_run", "function 0");
    CHECK_OK(GOAL_Sched_func(s, 0, multiply)); // is never called
    CHECK_OK(GOAL_Sched_func(s, 1, count_ones));
    CHECK_OK(GOAL_Sched_buffer(s, "", (void **)&memory, &size));
    CHECK_INT(size, rank == 0 ? 10 : 0);
    for (int i = 4; rank == 0 && i < 10; i++)
        memory[i] = (unsigned char)(i % 2);
    CHECK_OK(GOAL_Sched_run(s));
    if (rank == 0) {
        int ones;
        memcpy(&ones, memory, sizeof ones);
        CHECK_INT(ones, 3);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    int rank = world_rank(), size = world_size();
    chain(rank, size, 0);
    chain(rank, size, 1);
    sizes();
    of_text(rank);
    CHECK_OK(MPI_Finalize());
    return 0;
}
