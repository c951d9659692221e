// SPDX-License-Identifier: BSD-3-Clause
// Alternation: every kind of guard, fairness (measured), priority, guards that are off, and
// alternations on both sides of a channel.
#include <fcntl.h>
#include <sys/socket.h>

#include "csp_check.h"

enum { MANY = 1500 };

typedef struct pump {
    csp_out *out;
    csp_in *in;
    int value;
    long count;
    csp_barrier *barrier;
} pump;

static int pumps(void *arg)
{
    pump *my = arg;
    csp_status status;
    do
        status = csp_write(my->out, &my->value);
    while (status == CSP_OK);
    return 0;
}

static int writes_one(void *arg)
{
    pump *my = arg;
    return (int)csp_write(my->out, &my->value);
}

static int reads_one(void *arg)
{
    pump *my = arg;
    return (int)csp_read(my->in, &my->value);
}

// ---- fairness: among n that are always ready, each is chosen once in n times

static int chooses(csp_guard *guards, size_t count, long *chosen, long rounds, int *value)
{
    size_t longest = 0, last[64] = {0};
    for (long i = 0; i < rounds; i++) {
        int k = csp_alt(guards, count);
        CHECK(k >= 0 && (size_t)k < count);
        CHECK_INT(guards[k].status, CSP_OK);
        CHECK_INT(*value, k);
        chosen[k]++;
        size_t wait = (size_t)i + 1 - last[k];
        longest = wait > longest ? wait : longest;
        last[k] = (size_t)i + 1;
        csp_yield(); // so that the writer can write again
    }
    return (int)longest;
}

static void fair(int n, bool random)
{
    int value;
    long rounds = 200L * n, chosen[64] = {0};
    csp_guard guards[64];
    csp_chan *c[64];
    pump p[64];
    csp_child *child[64];
    for (int i = 0; i < n; i++) {
        c[i] = i % 2 ? csp_chan_new(NULL, sizeof(int)) : csp_chan_buffered(NULL, sizeof(int), 2);
        p[i] = (pump){.out = csp_chan_out(c[i]), .value = i};
        child[i] = csp_fork(pumps, &p[i], "pump");
        guards[i] = csp_on_read(csp_chan_in(c[i]), &value);
    }
    settle();
    int longest = chooses(guards, (size_t)n, chosen, rounds, &value);
    for (int i = 0; i < n; i++) {
        // Under a random schedule not every pump is ready each time, and the search begins
        // anywhere.
        CHECK(chosen[i] >= rounds / n / (random ? 4 : 1) - 1);
        CHECK(chosen[i] <= rounds / n * (random ? 4 : 1) + 1);
    }
    if (!random)
        CHECK(longest <= n);
    for (int i = 0; i < n; i++) {
        csp_poison(p[i].out);
        csp_join(child[i]);
        csp_chan_free(c[i]);
    }
}

