// SPDX-License-Identifier: BSD-3-Clause
// Calls on device memory that no other program here makes: packing, buffers of MPI_Bsend, replacing,
// partitions, neighbours, two groups, jobs that were spawned, threads without a context.
#include <pthread.h>
#include <sys/mman.h>

#include "on_device.h"

enum { N = 2000, TAG = 5 };

static int rank, size, next, before;

static int *numbers(int from, int count)
{
    int *list = malloc((size_t)count * sizeof *list);
    for (int i = 0; i < count; i++)
        list[i] = from + i;
    return list;
}

static bool is_row(const void *device, int from, int count)
{
    int *seen = malloc((size_t)count * sizeof *seen);
    bool same = true;
    device_copy(seen, device, (size_t)count * sizeof *seen);
    for (int i = 0; i < count; i++)
        same = same && seen[i] == from + i;
    free(seen);
    return same;
}

// ---- packing: either side, with and without gaps

static void test_pack(bool external, bool in, bool packed, int stride)
{
    MPI_Datatype type;
    MPI_Aint at = 4, at_back = 4, room = 4;
    int position = 4, position_back = 4, bytes = N * (int)sizeof(int);
    size_t span = (size_t)N * (size_t)stride * sizeof(int);
    int *list = numbers(7, N * stride), *seen = malloc(span);
    memset(seen, 0, span);
    void *from = any_copy(in, list, span), *to = any_copy(in, seen, span);
    char *between = any_new(packed, (size_t)bytes + 4);
    MPI_Type_vector(N, 1, stride, MPI_INT, &type);
    MPI_Type_commit(&type);
    room += bytes;
    if (external) {
        MPI_Pack_external("external32", from, 1, type, between, room, &at);
        MPI_Unpack_external("external32", between, room, &at_back, to, 1, type);
        CHECK(at == room && at_back == room);
    } else {
        MPI_Pack(from, 1, type, between, bytes + 4, &position, MPI_COMM_WORLD);
        MPI_Unpack(between, bytes + 4, &position_back, to, 1, type, MPI_COMM_WORLD);
        CHECK(position == room && position_back == room);
    }
    unsigned char first[4], want[4] = {0, 0, 0, 7};
    int seven = 7;
    device_copy(first, between + 4, sizeof first);
    CHECK(memcmp(first, external ? (void *)want : (void *)&seven, sizeof first) == 0);
    device_copy(seen, to, span);
    for (int i = 0; i < N * stride; i++)
        CHECK(seen[i] == (i % stride ? 0 : list[i]));
    MPI_Type_free(&type);
    any_free(in, from);
    any_free(in, to);
    any_free(packed, between);
    free(list);
    free(seen);
}

// ---- buffered sends

static void test_buffers(void)
{
    enum { ROOM = 4 * N + 4096 };
    void *device = device_new(ROOM), *none;
    int *list = numbers(rank, N), *buf = any_copy(true, list, N * sizeof *list), class, length;
    char text[MPI_MAX_ERROR_STRING];
    cu_ptr managed;
    MPI_Comm comm;
    MPI_Session session;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    int codes[] = {MPI_Buffer_attach(device, ROOM), MPI_Comm_attach_buffer(comm, device, ROOM),
                   MPI_Session_attach_buffer(session, device, ROOM)};
    for (int i = 0; i < 3; i++) {
        MPI_Error_class(codes[i], &class);
        MPI_Error_string(codes[i], text, &length);
        CHECK(class == MPI_ERR_BUFFER && strstr(text, "argument buffer is memory of GPU 0, but "));
    }
    // The processor may touch this one.
    FINE(cuMemAllocManaged(&managed, ROOM, 1));
    CHECK(MPI_Comm_attach_buffer(comm, (void *)(uintptr_t)managed, ROOM) == MPI_SUCCESS);
    MPI_Bsend(buf, N, MPI_INT, next, TAG, comm);
    MPI_Recv(device, N, MPI_INT, before, TAG, comm, MPI_STATUS_IGNORE);
    CHECK(is_row(device, before, N));
    MPI_Comm_detach_buffer(comm, &none, &length);
    FINE(cuMemFree_v2(managed));
    MPI_Session_finalize(&session);
    MPI_Comm_free(&comm);
    device_free(device);
    device_free(buf);
    free(list);
}

// ---- messages of other kinds

