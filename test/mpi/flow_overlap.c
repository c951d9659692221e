// SPDX-License-Identifier: BSD-3-Clause
// Reductions of long elements go on while a module computes, and nobody else's code runs meanwhile.
//
//   flow_overlap away    an instance that has contributed computes until all others have the
//                        result, for which they need its worker
//   flow_overlap mix     what modules do between their calls: nothing, computing, calls of flow
//                        that come back at once, csp, processes
//   flow_overlap mpi     MPI from MPI_Init on, while the helper has the worker
//   flow_overlap own     the same with an operation of the program's own, which runs on the
//                        instances' thread
//   flow_overlap waits   an operation that lets others run: that is told
//   flow_overlap exit    exit(0) while the helper has the worker
#define _POSIX_C_SOURCE 200809L // nanosleep
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "flow_check.h"

enum { COUNT = 64 << 10, LONG = 20, ROUNDS = 12 };

typedef struct Adds {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, out;
    } q;
} Adds;

static bool is(const Adds *my, const char *what)
{
    return my->flow.argc > 1 && strcmp(my->flow.argv[1], what) == 0;
}

static void fill(const Adds *my, long *data, long round)
{
    for (long k = 0; k < COUNT; k++)
        data[k] = my->flow.index + round * k;
}

static void check(const Adds *my, const long *got, size_t count, long round)
{
    long n = my->flow.count;
    CHECK(count == COUNT);
    for (long k = 0; k < COUNT; k++)
        CHECK(got[k] == n * (n - 1) / 2 + n * round * k);
}

// ---- away

// `job`: the first result, which is the process of the first instance: ranks of other hosts have
// other parents.
static char *sign_of(long job, long index, char *path, size_t size)
{
    snprintf(path, size, "/tmp/flow_overlap.%ld.%ld", job, index);
    return path;
}

static bool all_have_it(const Adds *my, long job)
{
    char path[64];
    bool all = true;
    for (long i = 1; i < my->flow.count; i++)
        all &= access(sign_of(job, i, path, sizeof path), F_OK) == 0;
    return all;
}

static void away(Adds *my, long *data)
{
    char path[64];
    const long *got;
    size_t count;
    long job = 0;
    for (long round = 0; round < 2; round++) { // the first one to meet
        fill(my, data, round);
        if (round == 0)
            data[0] = my->flow.index == 0 ? (long)getpid() : 0;
        flow_send(my, data, COUNT);
        bool told = true;
        if (my->flow.index == 0 && round == 1) {
            csp_time end = csp_now() + LONG * INT64_C(1000000000);
            while (!(told = all_have_it(my, job)) && csp_now() < end) {
            }
        }
        CHECK(told);
        CHECK(flow_dequeue(my, &got, &count));
        if (round == 0) {
            CHECK(count == COUNT);
            job = got[0];
            continue;
        }
        check(my, got, count, round);
        if (my->flow.index != 0)
            CHECK(creat(sign_of(job, my->flow.index, path, sizeof path), 0600) >= 0);
    }
    for (long i = 1; my->flow.index == 0 && i < my->flow.count; i++)
        unlink(sign_of(job, i, path, sizeof path));
}

// ---- mix

// Counted by all instances of a worker, without a lock: they share a thread.
static _Thread_local long beside;

static int answer(void *arg)
{
    beside++;
    return *(int *)arg + 1;
}

static void compute(long ns)
{
    csp_time end = csp_now() + ns;
    while (csp_now() < end)
        beside++;
}

static void between(Adds *my, long round)
{
    long *extra;
    int one = 1;
    switch ((round + my->flow.index) % 6) {
    case 1:
        compute(300000);
        break;
    case 2:
        extra = flow_new(my, 100000);
        compute(100000);
        flow_free(extra);
        compute(100000);
        break;
    case 3:
        compute(100000);
        csp_yield();
        compute(100000);
        break;
    case 4:
        compute(60000);
        CHECK(csp_join(csp_fork(answer, &one, "answer")) == 2);
        compute(60000);
        break;
    case 5:
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        break;
    default:
        break;
    }
}

