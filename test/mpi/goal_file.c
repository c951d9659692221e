// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules from text, saved, loaded, and run with the same result: the paper's Example 2, a ring
// with named buffers, LogGOPSim's dialect, a text for fewer ranks than there are.

#include <unistd.h>

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

static const char *const example2 = "rank #0 {\n"
                                    "  r1: recv 503,1 from 1;\n"
                                    "  r2: recv 504,1 from 2;\n"
                                    "  e1: exec sumInt8 with 501,1 503,1;\n"
                                    "  e2: exec sumInt8 with 502,1 504,1;\n"
                                    "  requ e1 -> r1;\n"
                                    "  requ e2 -> r2;\n"
                                    "}\n"
                                    "rank #1, #2 {\n"
                                    "  send 501,1 to 0;\n"
                                    "}\n";

static void file_name(char *name, size_t size, int rank)
{
    snprintf(name, size, "goal_file.%d.%d", (int)getpid(), rank);
}

static void run_example(GOAL_Sched s, int rank)
{
    signed char *memory = NULL;
    size_t size = 0;
    CHECK_OK(GOAL_Sched_buffer(s, "", (void **)&memory, &size));
    CHECK_INT(size, rank == 0 ? 505 : rank < 3 ? 502 : 0);
    if (rank < 3) {
        memory[501] = (signed char)(10 + rank);
        if (rank == 0)
            memory[502] = 20;
    }
    CHECK_OK(GOAL_Sched_run(s));
    if (rank == 0) {
        CHECK_INT(memory[501], 21);
        CHECK_INT(memory[502], 32);
    }
}

// Saves it, frees it, and loads it again.
static GOAL_Sched reloaded(GOAL_Sched s, int rank)
{
    char name[64];
    GOAL_Sched again = NULL;
    file_name(name, sizeof name, rank);
    CHECK_OK(GOAL_Sched_save(s, name));
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(GOAL_Sched_load(name, WORLD, &again));
    CHECK(remove(name) == 0);
    return again;
}

static void examples(int rank)
{
    char name[64];
    GOAL_Sched s;
    CHECK_OK(GOAL_Sched_text(example2, WORLD, &s));
    run_example(s, rank);
    s = reloaded(s, rank);
    run_example(s, rank);
    s = reloaded(s, rank); // what was loaded can be saved
    run_example(s, rank);
    CHECK_OK(GOAL_Sched_free(&s));
    file_name(name, sizeof name, rank);
    FILE *file = fopen(name, "w");
    CHECK(file != NULL && fputs(example2, file) >= 0 && fclose(file) == 0);
    CHECK_OK(GOAL_Sched_load(name, WORLD, &s));
    CHECK(remove(name) == 0);
    run_example(s, rank);
    CHECK_OK(GOAL_Sched_free(&s));
}

// Named buffers, bound to memory of the caller's; from the library, saved and loaded.
static void named(int rank, int size)
{
    enum { N = 100 };
    int out[N], in[N], left = (rank + size - 1) % size;
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Buffer(g, "out", out, sizeof out));
    CHECK_OK(GOAL_Buffer(g, "in", in, sizeof in));
    GOAL_id recv = CHECK_ID(GOAL_Recv(g, in, sizeof in, left));
    CHECK_ID(GOAL_Send(g, out, sizeof out, (rank + 1) % size));
    GOAL_id twice = CHECK_ID(GOAL_Exec(g, GOAL_sumInt32, in, sizeof in, in, sizeof in));
    CHECK_OK(GOAL_Requ(g, twice, recv));
    GOAL_Sched s = reloaded(compiled(g), rank);
    CHECK_OK(GOAL_Sched_bind(s, "out", out));
    CHECK_OK(GOAL_Sched_bind(s, "in", in));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++)
            out[i] = 1000 * round + 100 * rank + i;
        CHECK_OK(GOAL_Sched_run(s));
        for (int i = 0; i < N; i++)
            CHECK_INT(in[i], 2 * (1000 * round + 100 * left + i));
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

