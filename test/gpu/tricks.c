// SPDX-License-Identifier: BSD-3-Clause
// Messages and calls whose data are in device memory, in odd order: each trick is a program of its own.
//
// tricks NAME
#include <signal.h>
#include <unistd.h>

#include "gpu_test.h"

enum { N = 100 };

static int *new_ints(kind kind, int first)
{
    int numbers[N], *at = get_memory(kind, sizeof numbers);
    for (int i = 0; i < N; i++)
        numbers[i] = first + i;
    write_memory(kind, at, numbers, sizeof numbers);
    return at;
}

static bool has_ints(kind kind, const int *at, int first, int n)
{
    int numbers[N];
    read_memory(kind, numbers, at, sizeof numbers);
    for (int i = 0; i < n; i++)
        if (numbers[i] != first + i)
            return false;
    return true;
}

// Small standard sends leave before anybody receives them, between neighbours in a ring.
static void kept(void)
{
    int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks, *at[20];
    for (int i = 0; i < 20; i++) {
        at[i] = new_ints(ON_DEVICE, 1000 * me + i);
        MPI_Send(at[i], N, MPI_INT, next, i, MPI_COMM_WORLD);
        drop_memory(ON_DEVICE, at[i]);
    }
    for (int i = 0; i < 20; i++) { // the last one first
        kind kind = i % 2 ? HOST : ON_DEVICE;
        int *to = new_ints(kind, -1), flag = 0;
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, 19 - i, MPI_COMM_WORLD, &status);
        MPI_Iprobe(last, 19 - i, MPI_COMM_WORLD, &flag, &status);
        CHECK(flag && status.MPI_SOURCE == last);
        MPI_Recv(to, N, MPI_INT, MPI_ANY_SOURCE, 19 - i, MPI_COMM_WORLD, &status);
        CHECK(has_ints(kind, to, 1000 * last + 19 - i, N));
        drop_memory(kind, to);
    }
}

