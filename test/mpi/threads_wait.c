// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of a rank that wait for each other, by the argument; any number of ranks.
//
// self: a thread is blocked in a receive until the rank's own thread sends. order: thread A waits
// while B's operation completes first. turns: all threads are blocked, and their messages come in
// an order that makes each of them end another one's wait. probe: threads that are blocked in
// MPI_Mprobe share a stream of messages. poll: some poll, some block, nobody starves. come-and-go:
// many short threads. errors: threads that raise errors at once each get their own error message;
// handlers call MPI. outside: blocked, while a thread that will send later is outside of MPI.

#define _GNU_SOURCE // beyond C11: usleep

#include <stdatomic.h>
#include <unistd.h>

#include "threads.h"

#define WORLD MPI_COMM_WORLD
#define SELF  MPI_COMM_SELF

enum { ROUNDS = 200, COUNT = 4, END = 999 };

// ---- self, outside

static void answers(team *of, int index)
{
    for (int i = 0; i < ROUNDS; i++) {
        int value = -1;
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, index, SELF, MPI_STATUS_IGNORE));
        CHECK_INT(value, i);
        value += of->rank;
        CHECK_OK(MPI_Send(&value, 1, MPI_INT, 0, 100 + index, SELF));
    }
}

static void self(void)
{
    team t = {.work = answers};
    team_start(&t, COUNT);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < COUNT; k++)
            CHECK_OK(MPI_Send(&i, 1, MPI_INT, 0, k, SELF));
        for (int k = COUNT - 1; k >= 0; k--) {
            int value = -1;
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 100 + k, SELF, MPI_STATUS_IGNORE));
            CHECK_INT(value, i + t.rank);
        }
    }
    team_join(&t);
}

static void sends_late(team *of, int index)
{
    usleep(700 * 1000); // long enough for anyone who looks for deadlocks
    CHECK_OK(MPI_Send(&index, 1, MPI_INT, 0, of->rank, SELF));
}

static void outside(void)
{
    team t = {.work = sends_late};
    int value = -1;
    team_start(&t, 1);
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, t.rank, SELF, MPI_STATUS_IGNORE));
    CHECK_INT(value, 0);
    team_join(&t);
}

// ---- order

static void waits_long(team *of, int index)
{
    char *big = must_alloc(1 << 20);
    MPI_Request r;
    int right = (of->rank + 1) % of->size, left = (of->rank + of->size - 1) % of->size;
    memset(big, 0, 1 << 20);
    for (int i = 0; i < ROUNDS / 10; i++) {
        CHECK_OK(MPI_Irecv(big, 1 << 20, MPI_BYTE, left, index, WORLD, &r));
        CHECK_OK(MPI_Send(&i, 1, MPI_INT, right, 50 + index, WORLD));
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        CHECK_PATTERN(big, 1 << 20, (unsigned)(i + left));
    }
    free(big);
}

// The thread's own wait is long over when the rank's thread has done its part.
static void order(void)
{
    team t = {.work = waits_long};
    char *big = must_alloc(1 << 20);
    team_start(&t, 1);
    int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    for (int i = 0; i < ROUNDS / 10; i++) {
        int value = -1, mine = i, other = -1;
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, left, 50, WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(value, i);
        for (int k = 0; k < 5; k++) {
            CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, right, 60, &other, 1, MPI_INT, left, 60, WORLD,
                                  MPI_STATUS_IGNORE));
            CHECK_INT(other, mine);
        }
        pattern_fill(big, 1 << 20, (unsigned)(i + t.rank));
        CHECK_OK(MPI_Send(big, 1 << 20, MPI_BYTE, right, 0, WORLD));
    }
    team_join(&t);
    free(big);
}

// ---- turns

static void blocks(team *of, int index)
{
    int left = (of->rank + of->size - 1) % of->size;
    for (int i = 0; i < ROUNDS; i++) {
        int value = -1;
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, left, index, WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(value, i * 10 + index);
    }
}

static void turns(void)
{
    team t = {.work = blocks};
    uint64_t random = 5;
    team_start(&t, COUNT);
    int right = (t.rank + 1) % t.size;
    for (int i = 0; i < ROUNDS; i++) {
        int first = random_below(&random, COUNT);
        for (int k = 0; k < COUNT; k++) {
            int to = (first + k) % COUNT, value = i * 10 + to;
            CHECK_OK(MPI_Send(&value, 1, MPI_INT, right, to, WORLD));
        }
        if (i % 20 == 0)
            usleep(3000); // so that whoever makes progress goes to sleep now and then
    }
    team_join(&t);
}

