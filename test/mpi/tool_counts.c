// SPDX-License-Identifier: BSD-3-Clause
//
// Performance variables count what happens: messages and bytes by distance, matches, queues and
// their extremes, waits, collective operations, what was sent on a communicator. A handle counts from
// its start to its stop, and sessions and ranks see nothing of each other.

#include "check.h"

typedef struct counter {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
} counter;

static int index_of(const char *name, int class)
{
    int i = -1;
    CHECK_INT(MPI_T_pvar_get_index(name, class, &i), MPI_SUCCESS);
    return i;
}

static counter open_counter(MPI_T_pvar_session s, const char *name, int class, MPI_Comm *comm)
{
    counter c = {s, MPI_T_PVAR_HANDLE_NULL};
    int count = -1;
    CHECK_INT(MPI_T_pvar_handle_alloc(s, index_of(name, class), comm, &c.handle, &count),
              MPI_SUCCESS);
    CHECK_INT(count, 1);
    return c;
}

static unsigned long long value_of(counter c)
{
    unsigned long long value = ~0ull;
    CHECK_INT(MPI_T_pvar_read(c.session, c.handle, &value), MPI_SUCCESS);
    return value;
}

static void start(counter c)
{
    CHECK_INT(MPI_T_pvar_start(c.session, c.handle), MPI_SUCCESS);
}

static void stop(counter c)
{
    CHECK_INT(MPI_T_pvar_stop(c.session, c.handle), MPI_SUCCESS);
}

static void exchange(int n, int bytes, int to, int from, MPI_Comm comm)
{
    char out[256] = "", in[256];
    for (int i = 0; i < n; i++)
        CHECK_OK(MPI_Sendrecv(out, bytes, MPI_BYTE, to, 3, in, bytes, MPI_BYTE, from, 3, comm,
                              MPI_STATUS_IGNORE));
}

// ---- by distance, and on a communicator