// The simulator's dialect: bytes that nobody cares about, any source, time that passes nowhere.
static void loggopsim(void)
{
    GOAL_Sched s;
    const char *text = "num_ranks 3\n"
                       "rank 0 {\nl1: recv 100b from -1 tag 1\nl2: recv 100b from -1 tag 1\n"
                       "l3: calc 1000000\nl3 requires l1\nl3 requires l2\n"
                       "l4: send 70000b to 1 tag 2\nl4 requires l3\n}\n"
                       "rank 1 {\nl1: send 100b to 0 tag 1\nl2: recv 70000b from 0 tag 2\n}\n"
                       "rank 2 {\nl1: send 100b to 0 tag 1\n}\n";
    CHECK_OK(GOAL_Sched_text(text, WORLD, &s));
    for (int i = 0; i < 5; i++)
        CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_free(&s));
}

static void subtract(void *buf1, int size1, void *buf2, int size2)
{
    CHECK_INT(size1, size2);
    for (int i = 0; i < size1 / 8; i++)
        ((int64_t *)buf1)[i] -= ((int64_t *)buf2)[i];
}

// Receives that are reduced as they come, small and large ones; synchronous sends; what waits for a
// start; the same in a file.
static void fused(int rank)
{
    enum { N = 10000 };
    GOAL_Sched s;
    int64_t *in, *sum, *left, *out;
    const char *text =
        "rank #0 { buffer in 160000; buffer sum 80000; buffer left 80000; buffer out 8;"
        "  a: recv in+0,80000 from 1 then sumInt64 with sum+0,80000;"
        "  b: recv in+80000,80000 from 1 tag 2 then user 0 with left+0,80000 reversed;"
        "  c: send left+0,8 to 1 tag 3 sync; requ c -> b;"
        "  d: nop; irequ d -> c; e: send out+0,8 to 1 tag 4; requ e -> d; requ e -> a; }"
        "rank #1 { buffer in 160000; buffer out 16; a: send in+0,80000 to 0;"
        "  b: send in+80000,80000 to 0 tag 2; requ b -> a;"
        "  c: recv out+0,8 from 0 tag 3; d: recv out+8,8 from 0 tag 4;"
        "  e: exec sumInt64 with out+0,8 out+8,8; requ e -> c; requ e -> d; }";
    CHECK_OK(GOAL_Sched_text(text, WORLD, &s));
    for (int round = 0; round < 4; round++) {
        if (round == 2)
            s = reloaded(s, rank);
        CHECK_OK(GOAL_Sched_func(s, 0, subtract));
        if (rank < 2)
            CHECK_OK(GOAL_Sched_buffer(s, "in", (void **)&in, NULL));
        for (int i = 0; rank == 1 && i < 2 * N; i++)
            in[i] = i + round;
        if (rank == 0) {
            CHECK_OK(GOAL_Sched_buffer(s, "sum", (void **)&sum, NULL));
            CHECK_OK(GOAL_Sched_buffer(s, "left", (void **)&left, NULL));
            for (int i = 0; i < N; i++) {
                sum[i] = 5 * i;
                left[i] = 1000;
            }
        }
        if (rank < 2) {
            CHECK_OK(GOAL_Sched_buffer(s, "out", (void **)&out, NULL));
            out[0] = 77 + round;
        }
        CHECK_OK(GOAL_Sched_run(s));
        for (int i = 0; rank == 0 && i < N; i++) {
            CHECK_INT(sum[i], 6 * i + round);
            CHECK_INT(left[i], N + i + round - 1000); // what came, minus what was there
        }
        if (rank == 1)
            CHECK_INT(out[0], N + round - 1000 + 77 + round);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    if (size >= 3) {
        examples(rank);
        loggopsim();
    }
    if (size >= 2)
        fused(rank);
    named(rank, size);
    CHECK_OK(MPI_Finalize());
    return 0;
}
