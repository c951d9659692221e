// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of one pair do not overtake, whatever their sizes, modes and protocols, and whether they
// are received by name or by wildcards; and receives match in the order in which they were posted.
// Where one sender is involved the result is unique, so a model of the matching rules computes it.

#include "check.h"

enum { TAG = 5, STREAM = 120, MAX_BYTES = 200 * 1024 };

// Sizes around the switches between protocols; the first four bytes are the sequence number.
static int bytes_of(int k)
{
    const int sizes[] = {4, 40, 5000, 8, 70000, 4, 1000, 20000, 32, MAX_BYTES, 64, 9000};
    return sizes[k % COUNT_OF(sizes)];
}

static void message_fill(char *buf, int k)
{
    pattern_fill(buf, (size_t)bytes_of(k), (unsigned)k);
    memcpy(buf, &k, sizeof k);
}

static void message_check(const char *buf, int k, const MPI_Status *status, int source)
{
    int got = -1;
    memcpy(&got, buf, sizeof got);
    CHECK_INT(got, k);
    CHECK_STATUS(status, source, TAG, bytes_of(k));
    int n = bytes_of(k);
    for (int i = sizeof k; i < n; i += 61)
        CHECK_INT((unsigned char)buf[i], pattern_byte((size_t)i, (unsigned)k));
}

static void start_send(char *buf, int k, int dest, MPI_Request *request)
{
    int n = bytes_of(k);
    message_fill(buf, k);
    switch (k % 5) {
    case 0:
        CHECK_OK(MPI_Isend(buf, n, MPI_BYTE, dest, TAG, MPI_COMM_WORLD, request));
        break;
    case 1:
        CHECK_OK(MPI_Issend(buf, n, MPI_BYTE, dest, TAG, MPI_COMM_WORLD, request));
        break;
    case 2:
        CHECK_OK(MPI_Ibsend(buf, n, MPI_BYTE, dest, TAG, MPI_COMM_WORLD, request));
        break;
    case 3:
        CHECK_OK(MPI_Bsend(buf, n, MPI_BYTE, dest, TAG, MPI_COMM_WORLD));
        *request = MPI_REQUEST_NULL;
        break;
    default:
        CHECK_OK(MPI_Isend_c(buf, n, MPI_BYTE, dest, TAG, MPI_COMM_WORLD, request));
        break;
    }
}

// Everyone streams to its right neighbour with nonblocking calls and receives from the left with
// all kinds of wildcards. Only the left neighbour sends this tag to us.
static void nonblocking_stream(int posted_first)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    size_t space = 0;
    for (int k = 0; k < STREAM; k++)
        space += (size_t)bytes_of(k) + MPI_BSEND_OVERHEAD;
    char *attached = must_alloc(space);
    char **out = must_alloc(STREAM * sizeof *out), *big = must_alloc(MAX_BYTES);
    MPI_Request *sends = must_alloc(STREAM * sizeof *sends);
    MPI_Request *recvs = must_alloc(STREAM * sizeof *recvs);
    char **place = must_alloc(STREAM * sizeof *place);
    CHECK_OK(MPI_Buffer_attach(attached, (int)space));

    for (int k = 0; k < STREAM && posted_first; k++) {
        place[k] = must_alloc(MAX_BYTES);
        CHECK_OK(MPI_Irecv(place[k], MAX_BYTES, MPI_BYTE, k % 3 ? left : MPI_ANY_SOURCE,
                           k % 4 == 1 ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &recvs[k]));
    }
    if (posted_first)
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int k = 0; k < STREAM; k++) {
        out[k] = must_alloc((size_t)bytes_of(k));
        start_send(out[k], k, right, &sends[k]);
    }
    for (int k = 0; k < STREAM; k++) {
        MPI_Status status;
        if (posted_first)
            CHECK_OK(MPI_Wait(&recvs[k], &status));
        else
            CHECK_OK(MPI_Recv(big, MAX_BYTES, MPI_BYTE, k % 3 ? left : MPI_ANY_SOURCE,
                              k % 4 == 1 ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &status));
        message_check(posted_first ? place[k] : big, k, &status, left);
        if (posted_first)
            free(place[k]);
    }
    CHECK_OK(MPI_Waitall(STREAM, sends, MPI_STATUSES_IGNORE));
    void *address;
    int bytes;
    CHECK_OK(MPI_Buffer_detach(&address, &bytes));
    for (int k = 0; k < STREAM; k++)
        free(out[k]);
    free(attached);
    free(out);
    free(big);
    free(sends);
    free(recvs);
    free(place);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Even ranks stream to odd ones with blocking calls of mixed modes, and back.