static void modes(void)
{
    int other = me ^ 1, count, *from = new_ints(ON_DEVICE, 1000 * me),
        *to = new_ints(ON_DEVICE, -1);
    MPI_Request request[2];
    MPI_Status status[2];
    if (other < ranks) {
        MPI_Issend(from, N, MPI_INT, other, 1, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(to, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, status);
        CHECK(status[1].MPI_SOURCE == other && has_ints(ON_DEVICE, to, 1000 * other, N));
        MPI_Send_init(from, N / 2, MPI_INT, other, 2, MPI_COMM_WORLD, &request[0]);
        MPI_Recv_init(to, N, MPI_INT, other, 2, MPI_COMM_WORLD, &request[1]);
        for (int i = 0; i < 5; i++) {
            int *fresh = new_ints(HOST, 7 * i);
            write_memory(ON_DEVICE, from, fresh, N * sizeof(int));
            drop_memory(HOST, fresh);
            MPI_Startall(2, request);
            MPI_Waitall(2, request, status);
            MPI_Get_count(&status[1], MPI_INT, &count);
            CHECK(count == N / 2 && has_ints(ON_DEVICE, to, 7 * i, N / 2));
        }
        MPI_Request_free(&request[0]);
        MPI_Request_free(&request[1]);
        MPI_Sendrecv_replace(from, N, MPI_INT, other, 3, other, 3, MPI_COMM_WORLD, &status[0]);
        CHECK(has_ints(ON_DEVICE, from, 28, N));
        MPI_Message message;
        MPI_Isend(from, N, MPI_INT, other, 4, MPI_COMM_WORLD, &request[0]);
        MPI_Mprobe(other, 4, MPI_COMM_WORLD, &message, &status[0]);
        MPI_Mrecv(to, N, MPI_INT, &message, &status[0]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        CHECK(has_ints(ON_DEVICE, to, 28, N));
    }
    MPI_Send(from, N, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(to, N, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status[0]);
    MPI_Isend(from, N, MPI_INT, me, 5, MPI_COMM_WORLD, &request[0]);
    MPI_Recv(to, N, MPI_INT, me, 5, MPI_COMM_WORLD, &status[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    CHECK(has_ints(ON_DEVICE, to, 28, N) || other >= ranks);
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
}

static void truncation(void)
{
    int *from = new_ints(ON_DEVICE, 0), *to = new_ints(ON_DEVICE, -200), class = 0;
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Isend(from, N, MPI_INT, (me + 1) % ranks, 0, MPI_COMM_WORLD, &request);
    MPI_Error_class(
        MPI_Recv(to, 10, MPI_INT, (me + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        &class);
    CHECK(class == MPI_ERR_TRUNCATE && has_ints(ON_DEVICE, to, 0, 10));
    CHECK(has_ints(ON_DEVICE, to + 0, 0, 10) && !has_ints(ON_DEVICE, to, 0, 11));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
}

// Many times, as it is a race: what was cancelled has not come, and what was not has.
static void cancel(void)
{
    int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks, cancelled, flag;
    int *from = new_ints(ON_DEVICE, me), *to = new_ints(ON_DEVICE, -1);
    for (int i = 0; i < 30; i++) {
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(to, N, MPI_INT, last, 1000 + i, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(cancelled);
        (i % 2 ? MPI_Isend : MPI_Issend)(from, N, MPI_INT, next, i, MPI_COMM_WORLD, &request);
        for (int k = 0; k < i % 5; k++)
            MPI_Iprobe(last, 9999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        int theirs;
        MPI_Sendrecv(&cancelled, 1, MPI_INT, next, 500, &theirs, 1, MPI_INT, last, 500,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iprobe(last, i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(flag == !theirs);
        if (flag) {
            MPI_Recv(to, N, MPI_INT, last, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(has_ints(ON_DEVICE, to, last, N));
        }
    }
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
}

// Ranks that say different things of one call. The error is MPI's, and comes to all.
static void disagree(void)
{
    int *from = new_ints(ON_DEVICE, 0), *to = new_ints(ON_DEVICE, 0), class = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD); // all look from here on
    MPI_Error_class(MPI_Allreduce(from, to, me ? N : N / 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
                    &class);
    CHECK(class == MPI_ERR_TRUNCATE || class == MPI_ERR_ARG);
    if (me == 0)
        MPI_Error_class(MPI_Bcast(to, N, MPI_INT, 0, MPI_COMM_WORLD), &class);
    else
        MPI_Error_class(MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_TRUNCATE || class == MPI_ERR_ARG);
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
}

// Rank 0 never comes.
static void absent(void)
{
    int *from = new_ints(ON_DEVICE, 0), *to = new_ints(ON_DEVICE, 0);
    MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        MPI_Recv(to, N, MPI_INT, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void absent_nonblocking(void)
{
    int *from = new_ints(ON_DEVICE, 0), *to = new_ints(ON_DEVICE, 0);
    MPI_Request request;
    MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        MPI_Recv(to, N, MPI_INT, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iallreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// A synchronous send that nobody receives.
static void unreceived(void)
{
    int *from = new_ints(ON_DEVICE, 0);
    MPI_Ssend(from, N, MPI_INT, (me + 1) % ranks, 0, MPI_COMM_WORLD);
}

static void touch(void)
{
    volatile int *at = new_ints(ON_DEVICE, 0);
    printf("%d\n", at[1]);
}

// Arguments that are no buffers.
static void counts(void)
{
    int *none = new_ints(ON_DEVICE, 0), *from = new_ints(HOST, 0), *to = new_ints(HOST, 0);
    MPI_Alltoallv(from, none, none, MPI_INT, to, none, none, MPI_INT, MPI_COMM_WORLD);
}

static void requests(void)
{
    MPI_Waitall(2, (MPI_Request *)(void *)new_ints(ON_DEVICE, 0), MPI_STATUSES_IGNORE);
}

static void statuses(void)
{
    MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, (MPI_Status *)(void *)new_ints(ON_DEVICE, 0));
}

// All the program's calls, once.
static void all(void)
{
    int *from = new_ints(ON_DEVICE, me), *to = new_ints(ON_DEVICE, 0), *large;
    MPI_Datatype every;
    MPI_Allreduce(from, to, N, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(has_ints(ON_DEVICE, to, ranks - 1, N));
    MPI_Scan(from, to, N, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(has_ints(ON_DEVICE, to, me, N));
    large = get_memory(ON_DEVICE, N * N * sizeof(int));
    MPI_Type_vector(N, 1, 2, MPI_INT, &every);
    MPI_Type_commit(&every);
    int host[N];
    for (int i = 0; i < 2; i++) {
        MPI_Sendrecv(from, N, MPI_INT, (me + 1) % ranks, 0, large, 1, every,
                     (me + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(large, 1, every, (me + 1) % ranks, 0, host, N, MPI_INT,
                     (me + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(has_ints(HOST, host, (me + 2 * (ranks - 1)) % ranks, N));
    }
    MPI_Sendrecv(from, N, MPI_INT, (me + 1) % ranks, 0, host, N, MPI_INT, (me + ranks - 1) % ranks,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(has_ints(HOST, host, (me + ranks - 1) % ranks, N));
    MPI_Type_free(&every);
    drop_memory(ON_DEVICE, large);
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
}

// More small messages than a worker holds as a rule. What they take is told, so that the others wait.
static void flood(void)
{
    enum { MANY = 300 };
    int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks, *from = new_ints(ON_DEVICE, me);
    int *to = new_ints(ON_DEVICE, 0);
    MPI_Request request[MANY];
    for (int i = 0; i < MANY; i++)
        MPI_Isend(from, N, MPI_INT, next, i, MPI_COMM_WORLD, &request[i]);
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Recv(to, N, MPI_INT, last, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(has_ints(ON_DEVICE, to, last, N));
    MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
}

// The root of a reduction in place comes after many others.
static void late_operand(void)
{
    int *data = new_ints(ON_DEVICE, me), root = ranks - 1, found[N];
    MPI_Reduce(me == root ? MPI_IN_PLACE : data, data, N, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    read_memory(ON_DEVICE, found, data, sizeof found);
    for (int i = 0; i < N && me == root; i++)
        CHECK(found[i] == ranks * (ranks - 1) / 2 + ranks * i);
    drop_memory(ON_DEVICE, data);
}

// A small copy that tells its end, and steps after it that do not: the call waits for all of them.
static void scans(void)
{
    int *from = new_ints(ON_DEVICE, me), *to;
    for (int i = 0; i < 10; i++) {
        to = new_ints(MANAGED, -1); // of which the processor sees at once what is there
        MPI_Scan(from, to, N, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        CHECK(has_ints(MANAGED, to, me, N));
        drop_memory(MANAGED, to);
    }
    drop_memory(ON_DEVICE, from);
}

// Addresses that the datatype says: MPI_BOTTOM is NULL, but not nothing.
static void absolute(void)
{
    int *from = new_ints(ON_DEVICE, 1000 * me),
        *to = get_memory(ON_DEVICE, sizeof(int) * N * (size_t)ranks);
    MPI_Aint at;
    MPI_Datatype type;
    MPI_Get_address(from, &at);
    MPI_Type_create_hindexed(1, &(int){N}, &at, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Allgather(MPI_BOTTOM, 1, type, to, N, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        CHECK(has_ints(ON_DEVICE, to + (ptrdiff_t)r * N, 1000 * r, N));
    MPI_Bcast(MPI_BOTTOM, 1, type, ranks - 1, MPI_COMM_WORLD);
    CHECK(has_ints(ON_DEVICE, from, 1000 * (ranks - 1), N));
    MPI_Scatter(to, N, MPI_INT, MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
    CHECK(has_ints(ON_DEVICE, from, 1000 * me, N));
    MPI_Type_free(&type);
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
}

// Two messages that are copied together, the second one backwards between host and device.
static void every_shape(void)
{
    MPI_Datatype backwards;
    int *from = new_ints(ON_DEVICE, 0), *to = new_ints(ON_DEVICE, -1), *host = new_ints(HOST, -1);
    MPI_Request request[4];
    MPI_Type_create_hvector(N, 1, -(MPI_Aint)sizeof(int), MPI_INT, &backwards);
    MPI_Type_commit(&backwards);
    for (int i = 0; i < 5; i++) {
        MPI_Irecv(to, N, MPI_INT, me, 0, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(host, N, MPI_INT, me, 1, MPI_COMM_WORLD, &request[1]);
        MPI_Isend(from, 1, MPI_INT, me, 0, MPI_COMM_WORLD, &request[2]);
        MPI_Isend(from + N - 1, 1, backwards, me, 1, MPI_COMM_WORLD, &request[3]);
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
        for (int k = 0; k < N; k++)
            CHECK(host[k] == N - 1 - k);
        memset(host, 0, N * sizeof(int));
        MPI_Irecv(host + N - 1, 1, backwards, me, 1, MPI_COMM_WORLD, &request[1]);
        MPI_Irecv(to, N, MPI_INT, me, 0, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(from, N, MPI_INT, me, 0, MPI_COMM_WORLD, &request[2]);
        MPI_Isend(from, N, MPI_INT, me, 1, MPI_COMM_WORLD, &request[3]);
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
        for (int k = 0; k < N; k++)
            CHECK(host[k] == N - 1 - k);
    }
    MPI_Type_free(&backwards);
    free(host);
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
}

static void on_fault(int number)
{
    (void)number;
    static const char words[] = "the program's own handler\n";
    (void)!write(1, words, sizeof words - 1);
    _exit(3);
}

// Memory that was the host's becomes a device's, and the program catches SIGSEGV itself.
static void handler(void)
{
    int *host = new_ints(HOST, 5), *to = new_ints(HOST, 0);
    MPI_Sendrecv(host, N, MPI_INT, me, 0, to, N, MPI_INT, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    signal(SIGSEGV, on_fault);
    for (int i = 0; i < 20; i++) {
        int *from = new_ints(ON_DEVICE, i);
        MPI_Sendrecv(from, N, MPI_INT, me, 0, to, N, MPI_INT, me, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(has_ints(HOST, to, i, N));
    }
    free(host);
}

#define TRICK(name)                                                                                \
    {                                                                                              \
#name, name                                                                                \
    }
static const struct {
    const char *name;
    void (*run)(void);
} tricks[] = {TRICK(kept),
              TRICK(modes),
              TRICK(truncation),
              TRICK(cancel),
              TRICK(disagree),
              TRICK(absent),
              TRICK(absent_nonblocking),
              TRICK(unreceived),
              TRICK(touch),
              TRICK(counts),
              TRICK(requests),
              TRICK(statuses),
              TRICK(all),
              TRICK(handler),
              TRICK(flood),
              TRICK(late_operand),
              TRICK(scans),
              TRICK(absolute),
              TRICK(every_shape)};

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (size_t i = 0; argc == 2 && i < sizeof tricks / sizeof *tricks; i++)
        if (strcmp(tricks[i].name, argv[1]) == 0)
            tricks[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("right\n");
    MPI_Finalize();
    return 0;
}
