// SPDX-License-Identifier: BSD-3-Clause
// Long messages whose data no other process can open: memory of pools (cuMemAllocAsync), and any memory
// between hosts. Each trick is a program of its own; the number seeds what is drawn.
//
// bounce NAME [NUMBER [FILE]]
#include <unistd.h>

#include "gpu_test.h"

enum { MIB = 1 << 20, GUARD = 64, SPREAD = 16 };

// ---- memory with a layout

typedef enum layout { PLAIN, VECTOR, ODD, LAYOUTS } layout;

// Bytes of data in elements, and of memory; ODD: blocks of 5, 1 and 6 bytes in 16.
typedef struct shape {
    layout layout;
    size_t bytes, span; // of data: a multiple of 12
    MPI_Datatype type;
    int count;
} shape;

static shape shape_of(layout layout, size_t bytes)
{
    shape s = {layout, bytes, bytes, MPI_BYTE, (int)bytes};
    static const int lengths[] = {5, 1, 6}, places[] = {0, 6, 9};
    MPI_Datatype element;
    if (layout == PLAIN)
        return s;
    s.span = bytes / 12 * SPREAD;
    s.count = 1;
    if (layout == VECTOR) {
        MPI_Type_vector((int)(bytes / 12), 12, SPREAD, MPI_BYTE, &s.type);
    } else {
        MPI_Type_indexed(3, lengths, places, MPI_BYTE, &element);
        MPI_Type_create_resized(element, 0, SPREAD, &s.type);
        MPI_Type_free(&element);
        s.count = (int)(bytes / 12);
    }
    MPI_Type_commit(&s.type);
    return s;
}

static void shape_free(shape *s)
{
    if (s->layout != PLAIN)
        MPI_Type_free(&s->type);
}

// Where byte i of the data lies.
static size_t place_of(const shape *s, size_t i)
{
    static const unsigned char odd[] = {0, 1, 2, 3, 4, 6, 9, 10, 11, 12, 13, 14};
    if (s->layout == PLAIN)
        return i;
    return i / 12 * SPREAD + (s->layout == VECTOR ? i % 12 : odd[i % 12]);
}

static unsigned char byte_of(unsigned key, size_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u + key * 40503u;
    return (unsigned char)(x >> 24 ^ x >> 11);
}

static void *pool_new(size_t bytes)
{
    cu_ptr at = 0;
    FINE(cuMemAllocAsync(&at, bytes, NULL));
    FINE(cuStreamSynchronize(NULL));
    return (void *)(uintptr_t)at;
}

static void *any_new(bool device, size_t bytes)
{
    return device ? pool_new(bytes) : malloc(bytes);
}

// Memory with those data, or with none (key 0): GAP everywhere else, and behind it.
static void *filled(bool device, const shape *s, unsigned key)
{
    unsigned char *data = malloc(s->span + GUARD);
    memset(data, GAP, s->span + GUARD);
    for (size_t i = 0; key && i < s->bytes; i++)
        data[place_of(s, i)] = byte_of(key, i);
    if (!device)
        return data;
    void *at = pool_new(s->span + GUARD);
    write_memory(ON_DEVICE, at, data, s->span + GUARD);
    free(data);
    return at;
}

// The first `bytes` of the data have come, and nothing else has changed.
static bool has_come(bool device, const void *at, const shape *s, unsigned key, size_t bytes)
{
    size_t span = s->span + GUARD;
    unsigned char *wanted = malloc(span), *found = malloc(span);
    memset(wanted, GAP, span);
    for (size_t i = 0; i < bytes; i++)
        wanted[place_of(s, i)] = byte_of(key, i);
    read_memory(device ? ON_DEVICE : HOST, found, at, span);
    bool same = memcmp(wanted, found, span) == 0;
    free(wanted);
    free(found);
    return same;
}

static void drop(bool device, void *at)
{
    drop_memory(device ? ON_DEVICE : HOST, at);
}

// ---- the tricks

static int other, next, last;

