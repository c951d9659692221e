// SPDX-License-Identifier: BSD-3-Clause
// The engine without MPI above it: workers as threads, each with some ranks, that exchange messages
// of all sizes and modes and check every byte. Run under ASan, UBSan and TSan.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/above.h"
#include "fiber/sanitize.h"
#include "os/os.h"
#include "p2p/job_test.h"
#include "p2p/p2p.h"
#include "p2p/settings.h"
#include "p2p/worker.h"
#include "type/build.h"

static void start_send(mlt_req *req, mlt_rank *me, void *buf, uint64_t n, int to, int tag,
                       mlt_send_mode mode, const mlt_type *type)
{
    mlt_req_init(req, me, MLT_REQ_SEND);
    mlt_req_message(req, buf, n, type, 0, me->world, to, tag);
    req->mode = (uint8_t)mode;
    mlt_p2p_send(req);
}

static void start_recv(mlt_req *req, mlt_rank *me, void *buf, uint64_t n, int from, int tag,
                       const mlt_type *type)
{
    mlt_req_init(req, me, MLT_REQ_RECV);
    mlt_req_message(req, buf, n, type, 0, me->world, from, tag);
    mlt_p2p_recv(req);
}

static unsigned char pattern(int from, int to, int round, uint64_t i)
{
    return (unsigned char)(from * 131 + to * 17 + round * 7 + (int)i);
}