static void blocking_stream(int peer, int sending)
{
    char *buf = must_alloc(MAX_BYTES), *attached = must_alloc(MAX_BYTES + MPI_BSEND_OVERHEAD);
    for (int k = 0; k < STREAM; k++) {
        int n = bytes_of(k);
        MPI_Status status;
        if (!sending) {
            CHECK_OK(MPI_Recv(buf, MAX_BYTES, MPI_BYTE, k % 2 ? peer : MPI_ANY_SOURCE,
                              k % 3 ? TAG : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            message_check(buf, k, &status, peer);
            continue;
        }
        message_fill(buf, k);
        if (k % 3 == 0) {
            CHECK_OK(MPI_Send(buf, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD));
        } else if (k % 3 == 1) {
            CHECK_OK(MPI_Ssend(buf, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD));
        } else {
            void *address;
            int bytes;
            CHECK_OK(MPI_Buffer_attach(attached, n + MPI_BSEND_OVERHEAD));
            CHECK_OK(MPI_Bsend(buf, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD));
            memset(buf, 0, (size_t)n); // it is the library's copy that travels
            CHECK_OK(MPI_Buffer_detach(&address, &bytes));
        }
    }
    free(buf);
    free(attached);
}

enum { MODEL = 120, MODEL_TAGS = 4, MODEL_BYTES = 70000, READY = 100, GO = 101 };

// Messages and receives of one pair, and which receive each message must reach.
struct plan {
    int tag[MODEL], bytes[MODEL]; // by message
    int wanted[MODEL];            // by receive
    int receive_of[MODEL];        // by message
};

static int tag_matches(int wanted, int tag)
{
    return wanted == MPI_ANY_TAG || wanted == tag;
}

// Index of a random entry that is still 0.
static int random_free(uint64_t *state, const char *used)
{
    int i = random_below(state, MODEL);
    while (used[i])
        i = (i + 1) % MODEL;
    return i;
}

// All receives are posted before the first send: each message takes the first receive that fits.
static void plan_posted(struct plan *p, uint64_t *state)
{
    char used[MODEL] = {0};
    for (int r = 0; r < MODEL; r++)
        p->wanted[r] = random_below(state, 3) ? random_below(state, MODEL_TAGS) : MPI_ANY_TAG;
    for (int m = 0; m < MODEL; m++) {
        int wanted = p->wanted[random_free(state, used)], r = 0;
        p->tag[m] = wanted == MPI_ANY_TAG ? random_below(state, MODEL_TAGS) : wanted;
        while (used[r] || !tag_matches(p->wanted[r], p->tag[m]))
            r++;
        used[r] = 1;
        p->receive_of[m] = r;
    }
}

// All messages are sent before the first receive is posted: each receive takes the first message
// that fits.
static void plan_started(struct plan *p, uint64_t *state)
{
    char used[MODEL] = {0};
    for (int m = 0; m < MODEL; m++)
        p->tag[m] = random_below(state, MODEL_TAGS);
    for (int r = 0; r < MODEL; r++) {
        int m = random_free(state, used);
        p->wanted[r] = random_below(state, 3) ? p->tag[m] : MPI_ANY_TAG;
        for (m = 0; used[m] || !tag_matches(p->wanted[r], p->tag[m]);)
            m++;
        used[m] = 1;
        p->receive_of[m] = r;
    }
}

static void model(int peer, int sending, int posted_first, uint64_t seed)
{
    struct plan p;
    uint64_t state = seed;
    MPI_Request requests[MODEL];
    MPI_Status statuses[MODEL];
    char *buf = must_alloc((size_t)MODEL * MODEL_BYTES);
    if (posted_first)
        plan_posted(&p, &state);
    else
        plan_started(&p, &state);
    for (int m = 0; m < MODEL; m++)
        p.bytes[m] = random_below(&state, 8) == 0 ? MODEL_BYTES : 4 + random_below(&state, 300);

    if (sending) {
        if (posted_first)
            CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, peer, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int m = 0; m < MODEL; m++) {
            memcpy(buf + (size_t)m * MODEL_BYTES, &m, sizeof m);
            CHECK_OK(MPI_Isend(buf + (size_t)m * MODEL_BYTES, p.bytes[m], MPI_BYTE, peer, p.tag[m],
                               MPI_COMM_WORLD, &requests[m]));
        }
        if (!posted_first)
            CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, peer, GO, MPI_COMM_WORLD));
        CHECK_OK(MPI_Waitall(MODEL, requests, MPI_STATUSES_IGNORE));
    } else {
        if (!posted_first)
            CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int r = 0; r < MODEL; r++)
            CHECK_OK(MPI_Irecv(buf + (size_t)r * MODEL_BYTES, MODEL_BYTES, MPI_BYTE, peer,
                               p.wanted[r], MPI_COMM_WORLD, &requests[r]));
        if (posted_first)
            CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, peer, READY, MPI_COMM_WORLD));
        CHECK_OK(MPI_Waitall(MODEL, requests, statuses));
        for (int r = 0; r < MODEL; r++) {
            int m = -1;
            memcpy(&m, buf + (size_t)r * MODEL_BYTES, sizeof m);
            CHECK(m >= 0 && m < MODEL);
            CHECK_INT(p.receive_of[m], r);
            CHECK_STATUS(&statuses[r], peer, p.tag[m], p.bytes[m]);
        }
    }
    free(buf);
}

