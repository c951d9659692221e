// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Stream: operations that take their turn in a stream of a GPU. The first argument says what is tried, the
// second how a rank waits for its stream: `blocks` its thread, or `yields` to other ranks meanwhile.
#include <unistd.h>

#include "gpu_test.h"

enum { N = 5000, MANY = 200 };

static bool blocks;
static cu_stream stream;
static MPIX_Stream named;
static MPI_Comm comm;
static int *device, *other, *host; // [N], host: pinned

static bool is_over(void)
{
    return cuStreamQuery(stream) == CU_OK;
}

static void wait_for_stream(void)
{
    if (blocks)
        FINE(cuStreamSynchronize(stream));
    while (!is_over())
        MPIX_Yield();
}

static MPI_Info info_of(const char *type, const void *value, int size)
{
    MPI_Info info;
    MPI_Info_create(&info);
    if (type)
        MPI_Info_set(info, "type", type);
    if (value)
        MPIX_Info_set_hex(info, "value", value, size);
    return info;
}

static void open_stream(void)
{
    FINE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MPI_Info info = info_of("cudaStream_t", &stream, sizeof stream);
    CHECK(MPIX_Stream_create(info, &named) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, named, &comm) == MPI_SUCCESS);
    device = get_memory(ON_DEVICE, N * sizeof(int));
    other = get_memory(ON_DEVICE, N * sizeof(int));
    host = get_memory(PINNED, N * sizeof(int));
}

// cuMemFree would wait for the streams of other ranks of the process, and hold up what they wait for.
static void close_stream(void)
{
    wait_for_stream();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    CHECK(MPIX_Stream_free(&named) == MPI_SUCCESS && named == MPIX_STREAM_NULL);
    drop_memory(ON_DEVICE, device);
    drop_memory(ON_DEVICE, other);
    drop_memory(PINNED, host);
    MPI_Barrier(MPI_COMM_WORLD);
    FINE(cuStreamDestroy_v2(stream));
}

static void fill(int *at, int value)
{
    FINE(cuMemsetD32Async((uintptr_t)at, (unsigned)value, N, stream));
}

// Enqueues it.
static void fetch(const int *at)
{
    FINE(cuMemcpyAsync((uintptr_t)host, (uintptr_t)at, N * sizeof(int), stream));
}

static void has(int value)
{
    wait_for_stream();
    for (int i = 0; i < N; i++)
        CHECK(host[i] == value);
}

// What the stream does before and after it is in order, and nothing but the stream waits.
static void try_ring(void)
{
    int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
    MPI_Status status;
    for (int round = 0; round < 20; round++) {
        fill(device, 100 * round + me);
        fill(other, -1);
        if (me % 2 == 0)
            MPIX_Send_enqueue(device, N, MPI_INT, next, round, comm);
        MPIX_Recv_enqueue(other, N, MPI_INT, last, round, comm, &status);
        if (me % 2)
            MPIX_Send_enqueue(device, N, MPI_INT, next, round, comm);
        fill(device, -2); // not before it was sent
        fetch(other);
        has(100 * round + last);
        int count;
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(status.MPI_SOURCE == last && status.MPI_TAG == round && count == N);
    }
}

// An event behind a receive is ready when the data are there, and not before.
static void try_event(void)
{
    cu_event event;
    int word = 0, pair = me ^ 1;
    FINE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int round = 0; round < 3 && pair < ranks; round++) {
        if (me % 2 == 0) {
            MPI_Recv(&word, 1, MPI_INT, pair, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            usleep(20000); // it has had its time
            fill(device, round);
            MPIX_Send_enqueue(device, N, MPI_INT, pair, 2, comm);
            wait_for_stream();
        } else {
            MPIX_Recv_enqueue(device, N, MPI_INT, pair, 2, comm, MPI_STATUS_IGNORE);
            fetch(device);
            FINE(cuEventRecord(event, stream));
            usleep(10000);
            CHECK(cuEventQuery(event) == CU_NOT_READY);
            MPI_Send(&word, 1, MPI_INT, pair, 1, MPI_COMM_WORLD);
            while (cuEventQuery(event) == CU_NOT_READY)
                MPIX_Yield();
            has(round);
        }
    }
    FINE(cuEventDestroy_v2(event));
}

