// SPDX-License-Identifier: BSD-3-Clause
// Messages of every kind between buffers of devices and of the host, by chance: long and short, early and
// late, in memory that was freed and given out again. Each is checked byte by byte. The argument is the seed.
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"

enum { ROUNDS = 60, MOST = 12, LONGEST = 300000 };
enum { TAG_FIRST = ROUNDS * MOST, TAG_LONG, TAG_CANCELLED, TAG_NEVER };

static uint64_t state;
static int rank, size;

static uint64_t chance(uint64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % n;
}

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

typedef struct buffer {
    bool device;
    char *at;
} buffer;

static buffer take(bool device, size_t bytes)
{
    buffer b = {device, NULL};
    cu_ptr at = 0;
    if (!device)
        b.at = malloc(bytes);
    else if (cuMemAlloc_v2(&at, bytes) == CU_OK)
        b.at = (char *)(uintptr_t)at;
    check(b.at != NULL, "no memory");
    return b;
}

static void give(buffer b)
{
    if (b.device)
        check(cuMemFree_v2((uintptr_t)b.at) == CU_OK, "cuMemFree");
    else
        free(b.at);
}

static void put(buffer b, const char *data, size_t bytes)
{
    if (!b.device)
        memcpy(b.at, data, bytes);
    else if (bytes)
        check(cuMemcpyHtoD_v2((uintptr_t)b.at, data, bytes) == CU_OK, "cuMemcpyHtoD");
}

static void get(char *data, buffer b, size_t bytes)
{
    if (!b.device)
        memcpy(data, b.at, bytes);
    else if (bytes)
        check(cuMemcpyDtoH_v2(data, (uintptr_t)b.at, bytes) == CU_OK, "cuMemcpyDtoH");
}

static char byte_of(int round, int message, size_t i)
{
    return (char)(round * 31 + message * 7 + (int)i * 3);
}

// All ranks draw the same numbers: each knows what the others send and how.
typedef struct message {
    int from, to, tag;
    size_t bytes;
    bool from_device, to_device, synchronous, late, wild, gaps;
} message;

static message draw(int tag)
{
    static const size_t limits[] = {1, 9, 100, 5000, 70000, LONGEST};
    message m = {.tag = tag};
    m.from = (int)chance((uint64_t)size);
    m.to = (int)chance((uint64_t)size);
    m.bytes = chance(limits[chance(6)]) * 4;
    m.from_device = chance(4) > 0;
    m.to_device = chance(4) > 0;
    m.synchronous = chance(4) == 0;
    m.late = chance(2) == 0;
    m.wild = chance(4) == 0;
    m.gaps = chance(5) == 0 && m.bytes;
    return m;
}

static char *filled(int round, const message *m)
{
    char *data = malloc(m->bytes + 1);
    for (size_t i = 0; i < m->bytes; i++)
        data[i] = byte_of(round, m->tag, i);
    return data;
}

// The bytes of a message lie in blocks of 4 with gaps of 4 on the side that sends.
static size_t span(const message *m)
{
    return m->gaps ? 2 * m->bytes : m->bytes;
}