static const uint64_t sizes[] = {0,    1,    8,    31,    32,    33,     64,     100,
                                 1000, 4096, 8192, 16384, 16385, 100000, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

// Every rank sends to every rank (itself too), all sizes, alternating modes; receives in another
// order.
static void all_to_all(void *rank)
{
    mlt_rank *me = rank;
    int n = (int)me->worker->world_size;
    for (int round = 0; round < SIZES; round++) {
        uint64_t bytes = sizes[round];
        mlt_req *sends = calloc((size_t)n, sizeof *sends),
                *recvs = calloc((size_t)n, sizeof *recvs);
        unsigned char **out = calloc((size_t)n, sizeof *out), **in = calloc((size_t)n, sizeof *in);
        mlt_req **all = calloc((size_t)n * 2, sizeof *all);
        for (int p = 0; p < n; p++) {
            out[p] = malloc(bytes + 1);
            in[p] = malloc(bytes + 1);
            for (uint64_t i = 0; i < bytes; i++)
                out[p][i] = pattern(me->world, p, round, i);
            all[p] = &sends[p];
            all[n + p] = &recvs[p];
        }
        for (int k = 0; k < n; k++) {
            int to = (me->world + k) % n, from = (me->world + 2 * n - k) % n;
            if (round % 3 == 0)
                start_recv(&recvs[from], me, in[from], bytes, from, round, MLT_TYPE_BYTE);
            start_send(&sends[to], me, out[to], bytes, to, round,
                       k % 2 ? MLT_MODE_SYNC : MLT_MODE_STANDARD, MLT_TYPE_BYTE);
        }
        if (round % 3)
            for (int from = n - 1; from >= 0; from--)
                start_recv(&recvs[from], me, in[from], bytes, from, round, MLT_TYPE_BYTE);
        CHECK(mlt_req_wait_all(me, all, (uint64_t)n * 2, "all_to_all"));
        for (int p = 0; p < n; p++) {
            CHECK(sends[p].done && recvs[p].done && recvs[p].got == bytes && recvs[p].from == p);
            for (uint64_t i = 0; i < bytes; i++)
                CHECK(in[p][i] == pattern(p, me->world, round, i));
            free(out[p]);
            free(in[p]);
        }
        free(sends);
        free(recvs);
        free(out);
        free(in);
        free(all);
    }
    CHECK(me->sends_open == 0);
}

// ---- data with gaps

enum { ELEMENT = 6 }; // bytes of data in an element of each type below

typedef struct gap_types {
    mlt_type pairs, apart, plain; // 3 bytes, a gap of 2, 3 bytes; 6 bytes and a gap; 6 bytes
} gap_types;

static void make_types(gap_types *t)
{
    mlt_type six;
    CHECK(mlt_type_make_vector(&t->pairs, MLT_TYPE_BYTE, 2, 3, 5) == MLT_OK);
    CHECK(mlt_type_make_vector(&six, MLT_TYPE_BYTE, 1, ELEMENT, 0) == MLT_OK);
    CHECK(mlt_type_make_resized(&t->apart, &six, 0, 7) == MLT_OK);
    t->plain = six;
}

static uint64_t place(const mlt_type *type, uint64_t i)
{
    return i / ELEMENT * (uint64_t)type->extent + i % ELEMENT +
           (type->extent == 8 && i % ELEMENT >= 3 ? 2 : 0);
}

// Every rank sends to every rank; the types of the two sides are all pairs of the three.
static void with_gaps(void *rank)
{
    static const uint64_t counts[] = {5, 1500, 12000};
    mlt_rank *me = rank;
    gap_types types;
    make_types(&types);
    const mlt_type *kinds[] = {&types.pairs, &types.apart, &types.plain};
    int n = (int)me->worker->world_size;
    for (int round = 0; round < 3 * 9; round++) {
        uint64_t count = counts[round / 9], bytes = count * ELEMENT;
        const mlt_type *out_type = kinds[round % 3], *in_type = kinds[round / 3 % 3];
        unsigned char *out = malloc(count * 8), *in = malloc(count * 8);
        int to = (me->world + round) % n, from = (me->world + n * 3 * 9 - round) % n;
        for (uint64_t i = 0; i < bytes; i++)
            out[place(out_type, i)] = pattern(me->world, to, round, i);
        mlt_req send, recv;
        start_send(&send, me, out, count, to, round, MLT_MODE_STANDARD, out_type);
        start_recv(&recv, me, in, count, from, round, in_type);
        mlt_req_wait(&recv, "with_gaps");
        mlt_req_wait(&send, "with_gaps");
        CHECK(recv.got == bytes && recv.from == from);
        for (uint64_t i = 0; i < bytes; i++)
            CHECK(in[place(in_type, i)] == pattern(from, me->world, round, i));
        free(out);
        free(in);
    }
    mlt_type_unmake(&types.pairs);
    mlt_type_unmake(&types.apart);
}

// Everybody floods rank 0, which takes its time; order and bounds hold.
static void flood(void *rank)
{
    mlt_rank *me = rank;
    enum { COUNT = 3000 };
    int n = (int)me->worker->world_size;
    if (me->world) {
        for (int i = 0; i < COUNT; i++) {
            mlt_req req;
            uint64_t value[4] = {(uint64_t)i, (uint64_t)me->world};
            if (!mlt_p2p_send_now(me, value, sizeof value, MLT_CODE_BYTE, 0, me->world, 5, 0)) {
                start_send(&req, me, value, sizeof value, 0, 5, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
                mlt_req_wait(&req, "flood");
            }
        }
        return;
    }
    int *next = calloc((size_t)n, sizeof *next);
    for (int k = 0; k < COUNT * (n - 1); k++) {
        uint64_t value[4];
        mlt_req req;
        mlt_msg_info info;
        mlt_msg *msg = NULL;
        if (k % 7 == 0) {
            mlt_p2p_probe(me, MLT_ANY_SOURCE, 5, 0, true, &info, &msg, "probe");
            mlt_req_init(&req, me, MLT_REQ_RECV);
            mlt_req_message(&req, value, sizeof value, MLT_TYPE_BYTE, 0, me->world, info.from, 5);
            mlt_p2p_recv_msg(&req, msg);
            CHECK(info.bytes == sizeof value);
        } else {
            start_recv(&req, me, value, sizeof value, MLT_ANY_SOURCE, MLT_ANY_TAG, MLT_TYPE_BYTE);
        }
        mlt_req_wait(&req, "flood");
        CHECK(req.got == sizeof value && (int)value[1] == req.from &&
              (int)value[0] == next[req.from]++);
    }
    free(next);
}

static void cancels(void *rank)
{
    mlt_rank *me = rank;
    int n = (int)me->worker->world_size, right = (me->world + 1) % n,
        left = (me->world + n - 1) % n;
    char *big = calloc(1, 200000), *got = calloc(1, 200000);
    mlt_req a, b, c;
    start_recv(&a, me, got, 10, left, 99, MLT_TYPE_BYTE);
    mlt_p2p_cancel(&a);
    CHECK(a.done && a.cancelled);
    start_send(&a, me, big, 200000, right, 1, MLT_MODE_STANDARD, MLT_TYPE_BYTE); // never received
    start_send(&b, me, big, 4, right, 2, MLT_MODE_SYNC, MLT_TYPE_BYTE);          // never received
    mlt_p2p_cancel(&a);
    mlt_p2p_cancel(&b);
    mlt_req_wait(&a, "cancel");
    mlt_req_wait(&b, "cancel");
    CHECK(a.cancelled && b.cancelled);
    start_send(&a, me, big, 200000, right, 3, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
    start_recv(&c, me, got, 200000, left, 3, MLT_TYPE_BYTE);
    mlt_req_wait(&c, "cancel");
    CHECK(c.got == 200000 && !c.cancelled);
    // The right neighbour says that it has ours: a cancel now comes too late.
    start_send(&b, me, big, 1, left, 4, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
    start_recv(&c, me, got, 1, right, 4, MLT_TYPE_BYTE);
    mlt_req_wait(&b, "cancel");
    mlt_req_wait(&c, "cancel");
    mlt_p2p_cancel(&a);
    mlt_req_wait(&a, "cancel");
    CHECK(!a.cancelled);
    free(big);
    free(got);
}

// Rank 0 takes message by message of one peer, which has many for it: what the other has sent is
// seen all the same.
static _Atomic uint32_t senders_ready;

static void nobody_starves(void *rank)
{
    enum { FLOOD = 100, GO = 60, MANY, ONE };
    mlt_rank *me = rank;
    unsigned char byte = 0;
    for (uint32_t turn = 0; turn < 2; turn++) {
        int flooder = turn ? 2 : 1;
        mlt_req one, many;
        if (me->world == 0) {
            start_recv(&one, me, &byte, 1, 3 - flooder, ONE, MLT_TYPE_BYTE);
            for (int to = 1; to <= 2; to++) {
                start_send(&many, me, &byte, 1, to, GO, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
                mlt_req_wait(&many, "starve");
            }
            while (atomic_load(&senders_ready) < 2 * (turn + 1))
                mlt_os_yield();
            for (int i = 0; i < FLOOD; i++) {
                start_recv(&many, me, &byte, 1, flooder, MANY, MLT_TYPE_BYTE);
                mlt_req_wait(&many, "starve");
            }
            CHECK(one.done);
            continue;
        }
        start_recv(&one, me, &byte, 1, 0, GO, MLT_TYPE_BYTE);
        mlt_req_wait(&one, "starve");
        for (int i = 0; i < (me->world == flooder ? FLOOD : 1); i++) {
            start_send(&one, me, &byte, 1, 0, me->world == flooder ? MANY : ONE, MLT_MODE_STANDARD,
                       MLT_TYPE_BYTE);
            mlt_req_wait(&one, "starve");
        }
        atomic_fetch_add(&senders_ready, 1);
    }
}

// ---- packets

// Every worker sends packets of all lengths to every worker (itself too) amid messages of ranks,
// more than fit into the rings; all arrive once, in order between two workers, and those that come
// back are answers that the handler itself sent.
enum { PACKETS = 2000, WORKERS_MOST = 4, PACKET_ASK = 7, PACKET_ANSWER = 9 };

typedef struct packet_state {
    int32_t next[WORKERS_MOST];     // asks, by sender
    int32_t answered[WORKERS_MOST]; // answers, by sender
    uint32_t left;                  // packets that have not come
    mlt_fiber *waiter;
} packet_state;

static _Thread_local packet_state packets;

static uint64_t packet_bytes(int32_t i, uint64_t most)
{
    return i % 16 == 0 ? most : i % 5 == 0 ? (uint64_t)i * 37 % 5000 : (uint64_t)i % 41;
}

static void packet_came(mlt_worker *w, uint32_t from, const mlt_packet *p, const void *data,
                        uint64_t bytes)
{
    const unsigned char *d = data;
    CHECK(p->src == (int32_t)from && p->dst == -(int32_t)w->index && p->object == 0xfffffff0u);
    if (p->kind == PACKET_ASK) {
        CHECK(p->word == packets.next[from]++);
        CHECK(bytes == packet_bytes(p->word, w->boot->job->ring_data / 4));
        for (uint64_t i = 0; i < bytes; i++)
            CHECK(d[i] == pattern((int)from, (int)w->index, p->word, i));
        mlt_packet answer = {.kind = PACKET_ANSWER,
                             .object = p->object,
                             .word = p->word,
                             .src = (int32_t)w->index,
                             .dst = -(int32_t)from};
        mlt_p2p_packet(w, from, &answer, d, bytes < 200 ? bytes : 200);
    } else {
        CHECK(p->kind == PACKET_ANSWER && p->word == packets.answered[from]++);
        for (uint64_t i = 0; i < bytes; i++)
            CHECK(d[i] == pattern((int)w->index, (int)from, p->word, i));
    }
    if (--packets.left == 0 && packets.waiter)
        mlt_fiber_wake(w->sched, packets.waiter);
}

static void packets_flow(void *rank)
{
    mlt_rank *me = rank;
    mlt_worker *w = me->worker;
    uint32_t workers = w->boot->job->workers;
    bool first = me->world == w->first_rank;
    int n = (int)w->world_size, right = (me->world + 1) % n, left = (me->world + n - 1) % n;
    uint64_t most = w->boot->job->ring_data / 4;
    CHECK(mlt_p2p_packet_most(w, w->index) == UINT64_MAX);
    unsigned char *body = malloc(most);
    if (first) {
        memset(&packets, 0, sizeof packets);
        packets.left = 2 * PACKETS * workers;
    }
    for (int i = 0; i < PACKETS; i++) {
        for (uint32_t to = 0; first && to < workers; to++) {
            mlt_packet p = {.kind = PACKET_ASK,
                            .object = 0xfffffff0u,
                            .word = i,
                            .src = (int32_t)w->index,
                            .dst = -(int32_t)to};
            uint64_t bytes = packet_bytes(i, most);
            for (uint64_t k = 0; k < bytes; k++)
                body[k] = pattern((int)w->index, (int)to, i, k);
            mlt_p2p_packet(w, to, &p, body, bytes);
        }
        if (i % 64)
            continue;
        int value = i, got = -1;
        mlt_req send, recv;
        start_send(&send, me, &value, sizeof value, right, 3, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
        start_recv(&recv, me, &got, sizeof got, left, 3, MLT_TYPE_BYTE);
        mlt_req_wait(&recv, "packets");
        mlt_req_wait(&send, "packets");
        CHECK(got == i);
    }
    free(body);
    mlt_wait wait = {.call = "packets", .kind = MLT_WAIT_OTHER};
    while (first && packets.left) {
        packets.waiter = w->sched->current;
        mlt_fiber_park(w->sched, &wait);
    }
}

static void run(uint32_t workers, uint32_t ranks, const char *policy, void (*entry)(void *rank))
{
    test_job_run(workers, ranks, policy, entry, NULL);
}

// With an argument: half round trip of ranks 0 and 1 and bytes.
static void pingpong(void *rank)
{
    mlt_rank *me = rank;
    enum { ROUNDS = 1000000 };
    uint64_t value = 0;
    uint64_t start = mlt_os_now_ns();
    for (int i = 0; i < ROUNDS; i++) {
        mlt_req req;
        for (int turn = 0; turn < 2; turn++)
            if (turn == me->world) {
                CHECK(
                    mlt_p2p_send_now(me, &value, 8, MLT_CODE_BYTE, 1 - me->world, me->world, 0, 0));
            } else {
                start_recv(&req, me, &value, 8, 1 - me->world, 0, MLT_TYPE_BYTE);
                mlt_req_wait(&req, "pingpong");
            }
    }
    if (me->world == 0)
        printf("half round trip %.1f ns\n", (double)(mlt_os_now_ns() - start) / ROUNDS / 2);
}

const mlt_above_calls mlt_above = {.packet = packet_came};

int main(int argc, char **argv)
{
    char why[256];
    if (mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        run(2, 1, "direct", pingpong);
        run(1, 2, "direct", pingpong);
        return 0;
    }
    run(3, 1, "direct", nobody_starves);
    run(2, 1, "direct", packets_flow);
    run(4, 1, "direct", packets_flow);
    run(3, 2, "random:3", packets_flow);
    // Policies choose within a worker, which is one thread: TSan sees all it can with two of them.
    static const char *const policies[] = {"direct", "random:7", "rr", "priority"};
    for (size_t p = 0; p < (MLT_SANITIZED_THREAD ? 2 : 4); p++) {
        static const uint32_t shapes[][2] = {{1, 4}, {2, 1}, {2, 3}, {4, 1}, {3, 2}};
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            run(shapes[s][0], shapes[s][1], policies[p], all_to_all);
            if (p == 0)
                run(shapes[s][0], shapes[s][1], policies[p], with_gaps);
            run(shapes[s][0], shapes[s][1], policies[p], flood);
            run(shapes[s][0], shapes[s][1], policies[p], cancels);
        }
    }
    return 0;
}