// Nonblocking operations, more than there are words in a block of them; their waits in the stream, and on the host.
static void try_nonblocking(void)
{
    int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
    MPI_Request request[2 * MANY];
    MPI_Status status[2 * MANY];
    for (int turn = 0; turn < 3; turn++) {
        fill(device, 7 * me);
        fill(other, -1);
        for (int i = 0; i < MANY; i++) {
            MPIX_Irecv_enqueue(other + i, 1, MPI_INT, last, i, comm, &request[i]);
            MPIX_Isend_enqueue(device + i, 1, MPI_INT, next, i, comm, &request[MANY + i]);
        }
        if (turn == 0)
            MPIX_Waitall_enqueue(2 * MANY, request, status);
        else if (turn == 1)
            MPIX_Waitall_enqueue(2 * MANY, request, MPI_STATUSES_IGNORE);
        else
            MPI_Waitall(2 * MANY, request, status);
        for (int i = 0; i < 2 * MANY; i++)
            CHECK(request[i] == MPI_REQUEST_NULL);
        fetch(other);
        wait_for_stream();
        for (int i = 0; i < MANY; i++)
            CHECK(host[i] == 7 * last && host[MANY] == -1);
        for (int i = 0; i < MANY && turn != 1; i++)
            CHECK(status[i].MPI_SOURCE == last && status[i].MPI_TAG == i);
    }
    MPIX_Irecv_enqueue(other, N, MPI_INT, last, 1, comm, request);
    MPIX_Isend_enqueue(device, N, MPI_INT, next, 1, comm, request + 1);
    MPIX_Wait_enqueue(request + 1, MPI_STATUS_IGNORE);
    MPI_Wait(request, status); // on the host: the stream does not wait
    CHECK(status->MPI_SOURCE == last);
    request[0] = MPI_REQUEST_NULL;
    status->MPI_SOURCE = 0;
    MPIX_Wait_enqueue(request, status);
    CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE);
    MPIX_Irecv_enqueue(other, N, MPI_INT, MPI_PROC_NULL, 1, comm, request);
    MPIX_Wait_enqueue(request, status);
    CHECK(status->MPI_SOURCE == MPI_PROC_NULL && request[0] == MPI_REQUEST_NULL);
    MPIX_Isend_enqueue(device, N, MPI_INT, MPI_PROC_NULL, 1, comm, request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPIX_Recv_enqueue(other, N, MPI_INT, MPI_PROC_NULL, 1, comm, status);
    MPIX_Send_enqueue(other, N, MPI_INT, MPI_PROC_NULL, 1, comm);
    CHECK(status->MPI_SOURCE == MPI_PROC_NULL);
    wait_for_stream();
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void try_collectives(void)
{
    const int all = ranks * (ranks - 1) / 2, part = N / ranks;
    MPI_Op own;
    MPI_Op_create(add, 1, &own);
    for (int round = 0; round < 5; round++) {
        fill(device, me == 1 % ranks ? 4 : -4);
        MPIX_Bcast_enqueue(device, N, MPI_INT, 1 % ranks, comm);
        fetch(device);
        has(4);

        fill(device, me);
        MPIX_Allreduce_enqueue(device, other, N, MPI_INT, round % 2 ? own : MPI_SUM, comm);
        fill(device, -5);
        fetch(other);
        has(all);

        MPIX_Barrier_enqueue(comm);
        fill(other, me);
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, other, N, MPI_INT, MPI_MAX, comm);
        fetch(other);
        has(ranks - 1);

        fill(device, me + 1);
        MPIX_Reduce_enqueue(device, other, N, MPI_INT, MPI_SUM, 0, comm);
        fetch(other);
        has(me == 0 ? all + ranks : ranks - 1);

        fill(device, me);
        MPIX_Scan_enqueue(device, other, N, MPI_INT, MPI_SUM, comm);
        fetch(other);
        has(me * (me + 1) / 2);
        fill(other, 0);
        MPIX_Exscan_enqueue(device, other, N, MPI_INT, MPI_SUM, comm);
        fetch(other);
        has(me * (me - 1) / 2);

        fill(other, -6);
        MPIX_Allgather_enqueue(device, part, MPI_INT, other, part, MPI_INT, comm);
        fetch(other);
        wait_for_stream();
        for (int i = 0; i < N; i++)
            CHECK(host[i] == (i < part * ranks ? i / part : -6));
        fill(device, -7);
        MPIX_Alltoall_enqueue(other, part, MPI_INT, device, part, MPI_INT, comm);
        fetch(device);
        wait_for_stream();
        for (int i = 0; i < N; i++)
            CHECK(host[i] == (i < part * ranks ? me : -7));

        fill(other, -6);
        MPIX_Gather_enqueue(device, part, MPI_INT, me == 0 ? other : NULL, part, MPI_INT, 0, comm);
        fetch(other);
        wait_for_stream();
        for (int i = 0; i < N; i++)
            CHECK(host[i] == (me == 0 && i < part * ranks ? i / part : -6));
        fill(device, -8);
        MPIX_Scatter_enqueue(me == 0 ? other : NULL, part, MPI_INT, device, part, MPI_INT, 0, comm);
        fetch(device);
        wait_for_stream();
        for (int i = 0; i < N; i++)
            CHECK(host[i] == (i < part ? me : -8));

        fill(device, 2);
        MPIX_Reduce_scatter_block_enqueue(device, other, part, MPI_INT, MPI_SUM, comm);
        fetch(other);
        wait_for_stream();
        for (int i = 0; i < part; i++)
            CHECK(host[i] == 2 * ranks);
    }
    MPI_Op_free(&own);
}