static void mix(Adds *my, long *data)
{
    const long *got;
    size_t count;
    for (long round = 0; round < ROUNDS; round++) {
        bool gives =
            (round + my->flow.index) % 4 == 3; // what is given is combined by the part only
        long *own = gives ? flow_new(my, COUNT) : data;
        fill(my, own, round);
        CHECK(gives ? flow_give(my, own, COUNT) : flow_send(my, own, COUNT));
        memset(data, 0x5a, COUNT * sizeof *data); // it is the module's again
        between(my, round);
        if (round % 3 == 2)
            for (long back = 2; back >= 0; back--) {
                CHECK(flow_dequeue(my, &got, &count));
                check(my, got, count, round - back);
                between(my, round + back);
            }
    }
    CHECK(!is(my, "own") || beside > 0);
}

// ---- mpi

// Messages round the ring of ranks.
static void talk(void)
{
    enum { MESSAGES = 2000, INTS = 500 };
    int out[INTS] = {0}, in[INTS];
    int size, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < MESSAGES; i++) {
        out[0] = rank * MESSAGES + i;
        out[INTS - 1] = i;
        MPI_Sendrecv(out, INTS, MPI_INT, next, i, in, INTS, MPI_INT, last, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(in[0] == last * MESSAGES + i && in[INTS - 1] == i);
    }
}

static void mpi(Adds *my, long *data)
{
    const long *got;
    size_t count;
    long rounds = 6;
    for (long round = 0; round < rounds; round++) {
        fill(my, data, round);
        flow_send(my, data, COUNT);
    }
    compute(300000 * my->flow.index); // some are later: then the others' data is under way
    int inited;
    MPI_Initialized(&inited);
    CHECK(!inited);
    MPI_Init(NULL, NULL);
    talk();
    for (long round = 0; round < rounds; round++) {
        CHECK(flow_dequeue(my, &got, &count));
        check(my, got, count, round);
    }
}

static int Adds_run(Adds *my)
{
    long *data = malloc(COUNT * sizeof *data);
    if (is(my, "away")) {
        away(my, data);
    } else if (is(my, "mpi")) {
        mpi(my, data);
    } else if (is(my, "exit")) {
        fill(my, data, 1);
        flow_send(my, data, COUNT);
        if (my->flow.index == 1) {
            compute(1000000);
            exit(0);
        }
    } else {
        mix(my, data);
    }
    free(data);
    return 0;
}

MODULE(Adds, IN_LONG(Adds, in, 0), OUT_LONG(Adds, out, 0));

// It may use what modules use: it runs where they do.
static void add(void *into, const void *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((long *)into)[i] += ((const long *)with)[i];
    beside++;
}

static void add_and_wait(void *into, const void *with, size_t count)
{
    add(into, with, count);
    csp_yield();
}

static const flow_op own = {
    .name = "add", .combine = add, .kind = FLOW_LONG, .type = "long", .bytes = sizeof(long)};
static const flow_op waits = {.name = "add_and_wait",
                              .combine = add_and_wait,
                              .kind = FLOW_LONG,
                              .type = "long",
                              .bytes = sizeof(long)};
static const flow_op sum = {.name = "sum"};

static void wire_with(flow_wiring *w, const flow_op *op)
{
    int n = csp_nodes(), count = n > 1 ? n : 2;
    flow_part a = ALL(flow_add(w, __LINE__, "a", &Adds_module, FLOW_COUNT(count)));
    flow_part r = ALL(flow_add(w, __LINE__, "r", &flow_Reduce, -1));
    r.op = op;
    WIRE(w, a, r);
    for (long i = 0; n > 1 && i < n; i++) {
        char where[24];
        flow_part one = AT(a.vector, i);
        snprintf(where, sizeof where, "%ld", i);
        flow_place(w, __LINE__, &one, 1, where);
    }
}

static void wire(flow_wiring *w)
{
    wire_with(w, &sum);
}

static void wire_own(flow_wiring *w)
{
    wire_with(w, &own);
}

static void wire_waits(flow_wiring *w)
{
    wire_with(w, &waits);
}

int main(int argc, char **argv)
{
    static const flow_root roots[] = {
        {.name = "Main", .file = __FILE__, .line = 1, .wire = wire},
        {.name = "Own", .file = __FILE__, .line = 1, .wire = wire_own},
        {.name = "Waits", .file = __FILE__, .line = 1, .wire = wire_waits},
    };
    const char *what = argc > 1 ? argv[1] : "";
    int which = strcmp(what, "own") == 0 ? 1 : strcmp(what, "waits") == 0 ? 2 : 0;
    int status = flow_main(argc, argv, &roots[which], NULL);
    if (strcmp(what, "mpi") == 0)
        MPI_Finalize();
    return status;
}
