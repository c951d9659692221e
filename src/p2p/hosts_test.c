// SPDX-License-Identifier: BSD-3-Clause
// The engine over several hosts: everything that engine_test.c does inside a process, and what only
// connections can do: fill up, cross, end and break.
#include "p2p/hosts_test.h"

#include <sys/resource.h>

#include "base/settings.h"
#include "fiber/sanitize.h"
#include "p2p/exchange_test.h"
#include "p2p/settings.h"
#include "wire/transport.h"

const mlt_upcall_table mlt_upcalls = {.packet = packet_came};

static void encrypted(hosts_shape shape, void (*entry)(void *rank))
{
    hosts_job j = {.shape = shape, .encrypts = true};
    mlt_conf.sched = "direct";
    snprintf(now_testing, sizeof now_testing, "%u workers a process, encrypted", shape.workers);
    hosts_run_with(&j, entry);
}

static void try_all(hosts_shape shape, const char *policy)
{
    hosts_run(shape, policy, all_to_all);
    hosts_run(shape, policy, with_gaps);
    hosts_run(shape, policy, flood);
    hosts_run(shape, policy, cancels);
    hosts_run(shape, policy, packets_flow);
}

// The first of two messages wakes rank 0, so the second is left where it was read, while other
// connections ring.
static void pairs_of_messages(void *rank)
{
    enum { ROUNDS = 2000, MOST = 16 };
    mlt_rank *me = rank;
    int n = (int)me->worker->world_size;
    unsigned char byte = 0, in[MOST];
    mlt_req req, all[MOST];
    for (int i = 0; i < ROUNDS; i++) {
        for (int r = 2; r < n; r++) {
            if (me->world == 0) {
                start_send(&req, me, &byte, 1, r, 0, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
                mlt_req_wait(&req, "pairs");
            } else if (me->world == r) {
                start_recv(&req, me, &byte, 1, 0, 0, MLT_TYPE_BYTE);
                mlt_req_wait(&req, "pairs");
                for (int tag = 1; tag <= 2; tag++)
                    CHECK(mlt_p2p_send_soon(
                        me, &byte, 0,
                        &(mlt_envelope){.bytes = 1, .src = r, .tag = tag, .type = MLT_CODE_BYTE}));
                (void)mlt_worker_step(me->worker);
            }
        }
        for (int tag = 1; me->world == 0 && tag <= 2; tag++) {
            for (int r = 2; r < n; r++)
                start_recv(&all[r], me, &in[r], 1, r, tag, MLT_TYPE_BYTE);
            for (int r = 2; r < n; r++)
                mlt_req_wait(&all[r], "pairs");
        }
    }
}

// Messages that go with their envelope: into receives with less room than that, with none, with
// gaps; posted before the messages come, after, or while they do. A small one follows each.
static void long_messages(void *rank)
{
    enum { MOST = 64 << 10, ROOMS = 6 };
    static const uint64_t lengths[] = {8193, 8200, 40001, MOST - 1, MOST};
    mlt_rank *me = rank;
    unsigned char *buf = malloc(2 * MOST), small = 0;
    mlt_req big, after;
    mlt_type odd; // every other byte
    CHECK(mlt_type_make_resized(&odd, MLT_TYPE_BYTE, 0, 2) == MLT_OK);
    for (int i = 0; me->world < 2 && i < 5 * ROOMS * 3; i++) {
        uint64_t bytes = lengths[i % 5];
        uint64_t rooms[ROOMS] = {bytes, 0, 1, 8192, bytes - 1, bytes}, room = rooms[i / 5 % ROOMS];
        int when = i / 5 / ROOMS, gap = i / 5 % ROOMS == ROOMS - 1 ? 2 : 1;
        if (me->world == 0) {
            for (uint64_t k = 0; k < bytes; k++)
                buf[k] = pattern(0, 1, i, k);
            start_recv(&after, me, &small, 1, 1, 3, MLT_TYPE_BYTE);
            if (when == 0)
                mlt_req_wait(&after, "long"); // it is posted
            start_send(&big, me, buf, bytes, 1, 1, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
            mlt_req_wait(&big, "long");
            memset(buf, 0, bytes);
            CHECK(mlt_p2p_send_now(
                me, &small, 1,
                &(mlt_envelope){.bytes = 1, .src = 0, .tag = 2, .type = MLT_CODE_BYTE}));
            mlt_req_wait(&after, "long");
            continue;
        }
        memset(buf, 0xee, 2 * MOST);
        if (when == 1) { // it has come
            start_recv(&after, me, &small, 1, 0, 2, MLT_TYPE_BYTE);
            mlt_req_wait(&after, "long");
        }
        start_recv(&big, me, buf, room, 0, 1, gap == 2 ? &odd : MLT_TYPE_BYTE);
        if (when == 0)
            CHECK(mlt_p2p_send_now(
                me, &small, 0,
                &(mlt_envelope){.bytes = 1, .src = 1, .tag = 3, .type = MLT_CODE_BYTE}));
        mlt_req_wait(&big, "long");
        if (when != 1) {
            start_recv(&after, me, &small, 1, 0, 2, MLT_TYPE_BYTE);
            mlt_req_wait(&after, "long");
        }
        CHECK(big.got == room && big.sent == bytes);
        CHECK(big.status == (room < bytes ? MLT_ERR_TRUNCATED : MLT_OK));
        for (uint64_t k = 0; k < MOST; k++)
            CHECK(buf[k * (uint64_t)gap] == (k < room ? pattern(0, 1, i, k) : 0xee));
        if (when != 0)
            CHECK(mlt_p2p_send_now(
                me, &small, 0,
                &(mlt_envelope){.bytes = 1, .src = 1, .tag = 3, .type = MLT_CODE_BYTE}));
    }
    free(buf);
}

// ---- ends and faults

static void nap_ms(int64_t ms)
{
    uint64_t until = mlt_os_now_ns() + (uint64_t)ms * 1000000;
    for (uint64_t now; (now = mlt_os_now_ns()) < until;)
        mlt_os_sleep((int64_t)(until - now));
}

// Rank 0 sends and ends; rank 1 looks much later, and has sent what nobody will ever read.
static void ends_early(void *rank)
{
    enum { COUNT = 3000, BYTES = 500 };
    mlt_rank *me = rank;
    unsigned char bytes[BYTES];
    mlt_req req;
    if (me->world == 0) {
        start_recv(&req, me, bytes, 1, 1, 1, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "early");
    }
    if (me->world == 1) {
        for (int i = 0; i < 50; i++) { // the first is received
            start_send(&req, me, bytes, 1, 0, 1, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
            mlt_req_wait(&req, "early");
        }
        nap_ms(300);
    }
    for (int i = 0; i < COUNT; i++) {
        memset(bytes, i, sizeof bytes);
        if (me->world == 0) {
            start_send(&req, me, bytes, BYTES, 1, 2, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
        } else {
            bytes[0] ^= 1;
            start_recv(&req, me, bytes, BYTES, 0, 2, MLT_TYPE_BYTE);
        }
        mlt_req_wait(&req, "early");
        CHECK(bytes[0] == (unsigned char)i && bytes[BYTES - 1] == (unsigned char)i);
    }
}

// Rank 1 computes for longer than the silence that makes a connection lost, while more comes than
// the system holds.
static void computes(void *rank)
{
    enum { SMALL = 4000, LARGE = 32 << 20 };
    mlt_rank *me = rank;
    unsigned char *large = calloc(1, LARGE), small[1000] = {0};
    mlt_req big, req;
    if (me->world == 0) {
        start_send(&big, me, large, LARGE, 1, 9, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
    } else {
        start_recv(&big, me, large, LARGE, 0, 9, MLT_TYPE_BYTE);
        start_recv(&req, me, small, 1, 0, 7, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "computes"); // the data have begun to flow
        nap_ms(2500);
    }
    if (me->world == 0) {
        start_send(&req, me, small, 1, 1, 7, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "computes");
    }
    for (int i = 0; i < SMALL; i++) {
        if (me->world == 0)
            start_send(&req, me, small, sizeof small, 1, 8, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
        else
            start_recv(&req, me, small, sizeof small, 0, 8, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "computes");
    }
    mlt_req_wait(&big, "computes");
    free(large);
}

static void exchanges_for_ever(void *rank)
{
    mlt_rank *me = rank;
    int n = (int)me->worker->world_size, right = (me->world + 1) % n,
        left = (me->world + n - 1) % n;
    unsigned char *out = calloc(1, 300000), *in = calloc(1, 300000);
    for (uint64_t i = 0;; i++) {
        uint64_t bytes = i % 7 ? i % 5000 : i * 37 % 300000;
        mlt_req send, recv;
        start_send(&send, me, out, bytes, right, 1, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
        start_recv(&recv, me, in, bytes, left, 1, MLT_TYPE_BYTE);
        mlt_req_wait(&recv, "for ever");
        mlt_req_wait(&send, "for ever");
    }
}

static int spies[PROCS_MOST * PROCS_MOST];
static uint32_t spy_count;

static void keep_copy(int *a, int *b)
{
    (void)b;
    CHECK(spy_count < sizeof spies / sizeof *spies);
    spies[spy_count++] = dup(*a);
}

// Connections that are cut, or whose process is killed, are told of once by each process that had
// one; and nobody else says anything.
static void breaks(hosts_shape shape, bool kills, int times)
{
    snprintf(now_testing, sizeof now_testing, "%s", kills ? "killed processes" : "cut connections");
    for (int i = 0; i < times; i++) {
        hosts_job j = {.shape = shape, .linked = kills ? NULL : keep_copy};
        spy_count = 0;
        mlt_conf.sched = "direct";
        hosts_begin(&j, exchanges_for_ever, NULL);
        for (int wait = 0; wait < HOSTS_LIMIT_MS / 100 && j.links == 0; wait++)
            CHECK(!hosts_serve(&j, 100)); // a fabric takes its time to open
        CHECK(!hosts_serve(&j, 100 + i * 37 % 200));
        if (j.lost)
            fprintf(stderr, "lost before its time: %s\n", j.why);
        CHECK(j.lost == 0 && j.links > 0);
        if (kills)
            kill(j.proc[0].pid, SIGKILL);
        else
            for (uint32_t k = 0; k < spy_count; k++)
                shutdown(spies[k], SHUT_RDWR);
        for (int wait = 0; wait < HOSTS_LIMIT_MS / 50 && j.lost == 0; wait++)
            CHECK(!hosts_serve(&j, 50));
        CHECK(!hosts_serve(&j, 100));
        uint32_t processes = shape.hosts * shape.procs;
        CHECK(j.lost >= 1 && j.lost <= (kills ? processes - 1 : processes * processes));
        for (uint32_t k = 0; k < spy_count; k++)
            close(spies[k]);
        hosts_kill(&j);
        hosts_end(&j);
    }
}

static void waits_in_vain(void *rank)
{
    mlt_rank *me = rank;
    unsigned char byte = 0;
    mlt_req req;
    start_send(&req, me, &byte, 1, 1 - me->world, 1, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
    mlt_req_wait(&req, "in vain");
    for (int i = 0; i < 2; i++) {
        start_recv(&req, me, &byte, 1, 1 - me->world, 1, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "in vain");
    }
}

// All wait for messages that nobody has sent: two rounds of looks prove it.
static void proves_deadlock(void)
{
    hosts_job j = {.shape = {2, 1, 1, 1}};
    snprintf(now_testing, sizeof now_testing, "a proven deadlock");
    mlt_conf.sched = "direct";
    hosts_begin(&j, waits_in_vain, NULL);
    uint64_t epochs = 0;
    bool proven = false;
    for (int i = 0; i < HOSTS_LIMIT_MS / 100 && !proven; i++) {
        CHECK(!hosts_serve(&j, 100));
        mlt_job_observation sum = {.quiet = true};
        for (uint32_t h = 0; h < j.shape.hosts; h++) {
            mlt_job_observation look = mlt_job_observe(j.job[h]);
            sum.quiet &= look.quiet;
            sum.asleep += look.asleep;
            sum.in_flight += look.in_flight;
            sum.epochs += look.epochs;
        }
        bool still = sum.quiet && sum.in_flight == 0 && sum.asleep == 2;
        proven = still && sum.epochs == epochs;
        epochs = still ? sum.epochs : UINT64_MAX;
    }
    CHECK(proven);
    hosts_kill(&j);
    hosts_end(&j);
}

// Rank 1 takes all descriptors before it has slept once. Rank 0 never sends what rank 1 then waits
// for, so that rank 1 must sleep, however late it gets there.
static void takes_descriptors(void *rank)
{
    mlt_rank *me = rank;
    unsigned char byte = 0;
    mlt_req req;
    for (int i = 0; i < 2; i++) {
        if (me->world == 0) {
            while (i == 1) {
                (void)mlt_worker_step(me->worker);
                nap_ms(1);
            }
            CHECK(mlt_p2p_send_now(
                me, &byte, 1,
                &(mlt_envelope){.bytes = 1, .src = 0, .tag = i, .type = MLT_CODE_BYTE}));
        } else {
            start_recv(&req, me, &byte, 1, 0, i, MLT_TYPE_BYTE);
            while (i == 0 && !req.done)
                (void)mlt_worker_step(me->worker);
            CHECK(i || setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}) == 0);
            while (i == 0 && dup(2) >= 0) {
            }
            mlt_req_wait(&req, "takes descriptors");
        }
    }
}

// Whoever cannot wait for its connections says so, and ends.
static void says_that_it_is_deaf(void)
{
    hosts_job j = {.shape = {2, 1, 1, 1}};
    snprintf(now_testing, sizeof now_testing, "no descriptor left");
    mlt_conf.sched = "direct";
    hosts_begin(&j, takes_descriptors, NULL);
    for (int i = 0; i < HOSTS_LIMIT_MS / 100 && j.proc[1].ctl >= 0; i++)
        (void)hosts_serve(&j, 100);
    CHECK(j.proc[1].ctl < 0 && j.proc[1].status != 0);
    hosts_kill(&j);
    hosts_end(&j);
}

// A job that encrypts uses no fabric.
static void try_encrypted(void)
{
    encrypted((hosts_shape){2, 1, 1, 1}, all_to_all);
    encrypted((hosts_shape){2, 1, 2, 1}, all_to_all);
    encrypted((hosts_shape){2, 1, 2, 1}, with_gaps);
    encrypted((hosts_shape){2, 1, 1, 2}, flood);
    encrypted((hosts_shape){2, 1, 1, 1}, long_messages);
    encrypted((hosts_shape){2, 1, 1, 1}, ends_early);
}

// After some messages, they do not go by the connection any more.
static void goes_by_fabric(void *rank)
{
    mlt_rank *me = rank;
    unsigned char byte = 0;
    mlt_req req;
    for (int i = 0; i < 5000; i++) {
        start_send(&req, me, &byte, 1, 1 - me->world, 1, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "by fabric");
        start_recv(&req, me, &byte, 1, 1 - me->world, 1, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "by fabric");
    }
    CHECK(atomic_load(&mlt_tcp_fabric_packets) > 100);
}

// All send to rank 0. The second process's first rank is through before its other one's worker begins.
static void begins_late(void *rank)
{
    mlt_rank *me = rank;
    uint64_t value = 7;
    mlt_req req;
    for (int from = 1; me->world == 0 && from < (int)me->worker->world_size; from++) {
        start_recv(&req, me, &value, sizeof value, from, 1, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "late");
    }
    if (me->world) {
        start_send(&req, me, &value, sizeof value, 0, 1, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
        mlt_req_wait(&req, "late");
    }
}

static void try_late(void)
{
    hosts_job j = {.shape = {2, 1, 2, 1}, .late_ms = 300};
    snprintf(now_testing, sizeof now_testing, "workers that begin late");
    hosts_run_with(&j, begins_late);
}

// MILLET_FABRIC=ofi:tcp: the same by a fabric.
int main(int argc, char **argv)
{
    char why[256];
    if (mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    bool fabric = strcmp(mlt_tcp_fabric, "tcp") != 0;
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        hosts_run((hosts_shape){2, 1, 1, 1}, "direct", pingpong);
        return 0;
    }
    try_all((hosts_shape){2, 1, 2, 1}, "direct"); // only threads interest TSan
    if (!MLT_SANITIZED_THREAD) {
        try_all((hosts_shape){2, 1, 1, 1}, "direct");
        try_all((hosts_shape){2, 2, 1, 1}, "random:5");
        hosts_run((hosts_shape){2, 1, 1, 1}, "direct", long_messages);
        hosts_run((hosts_shape){2, 1, 1, 3}, "rr", cancels);
        hosts_run((hosts_shape){3, 1, 2, 1}, "direct", flood);
        hosts_run((hosts_shape){3, 1, 2, 1}, "direct", with_gaps);
        hosts_run((hosts_shape){2, 1, 3, 2}, "random:5", packets_flow);
        hosts_run((hosts_shape){4, 2, 1, 1}, "direct",
                  all_to_all); // more than are looked at always
        hosts_run((hosts_shape){4, 2, 1, 1}, "direct", pairs_of_messages);
    }
    try_late();
    if (fabric)
        hosts_run((hosts_shape){2, 1, 1, 1}, "direct", goes_by_fabric);
    else
        try_encrypted();
    hosts_run((hosts_shape){2, 1, 1, 1}, "direct", ends_early);
    int64_t usual = mlt_tcp_gone_ms;
    mlt_tcp_gone_ms = 1000;
    hosts_run((hosts_shape){2, 1, 1, 1}, "direct", computes);
    mlt_tcp_gone_ms = usual;
    proves_deadlock();
    if (!fabric)
        says_that_it_is_deaf(); // by a fabric it goes on, for it had descriptors from the start
    breaks((hosts_shape){2, 1, 1, 1}, false, 5);
    breaks((hosts_shape){3, 1, 2, 1}, false, 3);
    breaks((hosts_shape){2, 1, 1, 1}, true, 5);
    breaks((hosts_shape){2, 2, 1, 1}, true, 5);
    return 0;
}
