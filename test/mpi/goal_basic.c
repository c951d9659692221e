// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules in their simple ways: the paper's examples, a broadcast, messages of all sizes, tags in
// another order than they are sent, dependencies on starts, own memory, other memory between runs.

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

// Examples 2 and 3 of the paper, on the ranks that there are.
static void examples(int rank, int size)
{
    signed char memory[8] = {0, (signed char)(10 + rank), (signed char)(20 + rank)};
    GOAL_Goal g = GOAL_Create();
    if (rank == 0 && size >= 3) {
        GOAL_id r1 = CHECK_ID(GOAL_Recv(g, memory + 3, 1, 1));
        GOAL_id r2 = CHECK_ID(GOAL_Recv(g, memory + 4, 1, 2));
        GOAL_id e1 = CHECK_ID(GOAL_Exec(g, GOAL_sumInt8, memory + 1, 1, memory + 3, 1));
        GOAL_id e2 = CHECK_ID(GOAL_Exec(g, GOAL_sumInt8, memory + 2, 1, memory + 4, 1));
        CHECK_INT(r1, 0);
        CHECK_INT(e2, 3);
        CHECK_OK(GOAL_Requ(g, e1, r1));
        CHECK_OK(GOAL_Requ(g, e2, r2));
    } else if (rank > 0 && rank < 3 && size >= 3) {
        CHECK_ID(GOAL_Send(g, memory + 1, 1, 0));
    }
    GOAL_Sched s = compiled(g);
    for (int i = 1; i <= 3; i++) {
        CHECK_OK(GOAL_Sched_run(s));
        if (rank == 0 && size >= 3) {
            CHECK_INT(memory[1], 10 + i * 11);
            CHECK_INT(memory[2], 20 + i * 12);
        }
    }
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK(s == NULL);
}

// Listing 2: a binomial tree from rank 0.
static void broadcast(int rank, int size, size_t bytes)
{
    unsigned char *buf = must_alloc(bytes);
    GOAL_Goal g = GOAL_Create();
    GOAL_id recv = -1;
    for (int bit = 1; bit < size; bit *= 2) {
        GOAL_id send = -1;
        if (rank + bit < size && rank < bit)
            send = CHECK_ID(GOAL_Send(g, buf, bytes, rank + bit));
        if (send >= 0 && recv >= 0)
            CHECK_OK(GOAL_Requ(g, send, recv));
        if (rank >= bit && rank < 2 * bit)
            recv = CHECK_ID(GOAL_Recv(g, buf, bytes, rank - bit));
    }
    GOAL_Sched s = compiled(g);
    for (unsigned i = 0; i < 3; i++) {
        memset(buf, 0, bytes);
        if (rank == 0)
            pattern_fill(buf, bytes, i);
        CHECK_OK(GOAL_Sched_run(s));
        CHECK_PATTERN(buf, bytes, i);
    }
    CHECK_OK(GOAL_Sched_free(&s));
    free(buf);
}

static void ring(int rank, int size, size_t bytes)
{
    unsigned char *out = must_alloc(bytes), *in = must_alloc(bytes);
    GOAL_Sched s = ring_of(WORLD, out, in, bytes);
    for (unsigned i = 0; i < 3; i++) {
        pattern_fill(out, bytes, 100 * i + (unsigned)rank);
        CHECK_OK(GOAL_Sched_run(s));
        CHECK_PATTERN(in, bytes, 100 * i + (unsigned)((rank + size - 1) % size));
    }
    CHECK_OK(GOAL_Sched_free(&s));
    free(out);
    free(in);
}

