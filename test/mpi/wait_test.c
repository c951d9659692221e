// SPDX-License-Identifier: BSD-3-Clause
//
// Every wait and test, over lists that mix active requests with null and inactive ones: which
// requests they choose, what they leave alone, and the statuses and MPI_UNDEFINED results that the
// standard wants.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

enum { N = 6, BIG = 70000 };

// Six places: null, an inactive persistent receive, and four receives with tags 0 to 3 (bytes_of).
struct list {
    MPI_Request requests[N], inactive;
    char *bufs[4];
};

static int bytes_of(int tag)
{
    const int bytes[4] = {8, BIG, 0, 500};
    return bytes[tag];
}

static int tag_at(int place) // the tag of the receive at a place, or -1
{
    const int tags[N] = {-1, 0, 1, -1, 2, 3};
    return tags[place];
}

static void list_open(struct list *l, int peer)
{
    for (int tag = 0; tag < 4; tag++)
        l->bufs[tag] = must_alloc(BIG);
    l->requests[0] = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Recv_init(l->bufs[0], 8, MPI_BYTE, peer, 99, WORLD, &l->inactive));
    l->requests[3] = l->inactive;
    for (int place = 0; place < N; place++)
        if (tag_at(place) >= 0)
            CHECK_OK(MPI_Irecv(l->bufs[tag_at(place)], BIG, MPI_BYTE, peer, tag_at(place), WORLD,
                               &l->requests[place]));
}

static void list_close(struct list *l)
{
    for (int place = 0; place < N; place++)
        CHECK(l->requests[place] == (place == 3 ? l->inactive : MPI_REQUEST_NULL));
    CHECK_OK(MPI_Request_free(&l->requests[3]));
    CHECK(l->requests[3] == MPI_REQUEST_NULL);
    for (int tag = 0; tag < 4; tag++)
        free(l->bufs[tag]);
}

// The receive at a place is complete, with this status.
static void check_done(const struct list *l, int place, const MPI_Status *status, int peer)
{
    int tag = tag_at(place);
    CHECK(tag >= 0);
    CHECK(l->requests[place] == MPI_REQUEST_NULL);
    CHECK_STATUS(status, peer, tag, bytes_of(tag));
    CHECK_PATTERN(l->bufs[tag], (size_t)bytes_of(tag), (unsigned)tag);
}

static void use_waitany(int peer)
{
    const int places[4] = {4, 1, 5, 2};
    struct list l;
    MPI_Status status;
    int index = -1;
    list_open(&l, peer);
    for (int i = 0; i < 4; i++) {
        ask(peer, tag_at(places[i]), bytes_of(tag_at(places[i])));
        CHECK_OK(MPI_Waitany(N, l.requests, &index, &status));
        CHECK_INT(index, places[i]);
        check_done(&l, index, &status, peer);
    }
    CHECK_OK(MPI_Waitany(N, l.requests, &index, &status));
    CHECK_INT(index, MPI_UNDEFINED);
    CHECK_EMPTY(&status);
    list_close(&l);
}

static void use_testany(int peer)
{
    const int places[4] = {5, 2, 4, 1};
    struct list l;
    MPI_Status status;
    int index = -1, flag = -1;
    list_open(&l, peer);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 3; k++) {
            CHECK_OK(MPI_Testany(N, l.requests, &index, &flag, &status));
            CHECK(!flag);
            CHECK_INT(index, MPI_UNDEFINED);
        }
        ask(peer, tag_at(places[i]), bytes_of(tag_at(places[i])));
        while (!flag)
            CHECK_OK(MPI_Testany(N, l.requests, &index, &flag, &status));
        CHECK_INT(index, places[i]);
        check_done(&l, index, &status, peer);
    }
    flag = 0;
    CHECK_OK(MPI_Testany(N, l.requests, &index, &flag, &status));
    CHECK(flag);
    CHECK_INT(index, MPI_UNDEFINED);
    if (STRICT)
        CHECK_EMPTY(&status);
    list_close(&l);
}

// Waits for, or tests until, the receives at the places of a set (bit mask); no other may come.
static void take_some(struct list *l, int set, int waiting, int peer)
{
    int indices[N], count = -1;
    MPI_Status statuses[N];
    while (set) {
        if (waiting)
            CHECK_OK(MPI_Waitsome(N, l->requests, &count, indices, statuses));
        else
            CHECK_OK(MPI_Testsome(N, l->requests, &count, indices, statuses));
        CHECK(count >= (waiting ? 1 : 0) && count <= 4);
        for (int i = 0; i < count; i++) {
            CHECK(indices[i] >= 0 && indices[i] < N && (set & 1 << indices[i]));
            set &= ~(1 << indices[i]);
            check_done(l, indices[i], &statuses[i], peer);
        }
    }
}