// ---- probe

static void takes(team *of, int index)
{
    _Atomic long *sum = of->data;
    (void)index;
    for (;;) {
        MPI_Message m;
        MPI_Status status;
        int value = -1;
        CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &m, &status));
        CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &m, MPI_STATUS_IGNORE));
        if (status.MPI_TAG == END)
            return;
        CHECK_INT(value, status.MPI_TAG);
        atomic_fetch_add(sum, value);
    }
}

static void probe(void)
{
    _Atomic long sum = 0;
    team t = {.work = takes, .data = &sum};
    long want = 0;
    team_start(&t, COUNT);
    int right = (t.rank + 1) % t.size;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(MPI_Send(&i, 1, MPI_INT, right, i, WORLD));
        want += i;
    }
    for (int k = 0; k < COUNT; k++) // messages do not overtake each other
        CHECK_OK(MPI_Send(&k, 1, MPI_INT, right, END, WORLD));
    team_join(&t);
    CHECK_INT(sum, want);
}

// ---- poll

static void polls_or_blocks(team *of, int index)
{
    int right = (of->rank + 1) % of->size, left = (of->rank + of->size - 1) % of->size;
    for (int i = 0; i < ROUNDS / 2; i++) {
        int value = -1, flag = 0;
        MPI_Request r;
        CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, left, index, WORLD, &r));
        CHECK_OK(MPI_Send(&i, 1, MPI_INT, right, index, WORLD));
        while (index % 2 == 0 && !flag)
            CHECK_OK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        CHECK_INT(value, i);
    }
}

static void poll(void)
{
    team t = {.work = polls_or_blocks};
    team_start(&t, 2 * COUNT);
    team_join(&t);
}

// ---- come and go

static void one_word(team *of, int index)
{
    int right = (of->rank + 1) % of->size, left = (of->rank + of->size - 1) % of->size, value = -1;
    CHECK_OK(MPI_Sendrecv(&index, 1, MPI_INT, right, index, &value, 1, MPI_INT, left, index, WORLD,
                          MPI_STATUS_IGNORE));
    CHECK_INT(value, index);
}

static void come_and_go(void)
{
    for (int i = 0; i < 50; i++) {
        team t = {.work = one_word};
        team_start(&t, COUNT);
        team_join(&t);
    }
}

// ---- errors

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int rank = -1, value = 0, class = -1;
    CHECK_OK(MPI_Error_class(*code, &class)); // and a call that waits
    CHECK_OK(MPI_Comm_rank(*comm, &rank));
    CHECK_OK(MPI_Sendrecv(&class, 1, MPI_INT, 0, 77, &value, 1, MPI_INT, 0, 77, SELF,
                          MPI_STATUS_IGNORE));
}

// A worker keeps the words of its last 254 errors. All threads of two ranks together make fewer: a thread that
// does not run for a while finds its own.
enum { ERRORS = 254 / (2 * COUNT * 3) };

static void fails(team *of, int index)
{
    for (int i = 0; i < ERRORS; i++) {
        char words[32];
        int wrong = of->size + 1000 * (index + 1) + i, value = 0, flag = 0;
        snprintf(words, sizeof words, "is %d,", wrong);
        CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, wrong, 0, WORLD), MPI_ERR_RANK, "MPI_Send", words);
        snprintf(words, sizeof words, "is %d,", -wrong);
        CHECK_ERROR(MPI_Recv(&value, -wrong, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE),
                    MPI_ERR_COUNT, "MPI_Recv", words);
        CHECK_ERROR(MPI_Iprobe(0, -wrong, WORLD, &flag, MPI_STATUS_IGNORE), MPI_ERR_TAG,
                    "MPI_Iprobe", words);
    }
}

static void errors(void)
{
    team t = {.work = fails};
    MPI_Errhandler handler;
    CHECK_OK(MPI_Comm_create_errhandler(on_error, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, handler));
    CHECK_OK(MPI_Errhandler_free(&handler));
    team_start(&t, COUNT);
    team_join(&t);
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        {"self", self},   {"outside", outside}, {"order", order},   {"turns", turns},
        {"probe", probe}, {"poll", poll},       {"errors", errors}, {"come-and-go", come_and_go}};
    CHECK(argc > 1);
    init_level(MPI_THREAD_MULTIPLE);
    int found = 0;
    for (int i = 0; i < COUNT_OF(all); i++)
        if (strcmp(all[i].name, argv[1]) == 0) {
            all[i].run();
            found++;
        }
    CHECK_INT(found, 1);
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Finalize());
    return 0;
}
