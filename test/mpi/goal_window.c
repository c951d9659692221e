// SPDX-License-Identifier: BSD-3-Clause
//
// Windows: a pipeline round all ranks and a DAG for which a window needs much memory (Figure 3 of
// the paper), with windows of all sizes. The result is the same, and no dependency is broken.

#define _POSIX_C_SOURCE 200809L // setenv
#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

enum { PIECES = 24, INTS = 16, NODES = 40 };

// Rank 0 sends pieces round; every other rank adds one to each element before it sends it on.
static GOAL_Sched pipeline(int rank, int size, int *data, int *in, const int *ones, int window)
{
    GOAL_Goal g = GOAL_Create();
    size_t bytes = INTS * sizeof(int);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    CHECK_OK(GOAL_Set(g, GOAL_WINDOW, window));
    for (int i = 0; i < PIECES; i++) {
        int *own = data + i * INTS, *other = in + i * INTS;
        if (rank == 0) {
            CHECK_ID(GOAL_Send(g, own, bytes, right));
            CHECK_ID(GOAL_Recv(g, other, bytes, left));
            continue;
        }
        GOAL_id recv = CHECK_ID(GOAL_Recv(g, own, bytes, left));
        GOAL_id add = CHECK_ID(GOAL_Exec(g, GOAL_sumInt32, own, bytes, ones, bytes));
        GOAL_id send = CHECK_ID(GOAL_Send(g, own, bytes, right));
        CHECK_OK(GOAL_Requ(g, add, recv));
        CHECK_OK(GOAL_Requ(g, send, add));
    }
    return compiled(g);
}

static void go_round(int rank, int size, int window)
{
    int data[PIECES * INTS], in[PIECES * INTS], ones[INTS];
    for (int i = 0; i < INTS; i++)
        ones[i] = 1;
    GOAL_Sched s = pipeline(rank, size, data, in, ones, window);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PIECES * INTS; i++) {
            data[i] = 1000 * round + i;
            in[i] = -1;
        }
        CHECK_OK(GOAL_Sched_run(s));
        for (int i = 0; rank == 0 && i < PIECES * INTS; i++)
            CHECK_INT(in[i], 1000 * round + i + size - 1);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

// ---- order

typedef struct note {
    int *clock; // of all
    int at;     // when this one ran; from 1
} note;

static void stamp(void *buf1, int size1, void *buf2, int size2)
{
    note *n = buf1;
    CHECK_INT(size1, sizeof *n);
    CHECK_INT(size2, 0);
    CHECK(buf2 == NULL);
    n->at = ++*n->clock;
}

// Each node waits for the one before it, if `chain`, and for the one half of all before it.
static void adversary(int window, int chain)
{
    int clock = 0;
    note nodes[NODES];
    GOAL_Goal g = GOAL_Create();
    GOAL_fid f = CHECK_ID(GOAL_Reg_func(g, stamp));
    CHECK_OK(GOAL_Set(g, GOAL_WINDOW, window));
    for (int i = 0; i < NODES; i++) {
        nodes[i] = (note){&clock, 0};
        CHECK_INT(GOAL_Exec(g, f, &nodes[i], sizeof nodes[i], NULL, 0), i);
        if (i > 0 && chain)
            CHECK_OK(GOAL_Requ(g, i, i - 1));
        if (i >= NODES / 2)
            CHECK_OK(GOAL_Requ(g, i, i - NODES / 2));
    }
    GOAL_Sched s = compiled(g);
    for (int round = 0; round < 2; round++) {
        clock = 0;
        CHECK_OK(GOAL_Sched_run(s));
        CHECK_INT(clock, NODES);
        for (int i = 1; i < NODES; i++) {
            CHECK(!chain || nodes[i].at > nodes[i - 1].at);
            CHECK(i < NODES / 2 || nodes[i].at > nodes[i - NODES / 2].at);
        }
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

// What the setting says counts for goals that say nothing: in a window of one, a send finishes
// before the receive behind it begins; without, the receive is there first and takes the message.
static void setting(int window)
{
    int out = 1, in = 0, count = 0;
    GOAL_id ids[2] = {-1, -1};
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, MPI_COMM_SELF));
    CHECK_ID(GOAL_Send(g, &out, sizeof out, 0));
    CHECK_ID(GOAL_Recv(g, &in, sizeof in, 0));
    GOAL_Sched s = compiled(g);
    CHECK_OK(GOAL_Sched_set(s, GOAL_ORDER, 1));
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_order(s, ids, 2, &count));
    CHECK_INT(count, 2);
    CHECK_INT(in, 1);
    CHECK_INT(ids[0], window ? 0 : 1);
    CHECK_INT(ids[1], window ? 1 : 0);
    CHECK_OK(GOAL_Sched_free(&s));
}

int main(int argc, char **argv)
{
    if (argc > 1) // read in MPI_Init, where the process is one rank
        CHECK(setenv("MILLET_GOAL_WINDOW", argv[1], 1) == 0);
    CHECK_OK(MPI_Init(&argc, &argv));
    if (argc > 1) {
        setting(atoi(argv[1]));
        CHECK_OK(MPI_Finalize());
        return 0;
    }
    int rank = world_rank(), size = world_size();
    int windows[] = {0, 1, 2, 3, 4, 5, 7, 8, 11, 16, 31, 39, 40, 64, 100000};
    for (int i = 0; i < COUNT_OF(windows); i++) {
        if (size > 1)
            go_round(rank, size, windows[i]);
        adversary(windows[i], 0);
        adversary(windows[i], 1);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