static void use_some(int peer, int waiting)
{
    struct list l;
    int indices[N], count = -1;
    MPI_Status statuses[N];
    list_open(&l, peer);
    CHECK_OK(MPI_Testsome(N, l.requests, &count, indices, statuses));
    CHECK_INT(count, 0);
    ask(peer, 1, bytes_of(1));
    ask(peer, 3, bytes_of(3));
    take_some(&l, 1 << 2 | 1 << 5, waiting, peer);
    CHECK_OK(MPI_Testsome(N, l.requests, &count, indices, statuses));
    CHECK_INT(count, 0);
    ask(peer, 2, bytes_of(2));
    ask(peer, 0, bytes_of(0));
    take_some(&l, 1 << 1 | 1 << 4, waiting, peer);
    CHECK_OK(MPI_Waitsome(N, l.requests, &count, indices, statuses));
    CHECK_INT(count, MPI_UNDEFINED);
    CHECK_OK(MPI_Testsome(N, l.requests, &count, indices, statuses));
    CHECK_INT(count, MPI_UNDEFINED);
    list_close(&l);
}

static void check_all(const struct list *l, const MPI_Status *statuses, int peer)
{
    for (int place = 0; place < N; place++) {
        if (tag_at(place) < 0)
            CHECK_EMPTY(&statuses[place]);
        else
            check_done(l, place, &statuses[place], peer);
    }
}

static void use_waitall(int peer)
{
    struct list l;
    MPI_Status statuses[N];
    memset(statuses, 0, sizeof statuses);
    list_open(&l, peer);
    for (int tag = 3; tag >= 0; tag--)
        ask(peer, tag, bytes_of(tag));
    CHECK_OK(MPI_Waitall(N, l.requests, statuses));
    check_all(&l, statuses, peer);
    list_close(&l);
}

static void use_testall(int peer)
{
    struct list l;
    MPI_Request before[N];
    MPI_Status statuses[N], status;
    int flag = -1, done = 0;
    memset(statuses, 0, sizeof statuses);
    list_open(&l, peer);
    memcpy(before, l.requests, sizeof before);
    ask(peer, 0, bytes_of(0));
    while (!done) // until the one we asked for is complete
        CHECK_OK(MPI_Request_get_status(l.requests[1], &done, &status));
    CHECK_STATUS(&status, peer, 0, bytes_of(0));
    // Not all are complete, so no request changes, not even the complete one.
    for (int i = 0; i < 3; i++) {
        CHECK_OK(MPI_Testall(N, l.requests, &flag, statuses));
        CHECK(!flag);
        CHECK(memcmp(before, l.requests, sizeof before) == 0);
    }
    for (int tag = 1; tag < 4; tag++)
        ask(peer, tag, bytes_of(tag));
    while (!flag)
        CHECK_OK(MPI_Testall(N, l.requests, &flag, statuses));
    check_all(&l, statuses, peer);
    list_close(&l);
}

static void use_single(int peer)
{
    char *buf = must_alloc(BIG);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = -1;
    for (int tag = 0; tag < 4; tag++) {
        CHECK_OK(MPI_Irecv(buf, BIG, MPI_BYTE, peer, tag, WORLD, &r));
        for (int i = 0; i < 3; i++) {
            CHECK_OK(MPI_Test(&r, &flag, &status));
            CHECK(!flag && r != MPI_REQUEST_NULL);
        }
        ask(peer, tag, bytes_of(tag));
        while (!flag)
            CHECK_OK(MPI_Test(&r, &flag, &status));
        CHECK(r == MPI_REQUEST_NULL);
        CHECK_STATUS(&status, peer, tag, bytes_of(tag));
        CHECK_OK(MPI_Irecv(buf, BIG, MPI_BYTE, peer, tag, WORLD, &r));
        ask(peer, tag, bytes_of(tag));
        CHECK_OK(MPI_Wait(&r, &status));
        CHECK(r == MPI_REQUEST_NULL);
        CHECK_STATUS(&status, peer, tag, bytes_of(tag));
        CHECK_PATTERN(buf, (size_t)bytes_of(tag), (unsigned)tag);
    }
    free(buf);
}