// A new array each time: no guard is preferred for its place.
static void fair_anew(void)
{
    enum { N = 8, ROUNDS = 8000 };
    long chosen[N] = {0};
    csp_chan *c[N];
    csp_in *in[N];
    csp_out *out[N];
    int value = 0;
    for (int i = 0; i < N; i++) {
        c[i] = csp_chan_overwriting(NULL, sizeof(int), 1);
        in[i] = csp_chan_in(c[i]);
        out[i] = csp_chan_out(c[i]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        csp_guard guards[N];
        for (int k = 0; k < N; k++) {
            CHECK_INT(csp_write(out[k], &k), CSP_OK);
            guards[k] = csp_on_read(in[k], &value);
        }
        int k = csp_alt(guards, N);
        CHECK_INT(value, k);
        chosen[k]++;
    }
    for (int i = 0; i < N; i++) {
        CHECK(chosen[i] > ROUNDS / N / 2 && chosen[i] < ROUNDS / N * 2);
        csp_chan_free(c[i]);
    }
}

// ---- priority, off, skip, time

static void priority(void)
{
    csp_chan *a = csp_chan_buffered("a", sizeof(int), 10),
             *b = csp_chan_buffered("b", sizeof(int), 10);
    csp_out *to_a = csp_chan_out(a), *to_b = csp_chan_out(b);
    int value;
    csp_guard guards[] = {csp_on_skip(), csp_on_read(csp_chan_in(a), &value),
                          csp_on_read(csp_chan_in(b), &value), csp_on_time(CSP_NEVER)};
    CHECK_INT(csp_pri_alt(guards, 4), 0);
    CHECK_INT(guards[0].status, CSP_OK);
    for (int i = 0; i < 5; i++) {
        csp_write(to_a, &i);
        csp_write(to_b, &i);
    }
    for (int i = 0; i < 5; i++)
        CHECK_INT(csp_pri_alt(guards, 4), 1);
    for (int i = 0; i < 5; i++)
        CHECK_INT(csp_pri_alt(guards, 4), 2);
    CHECK_INT(csp_alt(guards, 4), 0); // skip, only if nothing else is ready
    for (int i = 0; i < 5; i++)
        csp_write(to_a, &i);
    guards[1].off = true;
    CHECK_INT(csp_alt(guards, 4), 0);
    CHECK_INT(csp_pri_alt(guards, 4), 0);
    guards[0].off = true;
    guards[3].at = csp_after(0.002);
    CHECK_INT(csp_alt(guards, 4), 3);
    CHECK_INT(csp_pri_alt(guards, 4), 3); // it has passed
    guards[1].off = false;
    CHECK_INT(csp_pri_alt(guards, 4), 1);
    int seen[4] = {0};
    for (int i = 0; i < 8 * 4; i++) {
        csp_write_by(to_a, &value, CSP_AT_ONCE);
        seen[csp_alt(guards, 4)]++;
    }
    CHECK(seen[1] > 0 && seen[3] > 0); // of two that are ready, each has its turn
    csp_time before = csp_now();
    guards[2] = csp_on_time(csp_after(1000));
    guards[1].off = true;
    guards[3].at = csp_after(0.005); // the earlier one fires
    CHECK_INT(csp_alt(guards, 4), 3);
    CHECK(csp_now() - before >= 5000000);
    csp_chan_free(a);
    csp_chan_free(b);
}

// ---- writing

static void outputs(void)
{
    csp_chan *a = csp_chan_new("a", sizeof(int)), *b = csp_chan_new("b", sizeof(int));
    int to_a = 1, to_b = 2;
    csp_guard guards[] = {csp_on_write(csp_chan_out(a), &to_a),
                          csp_on_write(csp_chan_out(b), &to_b)};
    pump r = {.in = csp_chan_in(b)};
    csp_child *child = csp_fork(reads_one, &r, NULL); // comes later
    CHECK_INT(csp_alt(guards, 2), 1);
    CHECK_INT(csp_join(child), 0);
    CHECK_INT(r.value, 2);
    r.in = csp_chan_in(a);
    child = csp_fork(reads_one, &r, NULL);
    settle(); // was there before
    CHECK_INT(csp_pri_alt(guards, 2), 0);
    CHECK_INT(csp_join(child), 0);
    CHECK_INT(r.value, 1);
    csp_guard more[] = {csp_on_write(csp_chan_out(a), &to_a), csp_on_skip()};
    CHECK_INT(csp_alt(more, 2), 1); // nobody reads: nothing was left behind
    csp_chan_free(a);
    csp_chan_free(b);
}

// ---- alternations that meet: a ring of processes, each ready to read and to write

typedef struct meeter {
    csp_in *in;
    csp_out *out;
    int sent, got, want;
    long sum;
} meeter;

static int meets(void *arg)
{
    meeter *my = arg;
    int in, out = 1;
    csp_guard guards[] = {csp_on_read(my->in, &in), csp_on_write(my->out, &out)};
    while (my->sent < my->want || my->got < my->want) {
        guards[0].off = my->got == my->want;
        guards[1].off = my->sent == my->want;
        out = my->sent + 1;
        if (csp_alt(guards, 2) == 0) {
            CHECK_INT(in, ++my->got);
            my->sum += in;
        } else {
            my->sent++;
        }
    }
    return 0;
}

static void meeting(int n, int rounds)
{
    csp_chan *c[16];
    csp_proc procs[16];
    meeter m[16];
    for (int i = 0; i < n; i++)
        c[i] = csp_chan_new(NULL, sizeof(int));
    for (int i = 0; i < n; i++) {
        m[i] = (meeter){csp_chan_in(c[i]), csp_chan_out(c[(i + 1) % n]), 0, 0, rounds, 0};
        procs[i] = (csp_proc){meets, &m[i], "meets", 0};
    }
    CHECK_INT(csp_par(procs, (size_t)n), 0);
    for (int i = 0; i < n; i++) {
        CHECK_INT(m[i].sum, (long)rounds * (rounds + 1) / 2);
        csp_chan_free(c[i]);
    }
}

// Both ends of one channel in one alternation: it does not meet itself.
static void alone(void)
{
    csp_chan *c = csp_chan_new(NULL, sizeof(int));
    int in = 5, out = 6;
    csp_in *end = csp_chan_in(c);
    csp_guard guards[] = {csp_on_read(end, &in), csp_on_write(csp_chan_out(c), &out),
                          csp_on_read(end, &in), csp_on_time(csp_after(0.002))};
    CHECK_INT(csp_alt(guards, 4), 3);
    CHECK_INT(in, 5);
    guards[3].off = true;
    pump w = {.out = csp_chan_out(c), .value = 9};
    csp_child *child = csp_fork(writes_one, &w, NULL);
    int k = csp_alt(guards, 4);
    CHECK(k == 0 || k == 2);
    CHECK_INT(in, 9);
    CHECK_INT(csp_join(child), 0);
    csp_chan_free(c);
}

// ---- many guards

static void large(void)
{
    csp_chan **c = malloc(MANY * sizeof *c);
    csp_out **out = malloc(MANY * sizeof *out);
    csp_guard *guards = malloc(MANY * sizeof *guards);
    int value;
    for (int i = 0; i < MANY; i++) {
        c[i] = csp_chan_new(NULL, sizeof(int));
        out[i] = csp_chan_out(c[i]);
        guards[i] = csp_on_read(csp_chan_in(c[i]), &value);
    }
    for (int i = 0; i < 50; i++) {
        int k = i * 7919 % MANY;
        pump w = {.out = out[k], .value = i};
        csp_child *child = csp_fork(writes_one, &w, NULL);
        if (i % 3 == 0)
            settle();
        CHECK_INT(csp_alt(guards, MANY), k);
        CHECK_INT(value, i);
        CHECK_INT(csp_join(child), 0);
    }
    for (int i = 0; i < MANY; i++)
        csp_chan_free(c[i]);
    free(c);
    free(out);
    free(guards);
}

// ---- barriers

static int syncs(void *arg)
{
    pump *my = arg;
    csp_status status = csp_sync(my->barrier);
    my->count++;
    return (int)status;
}

static int alt_syncs(void *arg)
{
    pump *my = arg;
    csp_guard guards[] = {csp_on_read(my->in, &my->value), csp_on_sync(my->barrier)};
    int k = csp_alt(guards, 2);
    my->count += k ? 1 : 100;
    return (int)guards[k].status;
}

static void barriers(void)
{
    csp_barrier *b = csp_barrier_new("meeting", 4);
    csp_chan *c = csp_chan_new(NULL, sizeof(int));
    csp_out *out = csp_chan_out(c);
    csp_in *in = csp_chan_in(c);
    // Completed by a plain sync, and by an alternation.
    for (int last = 0; last < 2; last++) {
        pump p[4];
        csp_child *child[4];
        for (int i = 0; i < 4; i++)
            p[i] = (pump){.barrier = b, .in = in};
        for (int i = 0; i < 3; i++) {
            child[i] = csp_fork(i % 2 == last ? alt_syncs : syncs, &p[i], NULL);
            settle();
            CHECK_INT(p[i].count, 0);
        }
        child[3] = csp_fork(last ? alt_syncs : syncs, &p[3], NULL);
        for (int i = 0; i < 4; i++) {
            CHECK_INT(csp_join(child[i]), 0);
            CHECK_INT(p[i].count, 1);
        }
    }
    // One whose alternation chose something else is not there, though it has not run yet.
    pump p[4];
    csp_child *child[4];
    for (int i = 0; i < 4; i++)
        p[i] = (pump){.barrier = b, .in = in};
    child[0] = csp_fork(alt_syncs, &p[0], NULL);
    child[1] = csp_fork(syncs, &p[1], NULL);
    child[2] = csp_fork(syncs, &p[2], NULL);
    settle();
    int value = 1;
    CHECK_INT(csp_write(out, &value), CSP_OK);
    CHECK_INT(csp_sync_by(b, CSP_AT_ONCE), CSP_LATE);
    CHECK_INT(csp_join(child[0]), 0);
    CHECK_INT(p[0].count, 100);
    child[3] = csp_fork(syncs, &p[3], NULL);
    settle();
    CHECK_INT(p[1].count, 0);
    CHECK_INT(csp_sync(b), CSP_OK);
    for (int i = 1; i < 4; i++)
        CHECK_INT(csp_join(child[i]), 0);
    csp_barrier_free(b);
    csp_chan_free(c);
}

// ---- descriptors

static void descriptors(void)
{
    int fds[2];
    char byte = 'x';
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    csp_guard guards[] = {csp_on_readable(fds[0]), csp_on_writable(fds[0]),
                          csp_on_time(csp_after(0.003))};
    CHECK_INT(csp_pri_alt(guards, 3), 1);
    guards[1].off = true;
    CHECK_INT(csp_alt(guards, 3), 2);
    CHECK_INT((int)write(fds[1], &byte, 1), 1);
    guards[2].at = csp_after(1000);
    CHECK_INT(csp_alt(guards, 3), 0);
    guards[1].off = false;
    int seen[2] = {0};
    for (int i = 0; i < 64; i++)
        seen[csp_alt(guards, 3)]++;
    CHECK(seen[0] > 5 && seen[1] > 5);
    CHECK_INT((int)read(fds[0], &byte, 1), 1);
    csp_chan *c = csp_chan_new(NULL, sizeof(int)); // a channel while a descriptor is watched
    int value;
    csp_guard mixed[] = {csp_on_readable(fds[0]), csp_on_read(csp_chan_in(c), &value)};
    pump w = {.out = csp_chan_out(c), .value = 3};
    csp_child *child = csp_fork(writes_one, &w, NULL);
    CHECK_INT(csp_alt(mixed, 2), 1);
    CHECK_INT(csp_join(child), 0);
    close(fds[1]); // its end is something to read
    CHECK_INT(csp_alt(mixed, 2), 0);
    close(fds[0]);
    csp_chan_free(c);
}

int main(int argc, char **argv)
{
    bool random = argc > 1 && strcmp(argv[1], "random") == 0;
    fair(2, random);
    fair(3, random);
    fair(17, random);
    fair_anew();
    priority();
    outputs();
    meeting(2, 100);
    meeting(3, 100);
    meeting(16, 50);
    alone();
    large();
    barriers();
    descriptors();
    return 0;
}