static void start_send(int round, const message *m, buffer *b, MPI_Request *request)
{
    char *data = filled(round, m), *spread = calloc(1, span(m) + 1);
    MPI_Datatype type = MPI_BYTE;
    int count = (int)m->bytes;
    *b = take(m->from_device, span(m) + 1);
    memcpy(spread, data, m->bytes);
    if (m->gaps) {
        for (size_t i = 0; i < m->bytes; i += 4)
            memcpy(spread + 2 * i, data + i, 4);
        MPI_Type_vector((int)m->bytes / 4, 4, 8, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        count = 1;
    }
    put(*b, spread, span(m));
    if (m->synchronous)
        MPI_Issend(b->at, count, type, m->to, m->tag, MPI_COMM_WORLD, request);
    else
        MPI_Isend(b->at, count, type, m->to, m->tag, MPI_COMM_WORLD, request);
    if (m->gaps)
        MPI_Type_free(&type);
    free(spread);
    free(data);
}

static void check_received(int round, const message *m, buffer b)
{
    char *data = filled(round, m), *got = malloc(m->bytes + 1);
    get(got, b, m->bytes);
    check(memcmp(data, got, m->bytes) == 0, "other bytes have come");
    free(got);
    free(data);
}

static void start_receive(const message *m, buffer *b, MPI_Request *request)
{
    *b = take(m->to_device, m->bytes + 1);
    MPI_Irecv(b->at, (int)m->bytes, MPI_BYTE, m->wild ? MPI_ANY_SOURCE : m->from, m->tag,
              MPI_COMM_WORLD, request);
}

static void one_round(int round)
{
    message m[MOST];
    buffer sent[MOST], received[MOST];
    MPI_Request requests[2 * MOST];
    int n = 1 + (int)chance(MOST);
    for (int i = 0; i < 2 * MOST; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < n; i++)
        m[i] = draw(round * MOST + i);
    for (int i = 0; i < n; i++)
        if (m[i].to == rank && !m[i].late)
            start_receive(&m[i], &received[i], &requests[MOST + i]);
    for (int i = 0; i < n; i++)
        if (m[i].from == rank)
            start_send(round, &m[i], &sent[i], &requests[i]);
    for (int i = 0; i < n; i++)
        if (m[i].to == rank && m[i].late) {
            MPI_Message message;
            MPI_Status status;
            int bytes;
            MPI_Mprobe(m[i].from, m[i].tag, MPI_COMM_WORLD, &message, &status);
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            check((size_t)bytes == m[i].bytes, "a probe tells another length");
            received[i] = take(m[i].to_device, m[i].bytes + 1);
            MPI_Imrecv(received[i].at, bytes, MPI_BYTE, &message, &requests[MOST + i]);
        }
    MPI_Waitall(2 * MOST, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) {
        if (m[i].to == rank) {
            check_received(round, &m[i], received[i]);
            give(received[i]);
        }
        if (m[i].from == rank)
            give(sent[i]);
    }
}

// Programs send small messages before they receive: nobody may wait for the other's receive.
static void send_first(void)
{
    buffer out = take(true, 64), in = take(true, 64);
    char data[64], got[64];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < 20; i++) {
        memset(data, rank + i, sizeof data);
        put(out, data, sizeof data);
        MPI_Send(out.at, sizeof data, MPI_BYTE, next, TAG_FIRST, MPI_COMM_WORLD);
        MPI_Recv(in.at, sizeof data, MPI_BYTE, before, TAG_FIRST, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        get(got, in, sizeof got);
        memset(data, before + i, sizeof data);
        check(memcmp(data, got, sizeof data) == 0, "other bytes have come after sends");
    }
    give(out);
    give(in);
}

// A message that is longer than its receive; one that is cancelled.
static void odd_ends(void)
{
    buffer b = take(true, 1 << 20);
    MPI_Status status;
    MPI_Request request;
    int peer = rank ^ 1, cancelled;
    if (peer < size) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Irecv(b.at + (1 << 19), 1000, MPI_BYTE, peer, TAG_LONG, MPI_COMM_WORLD, &request);
        MPI_Send(b.at, 1 << 18, MPI_BYTE, peer, TAG_LONG, MPI_COMM_WORLD);
        int code = MPI_Wait(&request, &status), class;
        MPI_Error_class(code, &class);
        check(class == MPI_ERR_TRUNCATE, "a message that is too long is no error");
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Isend(b.at, 1 << 19, MPI_BYTE, peer, TAG_CANCELLED, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        MPI_Barrier(MPI_COMM_WORLD);
        if (!cancelled)
            check(false, "a send that nobody receives is not cancelled");
        MPI_Irecv(b.at, 1000, MPI_BYTE, peer, TAG_NEVER, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        check(cancelled, "a receive that nothing meets is not cancelled");
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    give(b);
}

int main(int argc, char **argv)
{
    cu_context context;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1);
    check(cuInit(0) == CU_OK && cuDevicePrimaryCtxRetain(&context, 0) == CU_OK &&
              cuCtxSetCurrent(context) == CU_OK,
          "no context");
    for (int round = 0; round < ROUNDS; round++)
        one_round(round);
    send_first();
    odd_ends();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("right\n");
    MPI_Finalize();
    return 0;
}