// Every kind of memory and layout on either side, from one chunk to several buffers; both directions at the
// same time.
static void exchange(uint64_t seed)
{
    static const size_t sizes[] = {8190, 65520, 65544, 12 * 90001, 1048572, 1048584, 12 * 400009};
    for (uint32_t turn = 0; turn < 16; turn++) {
        bool from_device = turn % 4 != 3, to_device = turn % 4 != 2;
        size_t bytes = sizes[draw(&seed, 7)];
        shape out = shape_of((layout)draw(&seed, LAYOUTS), bytes / 12 * 12);
        shape in = shape_of((layout)draw(&seed, LAYOUTS), bytes / 12 * 12);
        unsigned key = 100 * turn + 1;
        void *from = filled(from_device, &out, key + (unsigned)me);
        void *to = filled(to_device, &in, 0);
        MPI_Sendrecv(from, out.count, out.type, next, 1, to, in.count, in.type, last, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(has_come(to_device, to, &in, key + (unsigned)last, in.bytes));
        drop(from_device, from);
        drop(to_device, to);
        shape_free(&out);
        shape_free(&in);
    }
}

// More messages at once than there are buffers, to all ranks and from all.
static void many(uint64_t seed)
{
    enum { MOST = 4 };
    int n = ranks * MOST;
    MPI_Request *requests = malloc(2 * (size_t)n * sizeof *requests);
    void **from = malloc((size_t)n * sizeof *from), **to = malloc((size_t)n * sizeof *to);
    shape *shapes = malloc((size_t)n * sizeof *shapes);
    for (int i = 0; i < n; i++) // all ranks draw the same
        shapes[i] = shape_of((layout)draw(&seed, LAYOUTS), (50000 + draw(&seed, 120000)) * 12);
    for (int i = 0; i < n; i++) {
        int peer = i / MOST;
        to[i] = filled(true, &shapes[i], 0);
        MPI_Irecv(to[i], shapes[i].count, shapes[i].type, peer, i % MOST, MPI_COMM_WORLD,
                  &requests[i]);
    }
    for (int i = n - 1; i >= 0; i--) {
        int peer = i / MOST, there = me * MOST + i % MOST; // where it has its receive
        shape plain = shape_of(PLAIN, shapes[there].bytes);
        from[i] = filled(true, &plain, (unsigned)(1 + there + n * peer));
        MPI_Isend(from[i], plain.count, MPI_BYTE, peer, i % MOST, MPI_COMM_WORLD, &requests[n + i]);
    }
    MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) {
        CHECK(has_come(true, to[i], &shapes[i], (unsigned)(1 + i + n * me), shapes[i].bytes));
        drop(true, to[i]);
        drop(true, from[i]);
        shape_free(&shapes[i]);
    }
    free(requests);
    free(from);
    free(to);
    free(shapes);
}

