// SPDX-License-Identifier: BSD-3-Clause
// Collective calls on device memory by several processes of a host, of which one copies for all. Each
// trick is a program of its own.
//
// processes NAME
#include <unistd.h>

#include "gpu_test.h"

enum { N = 600, ROUNDS = 300 };

static OWN int *from, *to, *wide; // N ints each; wide: N a rank
static OWN bool copies;           // this process is the one

static void make_buffers(void)
{
    from = get_memory(ON_DEVICE, N * sizeof(int));
    to = get_memory(ON_DEVICE, N * sizeof(int));
    wide = get_memory(ON_DEVICE, N * sizeof(int) * (size_t)ranks);
}

static void drop_buffers(void)
{
    drop_memory(ON_DEVICE, from);
    drop_memory(ON_DEVICE, to);
    drop_memory(ON_DEVICE, wide);
}

static void set_ints(kind kind, int *at, int n, int first)
{
    int *numbers = malloc(sizeof(int) * (size_t)n);
    for (int i = 0; i < n; i++)
        numbers[i] = first + i;
    write_memory(kind, at, numbers, sizeof(int) * (size_t)n);
    free(numbers);
}

// at[i] is first + i * step.
static bool has_ints(kind kind, const int *at, int n, int first, int step)
{
    int *numbers = malloc(sizeof(int) * (size_t)n), i = 0;
    read_memory(kind, numbers, at, sizeof(int) * (size_t)n);
    while (i < n && numbers[i] == first + i * step)
        i++;
    free(numbers);
    return i == n;
}

// How many the own device was given: the stand-in counts them; of a real one nobody knows.
static unsigned long long operations(void)
{
    return stand_in_operations ? stand_in_operations() : 0;
}

// What the processes that do not copy have given their devices since.
static int others_did(unsigned long long before)
{
    int own = copies ? 0 : (int)(operations() - before), all;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static int sum_of_ranks(int size)
{
    return size * (size - 1) / 2;
}

static void reduce_all(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    set_ints(ON_DEVICE, from, N, rank);
    set_ints(ON_DEVICE, to, N, -7);
    MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, comm);
    CHECK(has_ints(ON_DEVICE, to, N, sum_of_ranks(size), size));
}