// Rank 0 takes from anybody: the messages of each sender come in order.
static void any_source(void)
{
    enum { N = 300 };
    int rank = world_rank(), size = world_size();
    char *buf = must_alloc(MAX_BYTES);
    if (rank != 0) {
        for (int k = 0; k < N; k++) {
            message_fill(buf, k);
            CHECK_OK(MPI_Send(buf, bytes_of(k), MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
        }
    } else {
        int *next = must_alloc((size_t)size * sizeof *next);
        memset(next, 0, (size_t)size * sizeof *next);
        for (int k = 0; k < N * (size - 1); k++) {
            MPI_Status status;
            CHECK_OK(MPI_Recv(buf, MAX_BYTES, MPI_BYTE, MPI_ANY_SOURCE, k % 2 ? MPI_ANY_TAG : TAG,
                              MPI_COMM_WORLD, &status));
            CHECK(status.MPI_SOURCE > 0 && status.MPI_SOURCE < size);
            message_check(buf, next[status.MPI_SOURCE]++, &status, status.MPI_SOURCE);
        }
        free(next);
    }
    free(buf);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    nonblocking_stream(0);
    nonblocking_stream(1);
    for (int bit = 1; bit < size; bit <<= 1) {
        int peer = rank ^ bit;
        for (int turn = 0; turn < 2 && peer < size; turn++) {
            int sending = (rank < peer) == (turn == 0);
            blocking_stream(peer, sending);
            for (unsigned seed = 1; seed <= (seeded() ? 2 : 6); seed++)
                model(peer, sending, seed & 1, seed + (unsigned)bit * 100);
        }
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    any_source();
    CHECK_OK(MPI_Finalize());
    return 0;
}
