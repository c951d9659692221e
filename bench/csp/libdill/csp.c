// SPDX-License-Identifier: BSD-3-Clause
// The measures of ../csp.c with libdill's coroutines and channels: the same networks, the same
// output.
//
//     cc -O2 -o csp_libdill csp.c -ldill
//     ./csp_libdill commstime
//
// A channel of libdill has two handles, one for each side, and `choose` takes the first that is
// ready in the order of its clauses, as csp_pri_alt does. Of its own stacks, which have mappings of
// their own, a process can have some 30,000: where there are more, they are in one area, without
// guards (bundle_go_mem).
#include <errno.h>
#include <libdill.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { REPS = 5, STACK = 16384 };

static double repetition_ns = 200e6;

static void tell(const char *key, double value, const char *unit)
{
    printf("%s %.6g %s\n", key, value, unit);
    fflush(stdout);
}

_Noreturn static void wrong(const char *what)
{
    fprintf(stderr, "csp_libdill: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void must(bool fine, const char *what)
{
    if (!fine)
        wrong(what);
}

static double now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(values[0]), by_value);
    return values[count / 2];
}

// Nanoseconds of one round: `loop` makes n of them.
static double timed(void loop(void *state, long n), void *state)
{
    long n = 1000;
    double took, values[REPS];
    for (;; n *= 2) {
        double start = now_ns();
        loop(state, n);
        took = now_ns() - start;
        if (took >= repetition_ns / 4)
            break;
    }
    n = (long)((double)n * repetition_ns / took) + 1;
    for (int i = 0; i < REPS; i++) {
        double start = now_ns();
        loop(state, n);
        values[i] = (now_ns() - start) / (double)n;
    }
    return median(values, REPS);
}

// Bytes of memory that are the process's own, with its page tables.
static double resident(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double bytes = 0;
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "VmRSS:", 6) == 0 || strncmp(line, "VmPTE:", 6) == 0)
            bytes += atof(line + 6) * 1024;
    if (file)
        fclose(file);
    return bytes;
}

// in: what is received there was sent at out.
typedef struct chan {
    int in, out;
} chan;

static chan number_chan(void)
{
    int sides[2];
    must(chmake(sides) == 0, "chmake");
    return (chan){sides[0], sides[1]};
}

static void close_chan(chan c)
{
    hclose(c.in);
    hclose(c.out);
}

static bool put(int out, long v)
{
    return chsend(out, &v, sizeof(v), -1) == 0;
}

static bool get(int in, long *v)
{
    return chrecv(in, v, sizeof(*v), -1) == 0;
}