// Handles may be freed while the operations are to come.
static void try_freed(void)
{
    int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
    MPI_Comm second;
    MPI_Datatype every_other;
    MPI_Op own;
    CHECK(MPIX_Stream_comm_create(comm, named, &second) == MPI_SUCCESS);
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Op_create(add, 1, &own);
    fill(device, me);
    fill(other, -1);
    MPI_Request request;
    MPIX_Irecv_enqueue(other, 1, every_other, last, 1, second, &request);
    MPIX_Send_enqueue(device, 1, every_other, next, 1, second);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, device, N, MPI_INT, own, second);
    MPI_Op_free(&own);
    MPI_Type_free(&every_other);
    MPI_Comm_free(&second);
    fetch(device);
    has(ranks * (ranks - 1) / 2);
    fetch(other);
    wait_for_stream();
    for (int i = 0; i < N; i++)
        CHECK(host[i] == (i % 2 ? -1 : last));
}

// MPI_Finalize waits for what is enqueued.
static void try_unfinished(void)
{
    fill(device, me);
    MPIX_Allreduce_enqueue(device, other, N, MPI_INT, MPI_SUM, comm);
    fetch(other);
    MPI_Finalize();
    FINE(cuStreamSynchronize(stream)); // nobody has to wait for other ranks any more
    for (int i = 0; i < N; i++)
        CHECK(host[i] == ranks * (ranks - 1) / 2);
}

// The default stream, which only one rank of a process can have.
static void try_default(void)
{
    cu_stream usual = NULL;
    MPIX_Stream all, found;
    MPI_Comm with;
    MPI_Info info = info_of("cudaStream_t", &usual, sizeof usual);
    CHECK(MPIX_Stream_create(info, &all) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, all, &with) == MPI_SUCCESS);
    CHECK(MPIX_Comm_get_stream(with, 0, &found) == MPI_SUCCESS && found == all);
    FINE(cuMemsetD32Async((uintptr_t)device, 1, N, NULL));
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, device, N, MPI_INT, MPI_SUM, with);
    FINE(cuMemcpyAsync((uintptr_t)host, (uintptr_t)device, N * sizeof(int), NULL));
    FINE(cuStreamSynchronize(NULL));
    for (int i = 0; i < N; i++)
        CHECK(host[i] == ranks);
    MPI_Comm_free(&with);
    CHECK(MPIX_Stream_free(&all) == MPI_SUCCESS);
}

// Streams that are no GPU's.
static void try_plain(void)
{
    MPIX_Stream plain, found;
    MPI_Comm with;
    CHECK(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &found) == MPI_SUCCESS &&
          found == MPIX_STREAM_NULL);
    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &plain) == MPI_SUCCESS && plain != MPIX_STREAM_NULL);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, plain, &with) == MPI_SUCCESS);
    MPI_Barrier(with);
    MPI_Comm_free(&with);
    CHECK(MPIX_Stream_free(&plain) == MPI_SUCCESS);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &with) == MPI_SUCCESS);
    MPI_Comm_free(&with);
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void says(int code, int class, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (class_of(code) != class || !strstr(text, words))
        printf("%d instead of %d: %s\n", class_of(code), class, text);
    CHECK(class_of(code) == class && strstr(text, words));
}

static int raised;
static char said[MPI_MAX_ERROR_STRING];

static void note(MPI_Comm *of, int *code, ...)
{
    int length;
    (void)of;
    MPI_Error_string(*code, said, &length);
    raised++;
}

