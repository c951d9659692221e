// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs against a sequential interpretation. All ranks draw the same program: steps, each
// a message between two ranks or an operation on one, on random spans of their memory. Every rank
// adds its own part with GOAL_AUTO and runs it; a model does the steps one after the other. Both
// must agree on every byte. Programs run several times, in all ways, with all kinds of windows.

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

enum { CELLS = 40, STEPS = 60, MOST_RANKS = 64 };

typedef struct step {
    int from, to; // a message, or an operation on `from` if `to` is below 0
    int a, b, n;  // cells: of the sender and of the receiver; of the result and the operand
    int op, tag;
} step;

static step draw(uint64_t *state, int ranks)
{
    step s = {.from = random_below(state, ranks), .to = -1, .tag = random_below(state, 3)};
    static const int ops[] = {GOAL_sumInt32, GOAL_maxInt32, GOAL_bxorInt32, GOAL_copyInt32,
                              GOAL_sumUInt32};
    s.op = ops[random_below(state, COUNT_OF(ops))];
    s.n = 1 + random_below(state, CELLS / 4);
    s.a = random_below(state, CELLS - s.n + 1);
    s.b = random_below(state, CELLS - s.n + 1);
    if (random_below(state, 3)) {
        s.to = random_below(state, ranks);
        if (s.to == s.from && s.a < s.b + s.n && s.b < s.a + s.n)
            s.to = -1; // a message onto itself
    }
    while (s.to < 0 && s.a != s.b && s.a < s.b + s.n && s.b < s.a + s.n)
        s.n--; // the operands are equal or apart
    if (s.n == 0)
        s.n = 1;
    return s;
}

static void operate(int op, int32_t *a, const int32_t *b)
{
    uint32_t sum = (uint32_t)*a + (uint32_t)*b;
    *a = op == GOAL_maxInt32    ? (*a > *b ? *a : *b)
         : op == GOAL_bxorInt32 ? *a ^ *b
         : op == GOAL_copyInt32 ? *b
                                : (int32_t)sum;
}

static void interpret(const step *steps, int count, int32_t *memory)
{
    for (int i = 0; i < count; i++) {
        const step *s = &steps[i];
        int32_t *own = memory + s->from * CELLS;
        if (s->to >= 0)
            memcpy(memory + s->to * CELLS + s->b, own + s->a, (size_t)s->n * sizeof(int32_t));
        for (int k = 0; s->to < 0 && k < s->n; k++)
            operate(s->op, &own[s->a + k], &own[s->b + k]);
    }
}

static GOAL_Sched build(const step *steps, int count, int rank, int32_t *own, int window)
{
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set(g, GOAL_AUTO, 1));
    CHECK_OK(GOAL_Set(g, GOAL_WINDOW, window));
    for (int i = 0; i < count; i++) {
        const step *s = &steps[i];
        size_t bytes = (size_t)s->n * sizeof *own;
        if (s->to < 0 && s->from == rank)
            CHECK_ID(GOAL_Exec(g, s->op, own + s->a, bytes, own + s->b, bytes));
        // To itself: the send first, which small messages let finish though the receive lies
        // behind the window.
        if (s->to >= 0 && s->from == rank)
            CHECK_ID(GOAL_Send_tag(g, own + s->a, bytes, s->to, s->tag));
        if (s->to == rank)
            CHECK_ID(GOAL_Recv_tag(g, own + s->b, bytes, s->from, s->tag));
    }
    return compiled(g);
}

static void play(uint64_t *state, int rank, int size)
{
    step steps[STEPS];
    int32_t model[MOST_RANKS * CELLS], own[CELLS];
    int windows[] = {0, 0, 2, 3, 5, 8, 17}, way = random_below(state, 3);
    int count = 1 + random_below(state, STEPS);
    int window = windows[random_below(state, COUNT_OF(windows))];
    for (int i = 0; i < count; i++)
        steps[i] = draw(state, size);
    GOAL_Sched s = build(steps, count, rank, own, window);
    for (int i = 0; i < size * CELLS; i++)
        model[i] = (int32_t)random_next(state);
    memcpy(own, model + rank * CELLS, sizeof own);
    for (int round = 0; round < 3; round++) {
        MPI_Request request;
        interpret(steps, count, model);
        if (way == 0) {
            CHECK_OK(GOAL_Sched_run(s));
        } else {
            if (way == 1 || round == 0)
                CHECK_OK(way == 1 ? GOAL_Sched_start(s, &request) : GOAL_Sched_init(s, &request));
            if (way == 2)
                CHECK_OK(MPI_Start(&request));
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            if (way == 2 && round == 2)
                CHECK_OK(MPI_Request_free(&request));
        }
        for (int i = 0; i < CELLS; i++)
            if (own[i] != model[rank * CELLS + i])
                check_fail(__FILE__, __LINE__, "cell %d is %d, should be %d (round %d, window %d)",
                           i, (int)own[i], (int)model[rank * CELLS + i], round, window);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size(), programs = argc > 1 ? atoi(argv[1]) : 30;
    CHECK(size <= MOST_RANKS);
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 0) : 4711;
    for (int i = 0; i < programs; i++)
        play(&state, rank, size);
    CHECK_OK(MPI_Finalize());
    return 0;
}