// Calls until one process copies for all.
static void meet(void)
{
    int pid = getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    copies = pid == getpid();
    make_buffers();
    for (int i = 0; i < ROUNDS; i++) {
        set_ints(ON_DEVICE, from, N, me);
        MPI_Barrier(MPI_COMM_WORLD);
        unsigned long long before = operations();
        MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (others_did(before) == 0)
            return;
    }
    printf("rank %d: no call was taken\n", me);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// One call after the other: nobody but the copier uses the device.
#define ALONE(call)                                                                                \
    do {                                                                                           \
        MPI_Barrier(MPI_COMM_WORLD);                                                               \
        unsigned long long before = operations();                                                  \
        call;                                                                                      \
        bool none = copies && stand_in_operations && operations() == before;                       \
        int did = others_did(before);                                                              \
        if (did || none)                                                                           \
            printf("rank %d: %s: %d operations of others\n", me, #call, did);                      \
        CHECK(!did && !none);                                                                      \
    } while (0)

static void each_call(int root)
{
    MPI_Request request;
    set_ints(ON_DEVICE, from, N, me == root ? 50 : -1);
    ALONE(MPI_Bcast(from, N, MPI_INT, root, MPI_COMM_WORLD));
    CHECK(has_ints(ON_DEVICE, from, N, 50, 1));
    set_ints(ON_DEVICE, from, N, N * me);
    set_ints(ON_DEVICE, wide, N * ranks, -1);
    ALONE(MPI_Gather(from, N, MPI_INT, wide, N, MPI_INT, root, MPI_COMM_WORLD));
    CHECK(me != root || has_ints(ON_DEVICE, wide, N * ranks, 0, 1));
    ALONE(MPI_Scatter(wide, N, MPI_INT, to, N, MPI_INT, root, MPI_COMM_WORLD));
    CHECK(has_ints(ON_DEVICE, to, N, N * me, 1));
    set_ints(ON_DEVICE, wide, N * ranks, -1);
    ALONE(MPI_Allgather(from, N, MPI_INT, wide, N, MPI_INT, MPI_COMM_WORLD));
    CHECK(has_ints(ON_DEVICE, wide, N * ranks, 0, 1));
    int *blocks = get_memory(ON_DEVICE, N * sizeof(int) * (size_t)ranks);
    set_ints(ON_DEVICE, wide, ranks, 100 * me);
    ALONE(MPI_Alltoall(wide, 1, MPI_INT, blocks, 1, MPI_INT, MPI_COMM_WORLD));
    CHECK(has_ints(ON_DEVICE, blocks, ranks, me, 100));
    drop_memory(ON_DEVICE, blocks);
    set_ints(ON_DEVICE, from, N, me);
    ALONE(MPI_Reduce(from, to, N, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    CHECK(me != root || has_ints(ON_DEVICE, to, N, sum_of_ranks(ranks), ranks));
    ALONE(MPI_Reduce(me == root ? MPI_IN_PLACE : from, from, N, MPI_INT, MPI_SUM, root,
                     MPI_COMM_WORLD));
    CHECK(has_ints(ON_DEVICE, from, N, me == root ? sum_of_ranks(ranks) : me,
                   me == root ? ranks : 1));
    set_ints(ON_DEVICE, from, N, me);
    ALONE(MPI_Scan(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(has_ints(ON_DEVICE, to, N, sum_of_ranks(me + 1), me + 1));
    ALONE(MPI_Allreduce(MPI_IN_PLACE, from, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(has_ints(ON_DEVICE, from, N, sum_of_ranks(ranks), ranks));
    set_ints(ON_DEVICE, from, N, me);
    ALONE((MPI_Iallreduce(from, to, N, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request),
           MPI_Wait(&request, MPI_STATUS_IGNORE)));
    CHECK(has_ints(ON_DEVICE, to, N, ranks - 1, 1));
}

static void alone(void)
{
    meet();
    for (int root = 0; root<ranks; root += ranks> 1 ? ranks - 1 : 1)
        each_call(root);
    MPI_Allreduce(from, to, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(from, 0, MPI_INT, 0, MPI_COMM_WORLD);
    drop_buffers();
    make_buffers(); // other allocations, perhaps at the same addresses
    each_call(0);
    drop_buffers();
}

// The same buffers and calls, whatever ranks can do.
static void anyhow(void)
{
    make_buffers();
    for (int i = 0; i < 20; i++) {
        reduce_all(MPI_COMM_WORLD);
        set_ints(ON_DEVICE, from, N, me == i % ranks ? i : -1);
        MPI_Bcast(from, N, MPI_INT, i % ranks, MPI_COMM_WORLD);
        CHECK(has_ints(ON_DEVICE, from, N, i, 1));
    }
    drop_buffers();
}

// Memory of a pool, which no other process can open: of all ranks, and of some.
static void pools(void)
{
    meet();
    for (int i = 0; i < 20; i++) {
        cu_ptr pool = 0;
        bool mine = i < 10 || (me + i) % 3 == 0;
        FINE(cuMemAllocAsync(&pool, N * sizeof(int), NULL));
        FINE(cuStreamSynchronize(NULL));
        int *at = mine ? (int *)(uintptr_t)pool : from;
        set_ints(ON_DEVICE, at, N, me);
        MPI_Allreduce(at, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_ints(ON_DEVICE, to, N, sum_of_ranks(ranks), ranks));
        FINE(cuMemFreeAsync(pool, NULL));
    }
    each_call(0);
    drop_buffers();
}

// Each rank begins to use device memory at a call of its own.
static void later(void)
{
    make_buffers();
    for (int i = 0; i < 6 * ranks; i++) {
        kind kind = i >= 3 * ((me + 1) % ranks) ? ON_DEVICE : HOST;
        int *data = get_memory(kind, N * sizeof(int));
        set_ints(kind, data, N, me == i % ranks ? i : -1);
        MPI_Bcast(data, N, MPI_INT, i % ranks, MPI_COMM_WORLD);
        CHECK(has_ints(kind, data, N, i, 1));
        drop_memory(kind, data);
    }
    drop_buffers();
    meet();
    each_call(0);
    drop_buffers();
}

// Once one copies for all, ranks choose their memory by chance, and what they call, too.
static void mixed(void)
{
    uint64_t chance = (uint64_t)me * 7919;
    meet();
    for (int i = 0; i < 100; i++) {
        kind in = (kind)draw(&chance, 4 * KINDS), out = (kind)draw(&chance, 4 * KINDS);
        in = in < KINDS && i % 3 ? in : ON_DEVICE;
        out = out < KINDS && i % 3 ? out : ON_DEVICE;
        int *a = get_memory(in, N * sizeof(int)), *b = get_memory(out, N * sizeof(int));
        set_ints(in, a, N, me);
        if (i % 7 == 6) {
            MPI_Barrier(MPI_COMM_WORLD);
        } else if (i % 7 == 5) {
            int one = 1, all;
            MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            CHECK(all == ranks);
        }
        MPI_Allreduce(a, b, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_ints(out, b, N, sum_of_ranks(ranks), ranks));
        drop_memory(in, a);
        drop_memory(out, b);
    }
    each_call(ranks - 1);
    drop_buffers();
}

// Many calls at once, of which some go the ordinary way; rank 0, or another one, is far ahead.
static void ahead(void)
{
    enum { MANY = 40 };
    int *data[MANY], *sums[MANY];
    MPI_Request request[2 * MANY];
    meet();
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < MANY; i++) {
            kind kind = round == 3 && i % 5 == me % 5 ? HOST : ON_DEVICE;
            data[i] = get_memory(kind, N * sizeof(int));
            sums[i] = get_memory(ON_DEVICE, N * sizeof(int));
            set_ints(kind, data[i], N, me == round % ranks ? i : -1);
            set_ints(ON_DEVICE, sums[i], N, me);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (me != round % ranks)
            for (int i = 0; i < 3000; i++) {
                int flag;
                MPI_Iprobe(me, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            }
        for (int i = 0; i < MANY; i++) {
            MPI_Ibcast(data[i], N, MPI_INT, round % ranks, MPI_COMM_WORLD, &request[2 * i]);
            MPI_Iallreduce(MPI_IN_PLACE, sums[i], N, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                           &request[2 * i + 1]);
        }
        if (round % 2)
            MPI_Waitall(2 * MANY, request, MPI_STATUSES_IGNORE);
        for (int i = 2 * MANY; round % 2 == 0 && i-- > 0;) // the last one first
            MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        for (int i = 0; i < MANY; i++) {
            kind kind = round == 3 && i % 5 == me % 5 ? HOST : ON_DEVICE;
            CHECK(has_ints(kind, data[i], N, i, 1));
            CHECK(has_ints(ON_DEVICE, sums[i], N, sum_of_ranks(ranks), ranks));
            drop_memory(kind, data[i]);
            drop_memory(ON_DEVICE, sums[i]);
        }
    }
    drop_buffers();
}

// A great many small ones, of which each rank has some in host memory by chance: whatever way a call goes, a
// rank's calls begin in order.
static void order(void)
{
    enum { MANY = 250 };
    static OWN int host[2 * MANY];
    uint64_t chance = (uint64_t)me * 104729;
    MPI_Request request[3 * MANY];
    int *data[2 * MANY], *device = get_memory(ON_DEVICE, sizeof host);
    MPI_Comm comm;
    meet();
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 2 * MANY; i++)
            data[i] = (round < 2 || draw(&chance, 2) ? device : host) + i;
        set_ints(ON_DEVICE, device, 2 * MANY, 5);
        for (int i = 0; i < 2 * MANY; i++)
            host[i] = 5 + i;
        if (round % 2 && me == 0)
            usleep(2000);
        for (int i = 0; i < MANY; i++) {
            MPI_Ibarrier(comm, &request[3 * i]);
            MPI_Iallreduce(MPI_IN_PLACE, data[2 * i], 1, MPI_INT, MPI_SUM, comm,
                           &request[3 * i + 1]);
            MPI_Ibcast(data[2 * i + 1], 1, MPI_INT, 1 % ranks, comm, &request[3 * i + 2]);
        }
        MPI_Waitall(3 * MANY, request, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++) {
            kind one = data[2 * i] == host + 2 * i ? HOST : ON_DEVICE;
            CHECK(has_ints(one, data[2 * i], 1, (5 + 2 * i) * ranks, 0));
        }
    }
    MPI_Comm_free(&comm);
    drop_memory(ON_DEVICE, device);
    drop_buffers();
}

// Communicators that come and go, and have each other's context numbers.
static void split(void)
{
    meet();
    for (int i = 0; i < 40; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? me % 2 : me < ranks - 1, i % 2 ? -me : me, &comm);
        for (int k = 0; k < i % 5; k++)
            reduce_all(comm);
        if (i % 4 == 1) {
            MPI_Request request;
            set_ints(ON_DEVICE, from, N, 1);
            MPI_Iallreduce(from, to, N, MPI_INT, MPI_MAX, comm, &request);
            MPI_Comm_free(&comm);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(has_ints(ON_DEVICE, to, N, 1, 1));
        } else {
            MPI_Comm_free(&comm);
        }
    }
    reduce_all(MPI_COMM_SELF);
    each_call(0);
    drop_buffers();
}

// Rules change while calls are under way of which nobody knows yet who takes them.
static void rules(void)
{
    MPI_Info info;
    MPI_Request request[8];
    int *host = get_memory(HOST, N * sizeof(int));
    meet();
    MPI_Info_create(&info);
    for (int i = 0; i < 20; i++) {
        bool mine = i % ranks == me;
        set_ints(ON_DEVICE, from, N, me);
        set_ints(HOST, host, N, me);
        for (int k = 0; k < 8; k++)
            MPI_Iallreduce(mine && k % 2 ? host : from, wide, N / 8, MPI_INT, MPI_SUM,
                           MPI_COMM_WORLD, &request[k]);
        MPI_Info_set(info, "millet_coll_allreduce", i % 2 ? "recursive_doubling" : "ring");
        MPI_Comm_set_info(MPI_COMM_WORLD, info);
        MPI_Waitall(8, request, MPI_STATUSES_IGNORE);
        CHECK(has_ints(ON_DEVICE, wide, N / 8, sum_of_ranks(ranks), ranks));
    }
    MPI_Info_free(&info);
    free(host);
    drop_buffers();
}

// The last rank is driverless.c.
static void driverless(void)
{
    make_buffers();
    for (int i = 0; i < 20; i++) {
        set_ints(ON_DEVICE, from, N, me);
        MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_ints(ON_DEVICE, to, N, sum_of_ranks(ranks), ranks));
        set_ints(ON_DEVICE, from, N, me == i % ranks ? i : -1);
        MPI_Bcast(from, N, MPI_INT, i % ranks, MPI_COMM_WORLD);
        CHECK(has_ints(ON_DEVICE, from, N, i, 1));
    }
    drop_buffers();
}

static int class_of(int code)
{
    int class = 0;
    MPI_Error_class(code, &class);
    return class;
}

// Ranks that say different things of one call: the error is MPI's, and comes to all.
static void disagree(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    meet();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Allreduce(from, to, me == 1 ? N : N / 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Error_string(code, text, &length);
    CHECK(class_of(code) == MPI_ERR_TRUNCATE &&
          strstr(text, "ranks 0 and 1 gave different numbers of bytes"));
    code = MPI_Allreduce(from, to, N, MPI_INT, me == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    MPI_Error_string(code, text, &length);
    CHECK(class_of(code) == MPI_ERR_TRUNCATE && strstr(text, "different operations"));
    code = MPI_Bcast(to, N, MPI_INT, me == 1, MPI_COMM_WORLD);
    MPI_Error_string(code, text, &length);
    CHECK(class_of(code) == MPI_ERR_TRUNCATE && strstr(text, "different roots"));
    code = me == 1 ? MPI_Scan(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                   : MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Error_string(code, text, &length);
    CHECK(class_of(code) == MPI_ERR_TRUNCATE && strstr(text, "different functions"));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    each_call(0);
    drop_buffers();
}

// Rank 0 calls with host memory, and fewer of them: the ordinary schedules find it.
static void disagree_ordinary(void)
{
    int host[N] = {0};
    meet();
    MPI_Allreduce(me ? from : host, me ? to : host + N / 2, me ? N : N / 2, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Rank 1 never comes.
static void absent(void)
{
    meet();
    if (me == 1)
        MPI_Recv(to, N, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

// Operations that a device has, has not, and that are the program's.
static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void operators(void)
{
    MPI_Op own;
    meet();
    MPI_Op_create(add, 1, &own);
    for (int i = 0; i < 10; i++) {
        set_ints(ON_DEVICE, from, N, me);
        MPI_Allreduce(from, to, N, MPI_INT, own, MPI_COMM_WORLD);
        CHECK(has_ints(ON_DEVICE, to, N, sum_of_ranks(ranks), ranks));
        reduce_all(MPI_COMM_WORLD);
    }
    MPI_Op_free(&own);
    drop_buffers();
}

// With --reproducible: sums that depend on the order of addition, from the first call to the last.
static void bits(void)
{
    double first[N / 2] = {0}, sum[N / 2];
    make_buffers();
    for (int i = 0; i < 30; i++) {
        double own[N / 2];
        for (int k = 0; k < N / 2; k++)
            own[k] = 1.0 / (1 + k + 7 * me);
        write_memory(ON_DEVICE, from, own, sizeof own);
        MPI_Allreduce(from, to, N / 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        read_memory(ON_DEVICE, sum, to, sizeof sum);
        if (i == 0)
            memcpy(first, sum, sizeof sum);
        CHECK(memcmp(first, sum, sizeof sum) == 0);
        MPI_Allreduce(own, sum, N / 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); // as the host's
        CHECK(memcmp(first, sum, sizeof sum) == 0);
    }
    drop_buffers();
}

#define TRICK(name)                                                                                \
    {                                                                                              \
#name, name                                                                                \
    }
static const struct {
    const char *name;
    void (*run)(void);
} tricks[] = {
    TRICK(alone),  TRICK(anyhow),    TRICK(pools), TRICK(later),      TRICK(mixed),
    TRICK(ahead),  TRICK(split),     TRICK(rules), TRICK(disagree),   TRICK(disagree_ordinary),
    TRICK(absent), TRICK(operators), TRICK(bits),  TRICK(driverless), TRICK(order)};

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