static void partitioned(void)
{
    enum { PARTS = 3 };
    shape s = shape_of(PLAIN, 12 * PARTS * 60000);
    void *from = filled(true, &s, 1 + (unsigned)me), *to = filled(true, &s, 0);
    int part = s.count / PARTS;
    MPI_Request requests[2];
    MPI_Psend_init(from, PARTS, part, MPI_BYTE, next, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(to, PARTS, part, MPI_BYTE, last, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Startall(2, requests);
        for (int i = 0; i < PARTS; i++)
            MPI_Pready((i + turn) % PARTS, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(has_come(true, to, &s, 1 + (unsigned)last, s.bytes));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    drop(true, from);
    drop(true, to);
}

static void persistent(void)
{
    shape out = shape_of(VECTOR, 12 * 200000), in = shape_of(ODD, 12 * 200000);
    void *from = filled(true, &out, 1 + (unsigned)me), *to = filled(true, &in, 0);
    MPI_Request requests[2];
    MPI_Ssend_init(from, out.count, out.type, next, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(to, in.count, in.type, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &requests[1]);
    for (unsigned turn = 0; turn < 4; turn++) {
        void *fresh = filled(true, &out, 1 + (unsigned)me + 10 * turn);
        FINE(cuMemcpy((uintptr_t)from, (uintptr_t)fresh, out.span));
        FINE(cuStreamSynchronize(NULL));
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(has_come(true, to, &in, 1 + (unsigned)last + 10 * turn, in.bytes));
        drop(true, fresh);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    drop(true, from);
    drop(true, to);
    shape_free(&out);
    shape_free(&in);
}

// Truncated in the second buffer; cancelled or not; probed; and a send that is waited for before its data may change.
static void odd_ends(void)
{
    shape s = shape_of(PLAIN, 12 * 300000), little = shape_of(PLAIN, 12 * 100000);
    void *from = filled(true, &s, 7 + (unsigned)me), *to = filled(true, &s, 0);
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    int class, cancelled, theirs, bytes;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Isend(from, s.count, MPI_BYTE, next, 1, MPI_COMM_WORLD, &request);
    MPI_Error_class(MPI_Recv(to, little.count, MPI_BYTE, last, 1, MPI_COMM_WORLD, &status), &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    CHECK(has_come(true, to, &s, 7 + (unsigned)last, little.bytes));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < 6; i++) {
        MPI_Isend(from, s.count, MPI_BYTE, next, 10 + i, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        MPI_Sendrecv(&cancelled, 1, MPI_INT, next, 2, &theirs, 1, MPI_INT, last, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(cancelled && theirs); // nobody receives
    }
    MPI_Isend(from, s.count, MPI_BYTE, next, 3, MPI_COMM_WORLD, &request);
    MPI_Mprobe(last, 3, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(bytes == s.count);
    MPI_Mrecv(to, bytes, MPI_BYTE, &message, &status);
    CHECK(has_come(true, to, &s, 7 + (unsigned)last, s.bytes));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    drop(true, from);
    drop(true, to);
    // The receive comes late; what the sender does to its buffer after MPI_Send comes later still.
    from = filled(true, &s, 9), to = filled(true, &s, 0);
    if (me % 2 == 0 && other < ranks) {
        MPI_Send(from, s.count, MPI_BYTE, other, 4, MPI_COMM_WORLD);
        FINE(cuMemsetD8Async((uintptr_t)from, 0, s.bytes, NULL));
        FINE(cuStreamSynchronize(NULL));
    } else if (other < ranks) {
        usleep(3000);
        MPI_Recv(to, s.count, MPI_BYTE, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(has_come(true, to, &s, 9, s.bytes));
    }
    drop(true, from);
    drop(true, to);
}

// Rank 1 has posted its receives, and then calls nothing until rank 2 has its message, which comes behind
// those to rank 1. So rank 0 may not keep all that it has for messages that nobody takes.
static void deaf(const char *file)
{
    enum { N = 10 };
    shape s = shape_of(PLAIN, 12 * 700000);
    void *at[N];
    MPI_Request requests[N];
    for (unsigned i = 0; i < N; i++)
        at[i] = me < 2 ? filled(true, &s, me == 0 ? 1 + i : 0) : NULL;
    if (me == 0) {
        for (int i = 0; i < N; i++)
            MPI_Isend(at[i], s.count, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(NULL, 0, MPI_BYTE, 1, N, MPI_COMM_WORLD);
        MPI_Send(at[0], s.count, MPI_BYTE, 2, 0, MPI_COMM_WORLD);
        MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
    } else if (me == 1) {
        for (int i = 0; i < N; i++)
            MPI_Irecv(at[i], s.count, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, N, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (access(file, F_OK) != 0)
            usleep(1000);
        MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
        for (unsigned i = 0; i < N; i++)
            CHECK(has_come(true, at[i], &s, 1 + i, s.bytes));
    } else if (me == 2) {
        void *to = filled(true, &s, 0);
        MPI_Recv(to, s.count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(has_come(true, to, &s, 1, s.bytes));
        drop(true, to);
        fclose(fopen(file, "w"));
    }
    for (int i = 0; i < N && me < 2; i++)
        drop(true, at[i]);
}

// One message of 16 MiB to the last rank, whose calls of the driver are counted; and one back.
static void one(bool from_device, bool to_device)
{
    bool device = me == 0 ? from_device : to_device;
    char *at = any_new(device, 16 * MIB);
    if (me == 0) {
        MPI_Send(at, 16 * MIB, MPI_BYTE, ranks - 1, 0, MPI_COMM_WORLD);
        MPI_Recv(at, 16 * MIB, MPI_BYTE, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (me == ranks - 1) {
        MPI_Recv(at, 16 * MIB, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(at, 16 * MIB, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    drop(device, at);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "", *file = argc > 3 ? argv[3] : "";
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    begin(&argc, &argv);
    other = me ^ 1;
    next = (me + 1) % ranks;
    last = (me + ranks - 1) % ranks;
    bool all = strcmp(name, "all") == 0;
    if (all || strcmp(name, "exchange") == 0)
        exchange(seed);
    if (all || strcmp(name, "many") == 0)
        many(seed);
    if (all || strcmp(name, "partitioned") == 0)
        partitioned();
    if (all || strcmp(name, "persistent") == 0)
        persistent();
    if (all || strcmp(name, "odd_ends") == 0)
        odd_ends();
    if (strcmp(name, "deaf") == 0)
        deaf(file);
    if (strcmp(name, "one") == 0)
        one(true, true);
    if (strcmp(name, "to_host") == 0)
        one(true, false);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("right\n");
    MPI_Finalize();
    return 0;
}