// The n-th send with a tag meets the n-th receive with it, whatever order the two are added in and
// run in: receives are added backwards by tag, and the last send runs first.
static void tags(int rank, int size)
{
    enum { TAGS = 3, EACH = 4 };
    int out[TAGS][EACH], in[TAGS][EACH], right = (rank + 1) % size, left = (rank + size - 1) % size;
    GOAL_Goal g = GOAL_Create();
    GOAL_id later = -1;
    for (int n = 0; n < EACH; n++)
        for (int t = 0; t < TAGS; t++) {
            out[t][n] = 1000 * rank + 10 * t + n;
            GOAL_id id = CHECK_ID(GOAL_Send_tag(g, &out[t][n], sizeof(int), right, 7 * t));
            if (later >= 0)
                CHECK_OK(GOAL_Requ(g, later, id));
            later = id;
        }
    for (int t = TAGS - 1; t >= 0; t--)
        for (int n = 0; n < EACH; n++)
            CHECK_ID(GOAL_Recv_tag(g, &in[t][n], sizeof(int), left, 7 * t));
    GOAL_Sched s = compiled(g);
    for (int i = 0; i < 3; i++) {
        memset(in, -1, sizeof in);
        CHECK_OK(GOAL_Sched_run(s));
        for (int t = 0; t < TAGS; t++)
            for (int n = 0; n < EACH; n++)
                CHECK_INT(in[t][n], 1000 * left + 10 * t + n);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

// A receive that has started but never finishes before its dependents on the start have sent what
// it waits for: with `requ` in place of the start this would hang.
static void starts(int rank, int size)
{
    int out = 5 + rank, in = -1, right = (rank + 1) % size, left = (rank + size - 1) % size;
    GOAL_Goal g = GOAL_Create();
    GOAL_id recv = CHECK_ID(GOAL_Recv(g, &in, sizeof in, left));
    GOAL_id nop = CHECK_ID(GOAL_Nop(g));
    GOAL_id send = CHECK_ID(GOAL_Send(g, &out, sizeof out, right));
    CHECK_OK(GOAL_Requ_start(g, nop, recv));
    CHECK_OK(GOAL_Requ(g, send, nop));
    GOAL_Sched s = compiled(g);
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_INT(in, 5 + left);
    CHECK_OK(GOAL_Sched_free(&s));
}

// Named buffers, own memory, binding; messages to nobody; nothing at all.
static void memory(int rank, int size)
{
    int given[2] = {rank, -1}, other[2] = {100 + rank, -1};
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    GOAL_Goal g = GOAL_Create();
    CHECK_ID(GOAL_Recv(g, &given[1], sizeof(int), left)); // before it has a name
    CHECK_OK(GOAL_Buffer(g, "given", given, sizeof given));
    CHECK_ID(GOAL_Send(g, &given[0], sizeof(int), right));
    int *own = GOAL_Alloc(g, "own", 4 * sizeof(int));
    CHECK(own != NULL);
    CHECK_INT(own[0] | own[1] | own[2] | own[3], 0);
    CHECK_ID(GOAL_Exec(g, GOAL_copyInt32, own + 2, sizeof(int), own, sizeof(int)));
    CHECK_ID(GOAL_Send(g, &given[0], sizeof(int), MPI_PROC_NULL));
    CHECK_ID(GOAL_Recv(g, NULL, 0, MPI_PROC_NULL));
    GOAL_Sched s = compiled(g);
    void *base = NULL;
    size_t bytes = 0;
    own[0] = 77; // lives on with the schedule
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_INT(given[1], left);
    CHECK_INT(own[2], 77);
    CHECK_OK(GOAL_Sched_buffer(s, "given", &base, &bytes));
    CHECK(base == given && bytes == sizeof given);
    CHECK_OK(GOAL_Sched_bind(s, "given", other));
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_INT(given[1], left);
    CHECK_INT(other[1], 100 + left);
    CHECK_OK(GOAL_Sched_bind(s, "given", NULL)); // memory of its own, zeroed
    CHECK_OK(GOAL_Sched_buffer(s, "given", &base, NULL));
    CHECK(base != other && base != given && ((int *)base)[0] == 0);
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_buffer(s, "own", &base, &bytes));
    CHECK(base == own && bytes == 4 * sizeof(int));
    CHECK_OK(GOAL_Sched_free(&s));
    s = compiled(GOAL_Create());
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_free(&s));
}

// Dependencies from the buffers: each step of a chain of copies and sums needs the one before.
static void automatic(int rank, int size)
{
    int a[4] = {rank, 0, 0, 0}, right = (rank + 1) % size, left = (rank + size - 1) % size;
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set(g, GOAL_AUTO, 1));
    CHECK_ID(GOAL_Send(g, &a[0], sizeof(int), right));
    CHECK_ID(GOAL_Recv(g, &a[1], sizeof(int), left));
    CHECK_ID(GOAL_Exec(g, GOAL_sumInt32, &a[0], sizeof(int), &a[1], sizeof(int))); // after the send
    CHECK_ID(GOAL_Send_tag(g, &a[0], sizeof(int), right, 1));
    CHECK_ID(GOAL_Recv_tag(g, &a[1], sizeof(int), left, 1)); // after the sum
    CHECK_ID(GOAL_Exec(g, GOAL_copyInt32, &a[2], sizeof(int), &a[1], sizeof(int)));
    GOAL_Sched s = compiled(g);
    for (int i = 0; i < 20; i++) {
        a[0] = rank;
        CHECK_OK(GOAL_Sched_run(s));
        CHECK_INT(a[0], rank + left);
        CHECK_INT(a[2], left + (left + size - 1) % size);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

// Receives from anyone: as many as come, each with its own value.
static void anyone(int rank, int size)
{
    int *in = must_alloc((size_t)size * sizeof *in), sum = 0;
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set(g, GOAL_PLAIN, 1));
    if (rank == 0)
        for (int i = 1; i < size; i++)
            CHECK_ID(GOAL_Recv_tag(g, &in[i], sizeof(int), MPI_ANY_SOURCE, 3));
    else
        CHECK_ID(GOAL_Send_tag(g, &rank, sizeof(int), 0, 3));
    GOAL_Sched s = compiled(g);
    for (int k = 0; k < 3; k++) {
        sum = 0;
        CHECK_OK(GOAL_Sched_run(s));
        for (int i = 1; rank == 0 && i < size; i++)
            sum += in[i];
        CHECK_INT(sum, rank == 0 ? size * (size - 1) / 2 : 0);
    }
    CHECK_OK(GOAL_Sched_free(&s));
    free(in);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    size_t bytes[] = {0, 1, 8, 33, 64, 1000, 5000, 20000, 300000, 1200000};
    examples(rank, size);
    for (int i = 0; i < COUNT_OF(bytes); i++) {
        ring(rank, size, bytes[i]);
        broadcast(rank, size, bytes[i]);
    }
    tags(rank, size);
    starts(rank, size);
    memory(rank, size);
    automatic(rank, size);
    anyone(rank, size);
    CHECK_OK(MPI_Finalize());
    return 0;
}