static void try_errors(void)
{
    MPIX_Stream bad;
    MPI_Comm with;
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);

    MPI_Info info = info_of("hipStream_t", &stream, sizeof stream);
    says(MPIX_Stream_create(info, &bad), MPI_ERR_INFO_VALUE, "\"type\" is \"hipStream_t\"");
    CHECK(bad == MPIX_STREAM_NULL);
    MPI_Info_free(&info);
    info = info_of("cudaStream_t", NULL, 0);
    says(MPIX_Stream_create(info, &bad), MPI_ERR_INFO_VALUE, "\"value\" is not set");
    MPI_Info_set(info, "value", "00zz");
    says(MPIX_Stream_create(info, &bad), MPI_ERR_INFO_VALUE, "\"value\" is \"00zz\"");
    MPI_Info_set(info, "value", "00zz00000000000000");
    says(MPIX_Stream_create(info, &bad), MPI_ERR_INFO_VALUE, "\"value\" is \"00zz");
    says(MPIX_Info_set_hex(info, "value", &stream, -1), MPI_ERR_INFO_VALUE, "value_size is -1");
    says(MPIX_Info_set_hex(info, "value", NULL, 8), MPI_ERR_ARG, "value is NULL");
    MPI_Info_free(&info);
    says(MPIX_Stream_create((MPI_Info)(uintptr_t)5, &bad), MPI_ERR_INFO, "info");
    bad = (MPIX_Stream)(uintptr_t)77;
    says(MPIX_Stream_free(&bad), MPI_ERR_ARG, "stream");
    says(MPIX_Stream_comm_create(MPI_COMM_WORLD, bad, &with), MPI_ERR_ARG, "stream");
    says(MPIX_Comm_get_stream(comm, 1, &bad), MPI_ERR_ARG, "idx is 1");

    says(MPIX_Send_enqueue(device, N, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COMM,
         "MPIX_Stream_comm_create");
    says(MPIX_Barrier_enqueue(MPI_COMM_WORLD), MPI_ERR_COMM, "has no stream");
    says(MPIX_Send_enqueue(device, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT, "count is -1");
    says(MPIX_Send_enqueue(device, 1, MPI_INT, ranks, 0, comm), MPI_ERR_RANK, "dest is");
    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &bad) == MPI_SUCCESS);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, bad, &with) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(with, MPI_ERRORS_RETURN);
    says(MPIX_Barrier_enqueue(with), MPI_ERR_COMM, "without a stream of a GPU");
    MPI_Comm_free(&with);
    CHECK(MPIX_Stream_free(&bad) == MPI_SUCCESS);

    MPI_Irecv(host, 1, MPI_INT, me, 9, comm, &request);
    says(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Irecv");
    MPI_Send(host + 1, 1, MPI_INT, me, 9, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_Irecv_enqueue(device, 1, MPI_INT, me, 9, comm, &request);
    MPI_Request same = request;
    says(MPI_Request_free(&same), MPI_ERR_REQUEST, "MPIX_Irecv_enqueue");
    says(MPI_Cancel(&same), MPI_ERR_REQUEST, "MPIX_Irecv_enqueue");
    MPI_Send(host + 1, 1, MPI_INT, me, 9, comm);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    wait_for_stream();

    // What fails later goes to the handler; a request has its own.
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPIX_Isend_enqueue(device, 2, MPI_INT, me, 9, comm, &request);
    MPIX_Recv_enqueue(other, 1, MPI_INT, me, 9, comm, MPI_STATUS_IGNORE);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    wait_for_stream();
    CHECK(raised == 1 && strstr(said, "MPIX_Recv_enqueue") && strstr(said, "truncated"));
    MPIX_Irecv_enqueue(other, 1, MPI_INT, me, 9, comm, &request);
    MPIX_Send_enqueue(device, 2, MPI_INT, me, 9, comm);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    wait_for_stream();
    CHECK(raised == 2 && strstr(said, "MPIX_Irecv_enqueue") && strstr(said, "truncated"));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPIX_Irecv_enqueue(other, 1, MPI_INT, me, 9, comm, &request);
    MPIX_Send_enqueue(device, 2, MPI_INT, me, 9, comm);
    wait_for_stream();
    says(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "MPIX_Irecv_enqueue");
    CHECK(raised == 2);
    MPI_Comm_set_errhandler(comm, handler);
    MPIX_Bcast_enqueue(device, 1, MPI_INT, ranks, comm); // found when its turn has come
    fill(device, 3);
    fetch(device);
    has(3); // and the stream goes on
    CHECK(raised == 3 && strstr(said, "MPIX_Bcast_enqueue") && strstr(said, "root"));
    MPI_Errhandler_free(&handler);
}

// Ranks of one process that have the same stream.
static void try_same(void)
{
    cu_stream usual = NULL;
    MPIX_Stream first = MPIX_STREAM_NULL, more = MPIX_STREAM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info info = info_of("cudaStream_t", &usual, sizeof usual);
    if (me == 0)
        CHECK(MPIX_Stream_create(info, &first) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        CHECK(MPIX_Stream_create(info, &more) == MPI_SUCCESS &&
              MPIX_Stream_free(&more) == MPI_SUCCESS);
    else
        says(MPIX_Stream_create(info, &first), MPI_ERR_INFO_VALUE, "is that of rank 0 already");
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        CHECK(MPIX_Stream_free(&first) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1)
        CHECK(MPIX_Stream_create(info, &first) == MPI_SUCCESS &&
              MPIX_Stream_free(&first) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

// More streams than can wait, of four ranks in a process that has one each and may have five.
static void try_many(void)
{
    MPIX_Stream all[4];
    cu_stream own[2];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; me == 0 && i < 2; i++)
        FINE(cuStreamCreate(&own[i], CU_STREAM_NON_BLOCKING));
    MPI_Info first = info_of("cudaStream_t", &own[0], sizeof *own);
    MPI_Info second = info_of("cudaStream_t", &own[1], sizeof *own);
    if (me == 0) {
        CHECK(MPIX_Stream_create(first, &all[0]) == MPI_SUCCESS);
        CHECK(MPIX_Stream_create(first, &all[1]) == MPI_SUCCESS); // the same one again
        says(MPIX_Stream_create(second, &all[2]), MPI_ERR_OTHER,
             "the process has 5 streams for MPI, and its driver has queues for no more");
        CHECK(MPIX_Stream_free(&all[0]) == MPI_SUCCESS && MPIX_Stream_free(&all[1]) == MPI_SUCCESS);
        CHECK(MPIX_Stream_create(second, &all[2]) == MPI_SUCCESS);
        CHECK(MPIX_Stream_free(&all[2]) == MPI_SUCCESS);
        FINE(cuStreamDestroy_v2(own[0]));
        FINE(cuStreamDestroy_v2(own[1]));
    }
    MPI_Info_free(&first);
    MPI_Info_free(&second);
}

static void try_recorded(void)
{
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    FINE(cuStreamBeginCapture_v2(stream, 0));
    says(MPIX_Barrier_enqueue(comm), MPI_ERR_UNSUPPORTED_OPERATION, "a graph records");
    FINE(cuStreamEndCapture(stream, &(void *){NULL}));
    MPIX_Barrier_enqueue(comm);
}

// The device breaks down before the stream has come to it (STAND_IN_FAIL).
static void try_broken(void)
{
    if (me == 0)
        MPIX_Recv_enqueue(device, N, MPI_INT, me, 3, comm, MPI_STATUS_IGNORE);
    MPIX_Barrier_enqueue(comm);
    MPI_Finalize();
    exit(0);
}

static void try_fatal(void)
{
    MPI_Request request;
    MPIX_Irecv_enqueue(device, 1, MPI_INT, me, 9, comm, &request);
    MPIX_Send_enqueue(device, 2, MPI_INT, me, 9, comm);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    wait_for_stream();
    pause();
}

// With MPI_THREAD_MULTIPLE. Ranks that share a worker (the argument says so) are told that they cannot.
static int with_threads(int argc, char **argv)
{
    int provided;
    MPIX_Stream none;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    begin_device();
    blocks = strcmp(argv[2], "blocks") == 0;
    if (blocks) {
        open_stream();
        try_ring();
        close_stream();
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        FINE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        MPI_Info info = info_of("cudaStream_t", &stream, sizeof stream);
        says(MPIX_Stream_create(info, &none), MPI_ERR_UNSUPPORTED_OPERATION,
             "MPI_THREAD_SERIALIZED or more");
        CHECK(none == MPIX_STREAM_NULL);
        MPI_Info_free(&info);
    }
    if (me == 0)
        puts("right");
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    if (strcmp(what, "threads") == 0)
        return with_threads(argc, argv);
    begin(&argc, &argv);
    blocks = argc > 2 && strcmp(argv[2], "blocks") == 0;
    open_stream();
    struct {
        const char *name;
        void (*run)(void);
    } tries[] = {{"ring", try_ring},
                 {"event", try_event},
                 {"nonblocking", try_nonblocking},
                 {"collectives", try_collectives},
                 {"freed", try_freed},
                 {"default", try_default},
                 {"plain", try_plain},
                 {"same", try_same},
                 {"errors", try_errors},
                 {"many", try_many},
                 {"recorded", try_recorded},
                 {"broken", try_broken},
                 {"fatal", try_fatal}};
    bool any = false;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        if (strcmp(what, tries[i].name) == 0) {
            tries[i].run();
            any = true;
        }
    if (strcmp(what, "unfinished") == 0) {
        try_unfinished();
        if (me == 0)
            puts("right");
        return 0;
    }
    CHECK(any);
    close_stream();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        puts("right");
    MPI_Finalize();
    return 0;
}