// The forms that ignore statuses.
static void use_ignore(int peer)
{
    struct list l;
    int index = -1, flag = 0, count = -1, indices[N];
    list_open(&l, peer);
    ask(peer, 0, bytes_of(0));
    CHECK_OK(MPI_Waitany(N, l.requests, &index, MPI_STATUS_IGNORE));
    CHECK_INT(index, 1);
    ask(peer, 1, bytes_of(1));
    CHECK_OK(MPI_Waitsome(N, l.requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK_INT(count, 1);
    CHECK_INT(indices[0], 2);
    ask(peer, 2, bytes_of(2));
    while (!flag)
        CHECK_OK(MPI_Testany(N, l.requests, &index, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(index, 4);
    ask(peer, 3, bytes_of(3));
    for (flag = 0; !flag;)
        CHECK_OK(MPI_Testall(N, l.requests, &flag, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Waitall(N, l.requests, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Testsome(N, l.requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK_INT(count, MPI_UNDEFINED);
    list_close(&l);
}

static void scribble(MPI_Status *statuses, int n)
{
    for (int i = 0; i < n; i++)
        statuses[i].MPI_SOURCE = statuses[i].MPI_TAG = statuses[i].MPI_ERROR = 555;
}

// Lists without an active request, of length n; the requests are all null, or all inactive.
static void none_active(MPI_Request *requests, int n)
{
    MPI_Status statuses[4];
    int index = 0, flag = 0, count = 0, indices[4];
    scribble(statuses, 4);
    CHECK_OK(MPI_Waitany(n, requests, &index, &statuses[0]));
    CHECK_INT(index, MPI_UNDEFINED);
    CHECK_EMPTY(&statuses[0]);
    scribble(statuses, 4);
    CHECK_OK(MPI_Testany(n, requests, &index, &flag, &statuses[0]));
    CHECK_INT(index, MPI_UNDEFINED);
    CHECK(flag);
    if (STRICT)
        CHECK_EMPTY(&statuses[0]);
    CHECK_OK(MPI_Waitsome(n, requests, &count, indices, statuses));
    CHECK_INT(count, MPI_UNDEFINED);
    CHECK_OK(MPI_Testsome(n, requests, &count, indices, statuses));
    CHECK_INT(count, MPI_UNDEFINED);
    scribble(statuses, 4);
    CHECK_OK(MPI_Waitall(n, requests, statuses));
    for (int i = 0; i < n; i++)
        CHECK_EMPTY(&statuses[i]);
    scribble(statuses, 4);
    flag = 0;
    CHECK_OK(MPI_Testall(n, requests, &flag, statuses));
    CHECK(flag);
    for (int i = 0; i < n; i++)
        CHECK_EMPTY(&statuses[i]);
    if (n == 0)
        return;
    MPI_Request before = requests[0];
    scribble(statuses, 4);
    CHECK_OK(MPI_Wait(&requests[0], &statuses[0]));
    CHECK_EMPTY(&statuses[0]);
    scribble(statuses, 4);
    flag = 0;
    CHECK_OK(MPI_Test(&requests[0], &flag, &statuses[0]));
    CHECK(flag);
    CHECK_EMPTY(&statuses[0]);
    CHECK(requests[0] == before);
}

static void use_none(void)
{
    MPI_Request requests[4];
    int value = 0, rank = world_rank();
    none_active(NULL, 0);
    for (int i = 0; i < 4; i++)
        requests[i] = MPI_REQUEST_NULL;
    none_active(requests, 0);
    none_active(requests, 1);
    none_active(requests, 4);
    CHECK_OK(MPI_Recv_init(&value, 1, MPI_INT, rank, 1, WORLD, &requests[0]));
    CHECK_OK(MPI_Send_init(&value, 1, MPI_INT, rank, 1, WORLD, &requests[1]));
    CHECK_OK(MPI_Ssend_init(&value, 1, MPI_INT, rank, 1, WORLD, &requests[3]));
    none_active(requests, 4);
    CHECK_OK(MPI_Request_free(&requests[0]));
    CHECK_OK(MPI_Request_free(&requests[1]));
    CHECK_OK(MPI_Request_free(&requests[3]));
}

// Sends and receives in one list, completed by a mixture of calls. Everyone with everyone.
static void mixed_directions(void)
{
    int rank = world_rank(), size = world_size(), n = 2 * size, left = n;
    int *in = must_alloc((size_t)size * sizeof *in),
        *indices = must_alloc((size_t)n * sizeof *indices);
    MPI_Request *requests = must_alloc((size_t)n * sizeof *requests);
    MPI_Status *statuses = must_alloc((size_t)n * sizeof *statuses);
    for (int i = 0; i < size; i++) {
        CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, i, 40, WORLD, &requests[2 * i]));
        CHECK_OK(MPI_Issend(&rank, 1, MPI_INT, i, 40, WORLD, &requests[2 * i + 1]));
    }
    for (int turn = 0; left > 0; turn++) {
        int index = MPI_UNDEFINED, count = 0, flag = 0;
        switch (turn % 4) {
        case 0:
            CHECK_OK(MPI_Waitany(n, requests, &index, statuses));
            break;
        case 1:
            CHECK_OK(MPI_Testany(n, requests, &index, &flag, statuses));
            break;
        case 2:
            CHECK_OK(MPI_Testsome(n, requests, &count, indices, statuses));
            break;
        default:
            CHECK_OK(MPI_Waitsome(n, requests, &count, indices, statuses));
            break;
        }
        if (turn % 4 < 2 && index != MPI_UNDEFINED) {
            indices[0] = index;
            count = 1;
        }
        for (int i = 0; i < count; i++) {
            CHECK(requests[indices[i]] == MPI_REQUEST_NULL);
            left--;
            if (indices[i] % 2 == 0) {
                CHECK_STATUS(&statuses[i], indices[i] / 2, 40, sizeof(int));
                CHECK_INT(in[indices[i] / 2], indices[i] / 2);
            }
        }
    }
    free(in);
    free(indices);
    free(requests);
    free(statuses);
}

static void drive(int peer)
{
    use_single(peer);
    use_waitany(peer);
    use_testany(peer);
    use_some(peer, 1);
    use_some(peer, 0);
    use_waitall(peer);
    use_testall(peer);
    use_ignore(peer);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    use_none();
    for_each_pair(drive);
    mixed_directions();
    CHECK_OK(MPI_Finalize());
    return 0;
}