static void check_sent(MPI_T_pvar_session s, int to, int from)
{
    static const char *const names[] = {"sent_worker", "sent_process", "sent_host", "sent_far"};
    static const char *const bytes[] = {"sent_worker_bytes", "sent_process_bytes",
                                        "sent_host_bytes", "sent_far_bytes"};
    counter sent[4], sum[4], eager, asked, received;
    unsigned long long all = 0, all_bytes = 0;
    for (int d = 0; d < 4; d++) {
        sent[d] = open_counter(s, names[d], MPI_T_PVAR_CLASS_COUNTER, NULL);
        sum[d] = open_counter(s, bytes[d], MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    }
    eager = open_counter(s, "sent_eager", MPI_T_PVAR_CLASS_COUNTER, NULL);
    asked = open_counter(s, "sent_rendezvous", MPI_T_PVAR_CLASS_COUNTER, NULL);
    received = open_counter(s, "received", MPI_T_PVAR_CLASS_COUNTER, NULL);
    exchange(5, 10, to, from, MPI_COMM_WORLD); // nothing runs yet
    CHECK_INT(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    exchange(7, 100, to, from, MPI_COMM_WORLD);
    CHECK_INT(MPI_T_pvar_stop(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    exchange(5, 10, to, from, MPI_COMM_WORLD);
    for (int d = 0; d < 4; d++) {
        CHECK(value_of(sent[d]) == 0 || value_of(sent[d]) == 7);
        CHECK_INT(value_of(sum[d]), 100 * value_of(sent[d]));
        all += value_of(sent[d]);
        all_bytes += value_of(sum[d]);
    }
    CHECK_INT(all, 7);
    CHECK_INT(all_bytes, 700);
    CHECK_INT(value_of(eager) + value_of(asked), 7);
    CHECK_INT(value_of(received), 7);
    CHECK_INT(MPI_T_pvar_reset(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(value_of(received), 0);
    for (int d = 0; d < 4; d++)
        CHECK_INT(MPI_T_pvar_handle_free(s, &sent[d].handle), MPI_SUCCESS);
}

static void check_views(int to, int from)
{
    MPI_T_pvar_session one, two;
    unsigned long long value = 1000;
    CHECK_INT(MPI_T_pvar_session_create(&one), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_create(&two), MPI_SUCCESS);
    counter a = open_counter(one, "received", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter b = open_counter(two, "received", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter c = open_counter(two, "received_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    start(a);
    exchange(2, 8, to, from, MPI_COMM_WORLD);
    start(b);
    start(c);
    exchange(3, 8, to, from, MPI_COMM_WORLD);
    CHECK_INT(value_of(a), 5);
    CHECK_INT(value_of(b), 3);
    CHECK_INT(value_of(c), 24);
    CHECK_INT(MPI_T_pvar_write(two, b.handle, &value), MPI_SUCCESS);
    exchange(1, 8, to, from, MPI_COMM_WORLD);
    CHECK_INT(value_of(a), 6);
    CHECK_INT(value_of(b), 1001);
    CHECK_INT(MPI_T_pvar_readreset(two, b.handle, &value), MPI_SUCCESS);
    CHECK_INT(value, 1001);
    exchange(1, 8, to, from, MPI_COMM_WORLD);
    CHECK_INT(value_of(b), 1);
    stop(a);
    exchange(1, 8, to, from, MPI_COMM_WORLD);
    start(a); // goes on from where it stood
    exchange(1, 8, to, from, MPI_COMM_WORLD);
    CHECK_INT(value_of(a), 8);
    CHECK_INT(value_of(b), 3);
    CHECK_INT(MPI_T_pvar_session_free(&two), MPI_SUCCESS); // with its handles
    CHECK_INT(value_of(a), 8);
    CHECK_INT(MPI_T_pvar_session_free(&one), MPI_SUCCESS);
}

static void check_comm(MPI_T_pvar_session s, int to, int from)
{
    MPI_Comm comm, null = MPI_COMM_NULL;
    MPI_T_pvar_handle h;
    int count, i = index_of("comm_sent", MPI_T_PVAR_CLASS_COUNTER);
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    counter sent = open_counter(s, "comm_sent", MPI_T_PVAR_CLASS_COUNTER, &comm);
    counter bytes = open_counter(s, "comm_sent_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &comm);
    counter got = open_counter(s, "comm_received", MPI_T_PVAR_CLASS_COUNTER, &comm);
    counter in = open_counter(s, "comm_received_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &comm);
    counter colls = open_counter(s, "comm_collectives", MPI_T_PVAR_CLASS_COUNTER, &comm);
    CHECK_INT(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    exchange(4, 20, to, from, comm);
    exchange(9, 20, to, from, MPI_COMM_WORLD);
    CHECK_OK(MPI_Barrier(comm));
    CHECK_OK(MPI_Barrier(comm));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_INT(value_of(sent), 4);
    CHECK_INT(value_of(bytes), 80);
    CHECK_INT(value_of(got), 4);
    CHECK_INT(value_of(in), 80);
    CHECK_INT(value_of(colls), 2);
    CHECK_OK(MPI_Barrier(comm));
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, &null, &h, &count), MPI_T_ERR_INVALID_HANDLE);
    null = comm;
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_INT(value_of(colls), 3); // the communicator is gone, what it counted is not
    CHECK_INT(value_of(sent), 4);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, &null, &h, &count), MPI_T_ERR_INVALID_HANDLE);
}

// ---- queues

static void check_queues(MPI_T_pvar_session s, int rank)
{
    enum { N = 6 };
    char out[8] = "", in[N][8];
    MPI_Request requests[N];
    MPI_Comm self = MPI_COMM_SELF;
    counter held = open_counter(s, "unexpected_length", MPI_T_PVAR_CLASS_LEVEL, NULL);
    counter on_self = open_counter(s, "comm_unexpected_length", MPI_T_PVAR_CLASS_LEVEL, &self);
    counter most = open_counter(s, "unexpected_most", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    counter posted = open_counter(s, "posted_length", MPI_T_PVAR_CLASS_LEVEL, NULL);
    counter posted_most = open_counter(s, "posted_most", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    counter unexpected = open_counter(s, "unexpected", MPI_T_PVAR_CLASS_COUNTER, NULL);
    unsigned long long others = value_of(held) - value_of(on_self);
    CHECK_INT(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    for (int i = 0; i < N; i++)
        CHECK_OK(MPI_Send(out, 8, MPI_BYTE, 0, i, MPI_COMM_SELF));
    CHECK_INT(value_of(on_self), N);
    CHECK(value_of(held) >= N + others);
    CHECK(value_of(unexpected) >= N);
    for (int i = 0; i < N; i++)
        CHECK_OK(MPI_Recv(in[i], 8, MPI_BYTE, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK_INT(value_of(on_self), 0);
    CHECK(value_of(most) >= N);
    CHECK_INT(MPI_T_pvar_reset(s, most.handle), MPI_SUCCESS);
    CHECK(value_of(most) < N); // nothing of other ranks comes now
    for (int i = 0; i < N; i++)
        CHECK_OK(MPI_Irecv(in[i], 8, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[i]));
    CHECK_INT(value_of(posted), N);
    CHECK_INT(value_of(posted_most), N);
    // The fewest since they were posted.
    counter least = open_counter(s, "posted_least", MPI_T_PVAR_CLASS_LOWWATERMARK, NULL);
    start(least);
    CHECK_INT(value_of(least), N);
    for (int i = 0; i < N; i++)
        CHECK_OK(MPI_Send(out, 8, MPI_BYTE, 0, i, MPI_COMM_SELF));
    CHECK_OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(value_of(posted), 0);
    CHECK_INT(value_of(least), 0);
    CHECK_INT(value_of(posted_most), N);
    (void)rank;
}

// ---- waits, collectives, the worker

static void check_waits(MPI_T_pvar_session s, int to, int from)
{
    counter waits = open_counter(s, "waits", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter time = open_counter(s, "wait_time", MPI_T_PVAR_CLASS_TIMER, NULL);
    counter last = open_counter(s, "last_wait", MPI_T_PVAR_CLASS_STATE, NULL);
    double waited = -1, before = -1;
    int what = -1;
    start(waits);
    start(time);
    start(last);
    exchange(20, 8, to, from, MPI_COMM_WORLD);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_INT(MPI_T_pvar_read(s, time.handle, &waited), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_read(s, last.handle, &what), MPI_SUCCESS);
    CHECK(waited >= 0 && waited < 100);
    CHECK(value_of(waits) > 0 || waited <= 0);
    CHECK((value_of(waits) > 0) <= (what > 0));
    before = waited;
    exchange(20, 8, to, from, MPI_COMM_WORLD);
    CHECK_INT(MPI_T_pvar_read(s, time.handle, &waited), MPI_SUCCESS);
    CHECK(waited >= before);
    before = -1;
    CHECK_INT(MPI_T_pvar_write(s, time.handle, &before), MPI_T_ERR_INVALID);
    before = 2.5;
    stop(time);
    CHECK_INT(MPI_T_pvar_write(s, time.handle, &before), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_read(s, time.handle, &waited), MPI_SUCCESS);
    CHECK(waited > 2.49 && waited < 2.51);
}

// ---- windows and partitioned messages

typedef struct by_distance {
    counter count[4], bytes[4];
} by_distance;

static by_distance open_distances(MPI_T_pvar_session s, const char *what)
{
    static const char *const where[] = {"worker", "process", "host", "far"};
    by_distance all;
    for (int d = 0; d < 4; d++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", what, where[d]);
        all.count[d] = open_counter(s, name, MPI_T_PVAR_CLASS_COUNTER, NULL);
        snprintf(name, sizeof name, "%s_%s_bytes", what, where[d]);
        all.bytes[d] = open_counter(s, name, MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    }
    return all;
}

// All went to one rank, so to one distance: the one that messages to it have.
static void check_distances(const by_distance *all, const by_distance *sent,
                            unsigned long long count, unsigned long long bytes)
{
    for (int d = 0; d < 4; d++) {
        CHECK_INT(value_of(all->count[d]), value_of(sent->count[d]) ? count : 0);
        CHECK_INT(value_of(all->bytes[d]), value_of(sent->count[d]) ? bytes : 0);
    }
}

// 2 puts, 3 gets, 4 accumulates; the first is of 5 ints, all others are of one.
static void use_window(MPI_Win win, int to)
{
    int x[5] = {1, 2, 3, 4, 5}, y[5], one = 1;
    MPI_Request request;
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win));
    CHECK_OK(MPI_Put(x, 5, MPI_INT, to, 0, 5, MPI_INT, win));
    CHECK_OK(MPI_Rput(x, 1, MPI_INT, to, 0, 1, MPI_INT, win, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Get(y, 1, MPI_INT, to, 0, 1, MPI_INT, win));
    CHECK_OK(MPI_Get_c(y, 1, MPI_INT, to, 0, 1, MPI_INT, win));
    CHECK_OK(MPI_Get(y, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win)); // nobody's
    CHECK_OK(MPI_Rget(y, 1, MPI_INT, to, 0, 1, MPI_INT, win, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Accumulate(x, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win));
    CHECK_OK(MPI_Get_accumulate(x, 1, MPI_INT, y, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win));
    CHECK_OK(MPI_Fetch_and_op(&one, y, MPI_INT, to, 0, MPI_SUM, win));
    CHECK_OK(MPI_Compare_and_swap(&one, &one, y, MPI_INT, to, 0, win));
    CHECK_OK(MPI_Win_unlock(to, win));
}

static void check_window(MPI_T_pvar_session s, int to, int from)
{
    MPI_Win win;
    int *base;
    double waited = -1;
    CHECK_OK(
        MPI_Win_allocate(5 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    counter puts = open_counter(s, "puts", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter gets = open_counter(s, "gets", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter accumulates = open_counter(s, "accumulates", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter waits = open_counter(s, "lock_waits", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter time = open_counter(s, "lock_wait_time", MPI_T_PVAR_CLASS_TIMER, NULL);
    by_distance all = open_distances(s, "one_sided"), sent = open_distances(s, "sent");
    use_window(win, to); // nothing runs yet
    CHECK_INT(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    use_window(win, to);
    CHECK_INT(MPI_T_pvar_stop(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(value_of(puts), 2);
    CHECK_INT(value_of(gets), 3);
    CHECK_INT(value_of(accumulates), 4);
    CHECK_INT(MPI_T_pvar_read(s, time.handle, &waited), MPI_SUCCESS);
    CHECK(waited >= 0 && waited < 100 && (value_of(waits) > 0 || waited <= 0));
    CHECK_OK(MPI_Win_free(&win));
    for (int d = 0; d < 4; d++)
        start(sent.count[d]);
    exchange(1, 8, to, from, MPI_COMM_WORLD);
    check_distances(&all, &sent, 9, 20 + 8 * 4);
}

// Rank 1 waits in MPI_Win_lock until rank 0 unlocks, which it does after a while.
static void check_lock_waits(MPI_T_pvar_session s, int rank)
{
    MPI_Win win;
    int *base;
    counter waits = open_counter(s, "lock_waits", MPI_T_PVAR_CLASS_COUNTER, NULL);
    CHECK_OK(
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    start(waits);
    if (rank == 0)
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        double end = MPI_Wtime() + 0.02;
        while (MPI_Wtime() < end)
            CHECK_OK(MPI_Iprobe(0, 99, MPI_COMM_SELF, &(int){0}, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Win_unlock(0, win));
        CHECK_INT(value_of(waits), 0);
    } else if (rank == 1) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        CHECK_OK(MPI_Win_unlock(0, win));
        CHECK(value_of(waits) >= 1);
    }
    stop(waits);
    CHECK_OK(MPI_Win_free(&win));
}

static void check_partitions(MPI_T_pvar_session s, int to, int from)
{
    enum { PARTS = 6, EACH = 5, ROUNDS = 3 };
    char out[PARTS * EACH] = "", in[PARTS * EACH];
    MPI_Request r[2];
    by_distance all = open_distances(s, "partitioned"), sent = open_distances(s, "sent");
    counter parts = open_counter(s, "partitions", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter got = open_counter(s, "partitioned_received", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter bytes = open_counter(s, "partitioned_received_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    CHECK_OK(
        MPI_Psend_init(out, PARTS, EACH, MPI_BYTE, to, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    CHECK_OK(MPI_Precv_init(in, PARTS / 2, 2 * EACH, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &r[1]));
    CHECK_INT(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(MPI_Startall(2, r));
        CHECK_OK(MPI_Pready_range(0, PARTS - 1, r[0]));
        CHECK_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    }
    CHECK_INT(MPI_T_pvar_stop(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(value_of(parts), ROUNDS * PARTS);
    CHECK_INT(value_of(got), ROUNDS);
    CHECK_INT(value_of(bytes), ROUNDS * PARTS * EACH);
    CHECK_OK(MPI_Request_free(&r[0]));
    CHECK_OK(MPI_Request_free(&r[1]));
    for (int d = 0; d < 4; d++)
        start(sent.count[d]);
    exchange(1, 8, to, from, MPI_COMM_WORLD);
    check_distances(&all, &sent, ROUNDS, ROUNDS * PARTS * EACH);
}

static void check_collectives(MPI_T_pvar_session s)
{
    int x = 1, sum;
    MPI_Request request;
    counter barrier = open_counter(s, "calls_barrier", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter allreduce = open_counter(s, "calls_allreduce", MPI_T_PVAR_CLASS_COUNTER, NULL);
    counter bcast = open_counter(s, "calls_bcast", MPI_T_PVAR_CLASS_COUNTER, NULL);
    start(barrier);
    start(allreduce);
    start(bcast);
    for (int i = 0; i < 3; i++)
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_OK(MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(PMPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(
        MPI_Allreduce_init(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    CHECK_OK(MPI_Request_free(&request));
    CHECK_INT(value_of(barrier), 4);
    CHECK_INT(value_of(allreduce), 3);
    CHECK_INT(value_of(bcast), 0);
}

static void check_worker(MPI_T_pvar_session s, int to, int from)
{
    MPI_T_pvar_handle h, idle;
    int count = -1, i = index_of("worker_sent", MPI_T_PVAR_CLASS_COUNTER), state = -1;
    unsigned long long sent[4], sum = 0;
    double part = -1, seconds = -1;
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count), MPI_SUCCESS);
    CHECK_INT(count, 4);
    CHECK_INT(MPI_T_pvar_start(s, h), MPI_T_ERR_PVAR_NO_STARTSTOP);
    exchange(10, 8, to, from, MPI_COMM_WORLD);
    CHECK_INT(MPI_T_pvar_read(s, h, sent), MPI_SUCCESS);
    for (int d = 0; d < 4; d++)
        sum += sent[d];
    CHECK(sum >= 10); // other ranks may share the worker
    i = index_of("worker_hold_used", MPI_T_PVAR_CLASS_PERCENTAGE);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_read(s, h, &part), MPI_SUCCESS);
    CHECK(part >= 0 && part <= 1);
    i = index_of("rank_state", MPI_T_PVAR_CLASS_STATE);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_read(s, h, &state), MPI_SUCCESS);
    CHECK_INT(state, 1);
    i = index_of("worker_idle", MPI_T_PVAR_CLASS_TIMER);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, NULL, &idle, &count), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_start(s, idle), MPI_SUCCESS);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_INT(MPI_T_pvar_read(s, idle, &seconds), MPI_SUCCESS);
    CHECK(seconds >= 0 && seconds < 100);
    counter ranks = open_counter(s, "worker_ranks", MPI_T_PVAR_CLASS_SIZE, NULL);
    counter memory = open_counter(s, "process_memory", MPI_T_PVAR_CLASS_LEVEL, NULL);
    counter peak = open_counter(s, "process_memory_most", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    CHECK(value_of(ranks) >= 1);
    CHECK(value_of(memory) > 0 && value_of(peak) > 0);
}

static void check_sessions(void)
{
    enum { ROOM = 1 << 12 };
    MPI_T_pvar_session *s = must_alloc(ROOM * sizeof *s);
    int n = 0, code = MPI_SUCCESS;
    while (n < ROOM && (code = MPI_T_pvar_session_create(&s[n])) == MPI_SUCCESS)
        n++;
    CHECK_INT(code, MPI_T_ERR_OUT_OF_SESSIONS);
    for (int i = 0; i < n; i++)
        CHECK_INT(MPI_T_pvar_session_free(&s[i]), MPI_SUCCESS);
    free(s);
}

int main(int argc, char **argv)
{
    int provided = -1, count = -1;
    MPI_T_pvar_session s, early;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    // Started before MPI_Init, it counts from the first message on.
    CHECK_INT(MPI_T_pvar_session_create(&early), MPI_SUCCESS);
    counter first = open_counter(early, "received", MPI_T_PVAR_CLASS_COUNTER, NULL);
    start(first);
    MPI_Comm world = MPI_COMM_WORLD;
    int i = index_of("comm_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle none;
    CHECK_INT(MPI_T_pvar_handle_alloc(early, i, &world, &none, &count), MPI_T_ERR_INVALID_HANDLE);
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    exchange(3, 8, to, from, MPI_COMM_WORLD);
    CHECK_INT(value_of(first), 3);
    for (int round = 0; round < 2; round++) {
        CHECK_INT(MPI_T_pvar_session_create(&s), MPI_SUCCESS);
        check_sent(s, to, from);
        check_comm(s, to, from);
        check_window(s, to, from);
        if (size > 1)
            check_lock_waits(s, rank);
        check_partitions(s, to, from);
        CHECK_INT(MPI_T_pvar_session_free(&s), MPI_SUCCESS);
        CHECK_INT(MPI_T_pvar_session_create(&s), MPI_SUCCESS);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        check_queues(s, rank);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        check_waits(s, to, from);
        check_collectives(s);
        check_worker(s, to, from);
        CHECK_INT(MPI_T_pvar_session_free(&s), MPI_SUCCESS);
        check_views(to, from);
    }
    check_sessions();
    unsigned long long all = value_of(first);
    CHECK_OK(MPI_Finalize());
    CHECK(value_of(first) >= all);
    CHECK_INT(MPI_T_pvar_session_free(&early), MPI_SUCCESS);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