static char *stacks_of(long count)
{
    void *area = mmap(NULL, (size_t)count * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(area != MAP_FAILED, "mmap");
    (void)madvise(area, (size_t)count * STACK, MADV_NOHUGEPAGE);
    return area;
}

// ---- commstime

static coroutine void prefix(int in, int out)
{
    long v = 0;
    while (put(out, v) && get(in, &v))
        ;
}

static coroutine void successor(int in, int out)
{
    long v;
    while (get(in, &v) && put(out, v + 1))
        ;
}

static coroutine void delta(int in, int out, int out2)
{
    long v;
    while (get(in, &v) && put(out, v) && put(out2, v))
        ;
}

static coroutine void write_one(int out, long v)
{
    put(out, v);
}

static coroutine void par_delta(int in, int out, int out2)
{
    long v;
    bool fine = true;
    while (fine && get(in, &v)) {
        int both = bundle();
        must(both >= 0, "bundle");
        bundle_go(both, write_one(out, v));
        bundle_go(both, write_one(out2, v));
        fine = bundle_wait(both, -1) == 0;
        hclose(both);
    }
}

typedef struct consumer {
    int in;
    long expected;
} consumer;

static void consume_loop(void *state, long n)
{
    consumer *my = state;
    for (long i = 0, v; i < n; i++)
        must(get(my->in, &v) && v == my->expected++, "commstime");
}

static void commstime(bool parallel)
{
    chan a = number_chan(), b = number_chan(), c = number_chan(), d = number_chan();
    consumer last = {d.in, 0};
    int all = bundle();
    bundle_go(all, prefix(c.in, a.out));
    if (parallel)
        bundle_go(all, par_delta(a.in, b.out, d.out));
    else
        bundle_go(all, delta(a.in, b.out, d.out));
    bundle_go(all, successor(b.in, c.out));
    tell(parallel ? "commstime_par" : "commstime", timed(consume_loop, &last) / 4, "ns");
    hclose(all);
    close_chan(a);
    close_chan(b);
    close_chan(c);
    close_chan(d);
}

// ---- ping-pong

static coroutine void pong(int in, int out)
{
    long v;
    while (get(in, &v) && put(out, v + 1))
        ;
}

static void ping_loop(void *state, long n)
{
    chan *my = state;
    for (long i = 0, v; i < n; i++)
        must(put(my->out, i) && get(my->in, &v) && v == i + 1, "pingpong");
}

static void pingpong(void)
{
    chan there = number_chan(), back = number_chan(), mine = {back.in, there.out};
    int other = go(pong(there.in, back.out));
    must(other >= 0, "go");
    tell("pingpong", timed(ping_loop, &mine), "ns");
    hclose(other);
    close_chan(there);
    close_chan(back);
}

// ---- alternation

static coroutine void write_always(int out, long v)
{
    while (put(out, v))
        ;
}

typedef struct chooser {
    struct chclause *clauses;
    int count;
    long value;
} chooser;

static void choose_loop(void *state, long n)
{
    chooser *my = state;
    for (long i = 0; i < n; i++)
        must(choose(my->clauses, my->count, -1) == my->value, "choose");
}

static void alternation(int count, bool all)
{
    chan *chans = malloc((size_t)count * sizeof(*chans));
    chooser my = {malloc((size_t)count * sizeof(struct chclause)), count, 0};
    int writers = bundle();
    must(chans && my.clauses && writers >= 0, "bundle");
    for (int i = 0; i < count; i++) {
        chans[i] = number_chan();
        my.clauses[i] = (struct chclause){CHRECV, chans[i].in, &my.value, sizeof(my.value)};
        if (all || i == count / 2)
            must(bundle_go(writers, write_always(chans[i].out, i)) >= 0, "bundle_go");
    }
    char key[40];
    snprintf(key, sizeof(key), "alt_%d_%s", count, all ? "all" : "one");
    tell(key, timed(choose_loop, &my), "ns");
    hclose(writers);
    for (int i = 0; i < count; i++)
        close_chan(chans[i]);
    free(chans);
    free(my.clauses);
}

// ---- processes that come and go

static coroutine void nothing(long *ran)
{
    ++*ran;
}

static void create_loop(void *state, long n)
{
    long *ran = state;
    for (long i = 0; i < n; i++) {
        int child = go(nothing(ran));
        must(child >= 0, "go");
        hclose(child);
    }
}

static void create(void)
{
    long ran = 0;
    tell("create_reused", timed(create_loop, &ran), "ns");
}

static coroutine void wait_at_gate(int gate, long *here)
{
    long v;
    ++*here;
    must(!get(gate, &v) && errno == EPIPE, "alive");
}

static void alive(long count)
{
    double before = resident();
    chan gate = number_chan();
    char *stacks = stacks_of(count);
    long here = 0;
    int crowd = bundle();
    double start = now_ns();
    for (long i = 0; i < count; i++)
        must(bundle_go_mem(crowd, wait_at_gate(gate.in, &here), stacks + i * STACK, STACK) >= 0,
             "bundle_go_mem");
    must(here == count, "alive");
    double took = now_ns() - start, bytes = resident() - before;
    start = now_ns();
    must(chdone(gate.out) == 0 && bundle_wait(crowd, -1) == 0, "chdone");
    took += now_ns() - start;
    tell("create_alive", took / (double)count, "ns");
    tell("create_alive_bytes", bytes / (double)count, "bytes");
    hclose(crowd);
    close_chan(gate);
    munmap(stacks, (size_t)count * STACK);
}

// ---- a ring

static coroutine void pass(int in, int out)
{
    long v;
    while (get(in, &v) && put(out, v + 1))
        ;
}

static void ring(long count)
{
    double before = resident(), values[REPS];
    chan *chans = malloc((size_t)count * sizeof(*chans));
    char *stacks = stacks_of(count);
    int nodes = bundle();
    must(chans && nodes >= 0, "bundle");
    for (long i = 0; i < count; i++)
        chans[i] = number_chan();
    for (long i = 1; i < count; i++) {
        int in = chans[i].in, out = chans[(i + 1) % count].out;
        must(bundle_go_mem(nodes, pass(in, out), stacks + i * STACK, STACK) >= 0, "bundle_go_mem");
    }
    for (int i = -1; i < REPS; i++) {
        long token = 0;
        double start = now_ns();
        must(put(chans[1 % count].out, 0) && get(chans[0].in, &token) && token == count - 1,
             "ring");
        if (i >= 0)
            values[i] = (now_ns() - start) * 1e-9;
    }
    tell("ring_round", median(values, REPS), "s");
    tell("ring_bytes", (resident() - before) / (double)count, "bytes");
    hclose(nodes);
    for (long i = 0; i < count; i++)
        close_chan(chans[i]);
    munmap(stacks, (size_t)count * STACK);
    free(chans);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (argc > 2)
        repetition_ns = atof(argv[2]) * 1e6;
    long count = argc > 3 ? atol(argv[3]) : 1000000;
    if (strcmp(what, "commstime") == 0) {
        commstime(false);
        commstime(true);
    } else if (strcmp(what, "pingpong") == 0) {
        pingpong();
    } else if (strcmp(what, "alt") == 0) {
        for (int n = 2; n <= 1024; n = n == 2 ? 64 : n * 16) {
            alternation(n, true);
            alternation(n, false);
        }
    } else if (strcmp(what, "create") == 0) {
        create();
    } else if (strcmp(what, "alive") == 0) {
        alive(count);
    } else if (strcmp(what, "ring") == 0) {
        ring(count);
    } else {
        fprintf(stderr, "csp_libdill: one of commstime, pingpong, alt, create, alive, ring\n");
        return 2;
    }
    return 0;
}
