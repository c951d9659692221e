// SPDX-License-Identifier: BSD-3-Clause
// What ranks do in the tests of the engine: exchange messages of all sizes and modes, data with gaps,
// floods, cancelled sends and packets, and check every byte. For jobs of threads (engine_test.c) and
// over several hosts (hosts_test.c).
#pragma once

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/upcalls.h"
#include "os/os.h"
#include "p2p/job_test.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"
#include "type/build.h"

static inline void start_send(mlt_req *req, mlt_rank *me, void *buf, uint64_t n, int to, int tag,
                              mlt_send_mode mode, const mlt_type *type)
{
    mlt_req_init(req, me, MLT_REQ_SEND);
    mlt_req_message(req, buf, n, type, 0, me->world, to, tag);
    req->mode = (uint8_t)mode;
    mlt_p2p_send(req);
}

static inline void start_recv(mlt_req *req, mlt_rank *me, void *buf, uint64_t n, int from, int tag,
                              const mlt_type *type)
{
    mlt_req_init(req, me, MLT_REQ_RECV);
    mlt_req_message(req, buf, n, type, 0, me->world, from, tag);
    mlt_p2p_recv(req);
}

static inline unsigned char pattern(int from, int to, int round, uint64_t i)
{
    return (unsigned char)(from * 131 + to * 17 + round * 7 + (int)i);
}

static const uint64_t sizes[] = {0,    1,    8,    31,    32,    33,     64,     100,
                                 1000, 4096, 8192, 16384, 16385, 100000, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

// Every rank sends to every rank (itself too), all sizes, alternating modes; receives in another
// order.
static inline void all_to_all(void *rank)
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

static inline void make_types(gap_types *t)
{
    mlt_type six;
    CHECK(mlt_type_make_vector(&t->pairs, MLT_TYPE_BYTE, 2, 3, 5) == MLT_OK);
    CHECK(mlt_type_make_vector(&six, MLT_TYPE_BYTE, 1, ELEMENT, 0) == MLT_OK);
    CHECK(mlt_type_make_resized(&t->apart, &six, 0, 7) == MLT_OK);
    t->plain = six;
}

static inline uint64_t place(const mlt_type *type, uint64_t i)
{
    return i / ELEMENT * (uint64_t)type->extent + i % ELEMENT +
           (type->extent == 8 && i % ELEMENT >= 3 ? 2 : 0);
}

// Every rank sends to every rank; the types of the two sides are all pairs of the three.
static inline void with_gaps(void *rank)
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
static inline void flood(void *rank)
{
    mlt_rank *me = rank;
    enum { COUNT = 3000 };
    int n = (int)me->worker->world_size;
    if (me->world) {
        for (int i = 0; i < COUNT; i++) {
            mlt_req req;
            uint64_t value[4] = {(uint64_t)i, (uint64_t)me->world};
            const mlt_envelope e = {
                .bytes = sizeof value, .src = me->world, .tag = 5, .type = MLT_CODE_BYTE};
            if (!mlt_p2p_send_now(me, value, 0, &e)) {
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

static inline void cancels(void *rank)
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

// ---- packets

// Every worker sends packets of all lengths to every worker (itself too) amid messages of ranks,
// more than fit into the rings; all arrive once, in order between two workers, and those that come
// back are answers that the handler itself sent.
enum {
    PACKETS = 2000,
    WORKERS_MOST = 8,
    PACKET_ASK = 7,
    PACKET_ANSWER = 9,
    PACKET_BODY = 16 << 10
};

typedef struct packet_state {
    int32_t next[WORKERS_MOST];     // asks, by sender
    int32_t answered[WORKERS_MOST]; // answers, by sender
    uint32_t left;                  // packets that have not come
    mlt_fiber *waiter;
} packet_state;

static _Thread_local packet_state packets;

static inline uint64_t packet_bytes(int32_t i, uint64_t most)
{
    return i % 16 == 0 ? most : i % 5 == 0 ? (uint64_t)i * 37 % 5000 : (uint64_t)i % 41;
}

// Of a packet between these workers; to itself as much as to another.
static inline uint64_t most_to(mlt_worker *w, uint32_t other)
{
    uint64_t most = other == w->index ? 4096 : mlt_p2p_packet_most(w, other);
    CHECK(most <= PACKET_BODY);
    return most;
}

static inline void packet_came(mlt_worker *w, uint32_t from, const mlt_packet *p, const void *data,
                               uint64_t bytes)
{
    const unsigned char *d = data;
    CHECK(p->src == (int32_t)from && p->dst == -(int32_t)w->index && p->object == 0xfffffff0u);
    if (p->kind == PACKET_ASK) {
        CHECK(p->word == packets.next[from]++);
        CHECK(bytes == packet_bytes(p->word, most_to(w, from)));
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

static inline void packets_flow(void *rank)
{
    mlt_rank *me = rank;
    mlt_worker *w = me->worker;
    uint32_t workers = w->boot->job->workers;
    bool first = me->world == w->first_rank;
    int n = (int)w->world_size, right = (me->world + 1) % n, left = (me->world + n - 1) % n;
    CHECK(mlt_p2p_packet_most(w, w->index) == UINT64_MAX);
    unsigned char *body = malloc(PACKET_BODY);
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
            uint64_t bytes = packet_bytes(i, most_to(w, to));
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

// With an argument of the test: half round trip of ranks 0 and 1.
static inline void pingpong(void *rank)
{
    mlt_rank *me = rank;
    enum { WARM_UP = 100, ROUNDS = 20000 };
    uint64_t value = 0, start = 0;
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        mlt_req req;
        if (i == 0)
            start = mlt_os_now_ns();
        for (int turn = 0; turn < 2; turn++)
            if (turn == me->world) {
                const mlt_envelope e = {.bytes = 8, .src = me->world, .type = MLT_CODE_BYTE};
                CHECK(mlt_p2p_send_now(me, &value, 1 - me->world, &e));
            } else {
                start_recv(&req, me, &value, 8, 1 - me->world, 0, MLT_TYPE_BYTE);
                mlt_req_wait(&req, "pingpong");
            }
    }
    if (me->world == 0)
        printf("half round trip %.1f ns\n", (double)(mlt_os_now_ns() - start) / ROUNDS / 2);
}