static void test_replace(void)
{
    for (int count = 1; count <= 100 * N; count = count == 1 ? N : 100 * count) {
        int *list = numbers(rank, count);
        void *buf = any_copy(true, list, (size_t)count * sizeof *list);
        MPI_Sendrecv_replace(buf, count, MPI_INT, next, TAG, before, TAG, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        CHECK(is_row(buf, before, count));
        device_free(buf);
        free(list);
    }
}

static void test_partitions(bool sends, bool receives)
{
    enum { PARTS = 8, EACH = 50 * N };
    int *list = numbers(rank, PARTS * EACH);
    int *out = any_copy(sends, list, sizeof(int) * PARTS * EACH);
    int *in = any_new(receives, sizeof(int) * PARTS * EACH);
    MPI_Request requests[2];
    MPI_Psend_init(out, PARTS, EACH, MPI_INT, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(in, PARTS / 2, 2 * EACH, MPI_INT, before, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Startall(2, requests);
        for (int i = PARTS - 1; i >= 0; i--)
            MPI_Pready(i, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(is_row(in, before, PARTS * EACH));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    any_free(sends, out);
    any_free(receives, in);
    free(list);
}

// Types of their own for each neighbour; the blocks lie in one device buffer.
static void test_neighbours(void)
{
    MPI_Comm ring;
    MPI_Datatype pair[2], every[2];
    MPI_Request request;
    int *list = numbers(100 * rank, 8), *out = any_copy(true, list, 8 * sizeof *list), in[8];
    int *to = device_new(8 * sizeof *list), ones[] = {1, 1};
    MPI_Aint from_at[] = {0, 16}, to_at[] = {16, 0};
    memset(in, 0, sizeof in);
    device_copy(to, in, sizeof in);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
    MPI_Type_contiguous(2, MPI_INT, &pair[0]);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair[1]);
    MPI_Type_vector(2, 1, 2, MPI_INT, &every[0]);
    MPI_Type_contiguous(2, MPI_INT, &every[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Type_commit(&pair[i]);
        MPI_Type_commit(&every[i]);
    }
    MPI_Ineighbor_alltoallw(out, ones, from_at, pair, to, ones, to_at, every, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    device_copy(in, to, sizeof in);
    // From the left neighbour comes what it sends to the right: its numbers 4 and 6; from the right, 0 and 1.
    CHECK(in[4] == 100 * before + 4 && in[6] == 100 * before + 6 && in[5] == 0);
    CHECK(in[0] == 100 * next && in[1] == 100 * next + 1 && in[2] == 0);
    for (int i = 0; i < 2; i++) {
        MPI_Type_free(&pair[i]);
        MPI_Type_free(&every[i]);
    }
    MPI_Comm_free(&ring);
    device_free(out);
    device_free(to);
    free(list);
}

// ---- two groups, of this job or of one that was spawned

static void between_groups(MPI_Comm inter, int mine, bool first)
{
    int peers, sum = 0, *seen;
    MPI_Comm_remote_size(inter, &peers);
    size_t all = (size_t)peers * N * sizeof(int);
    int *list = numbers(1000 * mine, N), *out = any_copy(true, list, N * sizeof(int));
    int *in = device_new(all);
    seen = malloc(all);
    MPI_Allgather(out, N, MPI_INT, in, N, MPI_INT, inter);
    for (int r = 0; r < peers; r++)
        CHECK(is_row(in + r * N, 1000 * r, N));
    MPI_Bcast(out, N, MPI_INT, first ? mine == 0 ? MPI_ROOT : MPI_PROC_NULL : 0, inter);
    CHECK(is_row(out, first ? 1000 * mine : 0, N));
    device_copy(out, list, N * sizeof(int));
    MPI_Allreduce(out, in, N, MPI_INT, MPI_SUM, inter);
    device_copy(seen, in, N * sizeof(int));
    for (int r = 0; r < peers; r++)
        sum += 1000 * r;
    CHECK(seen[0] == sum && seen[N - 1] == sum + peers * (N - 1));
    if (mine < peers) {
        MPI_Sendrecv(out, N, MPI_INT, mine, TAG, in, N, MPI_INT, mine, TAG, inter,
                     MPI_STATUS_IGNORE);
        CHECK(is_row(in, 1000 * mine, N));
    }
    device_free(out);
    device_free(in);
    free(list);
    free(seen);
}

static void window_of_both(MPI_Comm inter, bool high)
{
    MPI_Comm both;
    MPI_Win win;
    int mine, zero = 0, got, ranks, *base = any_copy(true, &zero, sizeof zero);
    MPI_Intercomm_merge(inter, high, &both);
    MPI_Comm_rank(both, &mine);
    MPI_Comm_size(both, &ranks);
    MPI_Win_create(base, sizeof zero, sizeof zero, MPI_INFO_NULL, both, &win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&mine, 1, MPI_INT, (mine + 1) % ranks, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    device_copy(&got, base, sizeof got);
    CHECK(got == (mine + ranks - 1) % ranks);
    MPI_Comm_free(&both);
    device_free(base);
}

static void test_two_groups(void)
{
    MPI_Comm half, inter;
    int mine;
    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, TAG, &inter);
    MPI_Comm_rank(half, &mine);
    between_groups(inter, mine, rank % 2);
    window_of_both(inter, rank % 2);
    MPI_Comm_free(&half);
    MPI_Comm_free(&inter);
}

static void test_spawned(char *program)
{
    MPI_Comm inter;
    MPI_Comm_spawn(program, (char *[]){"child", NULL}, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    between_groups(inter, rank, false);
    window_of_both(inter, false);
    MPI_Comm_disconnect(&inter);
}

// ---- other ways to have memory

// A thread that has never called the driver sends for its rank. Ranks that share a worker are interrupted
// meanwhile, but not in the driver.
static void *send_apart(void *buf)
{
    MPI_Send(buf, N, MPI_INT, next, TAG, MPI_COMM_WORLD);
    return NULL;
}

static void test_threads(void)
{
    pthread_t thread;
    int *list = numbers(rank, N), *out = any_copy(true, list, N * sizeof *list);
    int *in = device_new(N * sizeof *list);
    pthread_create(&thread, NULL, send_apart, out);
    MPI_Recv(in, N, MPI_INT, before, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
    CHECK(is_row(in, before, N));
    device_free(out);
    device_free(in);
    free(list);
}

// Absolute addresses.
static void test_bottom(void)
{
    MPI_Datatype type;
    MPI_Aint at;
    int *list = numbers(rank, N), *out = any_copy(true, list, N * sizeof *list);
    int *in = device_new(N * sizeof *list);
    MPI_Get_address(out, &at);
    MPI_Type_create_hindexed_block(1, N, &at, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(MPI_BOTTOM, 1, type, next, TAG, in, N, MPI_INT, before, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(is_row(in, before, N));
    MPI_Type_free(&type);
    device_free(out);
    device_free(in);
    free(list);
}

// Memory of a device where some of the host's was, which MPI had seen. With STAND_IN_ANYWHERE.
static void test_reuse(void)
{
    enum { PAGE = 4096, TURNS = 50 };
    int found = 0, in[PAGE / 4];
    for (int turn = 0; turn < TURNS; turn++) {
        int *host =
            mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(host, 1, PAGE);
        MPI_Sendrecv(host, PAGE, MPI_BYTE, rank, TAG, in, PAGE, MPI_BYTE, rank, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        munmap(host, 2 * PAGE);
        int *device = device_new(PAGE), *list = numbers(turn, PAGE / 4);
        found += device >= host && device < host + 2 * PAGE / 4;
        device_copy(device, list, PAGE);
        MPI_Sendrecv(device, PAGE, MPI_BYTE, rank, TAG, in, PAGE, MPI_BYTE, rank, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(memcmp(in, list, PAGE) == 0);
        free(list);
        device_free(device);
    }
    CHECK(found > 0);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm parent;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    device_begin();
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        between_groups(parent, rank, true);
        window_of_both(parent, true);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return failed != 0;
    }
    if (argc > 1 && strcmp(argv[1], "reuse") == 0) {
        test_reuse();
        return device_end();
    }
    for (int how = 0; how < 8; how++)
        for (int stride = 1; stride < 4; stride += 2)
            test_pack(how & 1, how & 2, how & 4, stride);
    test_buffers();
    test_replace();
    for (int how = 0; how < 4; how++)
        test_partitions(how & 1, how & 2);
    test_neighbours();
    test_two_groups();
    test_bottom();
    for (int turn = 0; turn < 20 && provided == MPI_THREAD_MULTIPLE; turn++)
        test_threads();
    if (argc == 1) // jobs on several hosts cannot spawn
        test_spawned(argv[0]);
    return device_end();
}
