// SPDX-License-Identifier: BSD-3-Clause
// What processes and channels cost; go/csp.go does the same with Go's.
//
//     csp WHAT [MS [PROCESSES]]       MS: how long a repetition takes, about
//
// WHAT: commstime, pingpong, alt, create, alive or ring. Prints lines of
// `key value unit`; values are medians over repetitions. All checks what it receives.
#include <millet/csp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPS = 5 };

static double repetition_ns = 200e6;

static void tell(const char *key, double value, const char *unit)
{
    printf("%s %.6g %s\n", key, value, unit);
    fflush(stdout);
}

_Noreturn static void wrong(const char *what)
{
    fprintf(stderr, "csp: %s: wrong value\n", what);
    exit(1);
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
        csp_time start = csp_now();
        loop(state, n);
        took = (double)(csp_now() - start);
        if (took >= repetition_ns / 4)
            break;
    }
    n = (long)((double)n * repetition_ns / took) + 1;
    for (int i = 0; i < REPS; i++) {
        csp_time start = csp_now();
        loop(state, n);
        values[i] = (double)(csp_now() - start) / (double)n;
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

static csp_chan *number_chan(void)
{
    return csp_chan_new(NULL, sizeof(long));
}

// ---- commstime

typedef struct ends {
    csp_in *in;
    csp_out *out, *out2;
} ends;

static int prefix(void *arg)
{
    ends *my = arg;
    long v = 0;
    csp_status status = csp_write(my->out, &v);
    while (status == CSP_OK && csp_read(my->in, &v) == CSP_OK)
        status = csp_write(my->out, &v);
    csp_poison(my->out);
    return 0;
}

static int successor(void *arg)
{
    ends *my = arg;
    long v;
    while (csp_read(my->in, &v) == CSP_OK) {
        v++;
        if (csp_write(my->out, &v) != CSP_OK)
            break;
    }
    csp_poison(my->in);
    csp_poison(my->out);
    return 0;
}

static int delta(void *arg)
{
    ends *my = arg;
    long v;
    while (csp_read(my->in, &v) == CSP_OK)
        if (csp_write(my->out, &v) != CSP_OK || csp_write(my->out2, &v) != CSP_OK)
            break;
    csp_poison(my->in);
    csp_poison(my->out);
    return 0;
}

typedef struct value {
    csp_out *out;
    long v;
} value;

static int write_one(void *arg)
{
    value *my = arg;
    return csp_write(my->out, &my->v);
}

static int par_delta(void *arg)
{
    ends *my = arg;
    long v;
    while (csp_read(my->in, &v) == CSP_OK) {
        value one = {my->out, v}, two = {my->out2, v};
        if (CSP_PAR({write_one, &one}, {write_one, &two}) != 0)
            break;
    }
    csp_poison(my->in);
    csp_poison(my->out);
    return 0;
}

typedef struct consumer {
    csp_in *in;
    long expected;
    const char *key;
} consumer;

static void consume_loop(void *state, long n)
{
    consumer *my = state;
    for (long i = 0, v; i < n; i++)
        if (csp_read(my->in, &v) != CSP_OK || v != my->expected++)
            wrong(my->key);
}

static int consume(void *arg)
{
    consumer *my = arg;
    tell(my->key, timed(consume_loop, my) / 4, "ns");
    csp_poison(my->in);
    return 0;
}

static void commstime(bool parallel)
{
    csp_chan *a = number_chan(), *b = number_chan(), *c = number_chan(), *d = number_chan();
    ends p = {csp_chan_in(c), csp_chan_out(a), NULL};
    ends s = {csp_chan_in(b), csp_chan_out(c), NULL};
    ends t = {csp_chan_in(a), csp_chan_out(b), csp_chan_out(d)};
    consumer last = {csp_chan_in(d), 0, parallel ? "commstime_par" : "commstime"};
    CSP_PAR({prefix, &p, "prefix"}, {parallel ? par_delta : delta, &t, "delta"},
            {successor, &s, "successor"}, {consume, &last, "consumer"});
    csp_chan_free(a);
    csp_chan_free(b);
    csp_chan_free(c);
    csp_chan_free(d);
}

// ---- ping-pong

static int pong(void *arg)
{
    ends *my = arg;
    long v;
    while (csp_read(my->in, &v) == CSP_OK) {
        v++;
        csp_write(my->out, &v);
    }
    return 0;
}

static void ping_loop(void *state, long n)
{
    ends *my = state;
    for (long i = 0, v; i < n; i++) {
        csp_write(my->out, &i);
        csp_read(my->in, &v);
        if (v != i + 1)
            wrong("pingpong");
    }
}

static int ping(void *arg)
{
    ends *my = arg;
    tell("pingpong", timed(ping_loop, my), "ns");
    csp_poison(my->out);
    return 0;
}

static void pingpong(void)
{
    csp_chan *there = number_chan(), *back = number_chan();
    ends one = {csp_chan_in(back), csp_chan_out(there), NULL};
    ends two = {csp_chan_in(there), csp_chan_out(back), NULL};
    CSP_PAR({ping, &one, "ping"}, {pong, &two, "pong"});
    csp_chan_free(there);
    csp_chan_free(back);
}

// ---- alternation

static int write_always(void *arg)
{
    value *my = arg;
    while (csp_write(my->out, &my->v) == CSP_OK)
        ;
    return 0;
}

typedef struct chooser {
    csp_guard *guards;
    size_t count;
    long value;
} chooser;

static void choose_loop(void *state, long n)
{
    chooser *my = state;
    for (long i = 0; i < n; i++)
        if (csp_alt(my->guards, my->count) != my->value)
            wrong("alt");
}

static void alternation(size_t count, bool all)
{
    csp_chan **chans = malloc(count * sizeof(*chans));
    value *values = malloc(count * sizeof(*values));
    csp_child **writers = malloc(count * sizeof(*writers));
    chooser my = {malloc(count * sizeof(csp_guard)), count, 0};
    for (size_t i = 0; i < count; i++) {
        chans[i] = number_chan();
        values[i] = (value){csp_chan_out(chans[i]), (long)i};
        my.guards[i] = csp_on_read(csp_chan_in(chans[i]), &my.value);
        writers[i] = all || i == count / 2 ? csp_fork(write_always, &values[i], "writer") : NULL;
    }
    char key[40];
    snprintf(key, sizeof(key), "alt_%zu_%s", count, all ? "all" : "one");
    tell(key, timed(choose_loop, &my), "ns");
    for (size_t i = 0; i < count; i++) {
        csp_poison(values[i].out);
        if (writers[i])
            csp_join(writers[i]);
        csp_chan_free(chans[i]);
    }
    free(chans);
    free(values);
    free(writers);
    free(my.guards);
}

// ---- processes that come and go

static int nothing(void *arg)
{
    ++*(long *)arg;
    return 0;
}

static void create_loop(void *state, long n)
{
    for (long i = 0; i < n; i++)
        csp_join(csp_fork(nothing, state, NULL));
}

static void create(void)
{
    long ran = 0;
    tell("create_reused", timed(create_loop, &ran), "ns");
}

typedef struct crowd {
    csp_in *gate;
    long here;
} crowd;

static int wait_at_gate(void *arg)
{
    crowd *my = arg;
    long v;
    my->here++;
    return csp_read(my->gate, &v) == CSP_POISONED ? 0 : 1;
}

static void alive(long count)
{
    double before = resident();
    csp_chan *gate = number_chan();
    crowd all = {csp_chan_in(gate), 0};
    csp_child **children = malloc((size_t)count * sizeof(*children));
    csp_time start = csp_now();
    for (long i = 0; i < count; i++)
        children[i] = csp_fork(wait_at_gate, &all, NULL);
    while (all.here < count)
        csp_yield();
    csp_time took = csp_now() - start;
    double bytes = resident() - before;
    start = csp_now();
    csp_poison(all.gate);
    for (long i = 0; i < count; i++)
        if (csp_join(children[i]) != 0)
            wrong("alive");
    took += csp_now() - start;
    tell("create_alive", (double)took / (double)count, "ns");
    tell("create_alive_bytes", bytes / (double)count, "bytes");
    free(children);
    csp_chan_free(gate);
}

// ---- a ring

static int pass(void *arg)
{
    ends *my = arg;
    long v;
    csp_status status = CSP_OK;
    while (status == CSP_OK && csp_read(my->in, &v) == CSP_OK) {
        v++;
        status = csp_write(my->out, &v);
    }
    csp_poison(my->out);
    return 0;
}

static void ring(long count)
{
    double before = resident(), values[REPS];
    csp_chan **chans = malloc((size_t)count * sizeof(*chans));
    ends *nodes = malloc((size_t)count * sizeof(*nodes));
    csp_child **children = malloc((size_t)count * sizeof(*children));
    for (long i = 0; i < count; i++)
        chans[i] = number_chan();
    for (long i = 0; i < count; i++)
        nodes[i] = (ends){csp_chan_in(chans[i]), csp_chan_out(chans[(i + 1) % count]), NULL};
    for (long i = 1; i < count; i++)
        children[i] = csp_fork(pass, &nodes[i], NULL);
    for (int i = -1; i < REPS; i++) {
        long token = 0;
        csp_time start = csp_now();
        csp_write(nodes[0].out, &token);
        csp_read(nodes[0].in, &token);
        if (token != count - 1)
            wrong("ring");
        if (i >= 0)
            values[i] = (double)(csp_now() - start) * 1e-9;
    }
    tell("ring_round", median(values, REPS), "s");
    tell("ring_bytes", (resident() - before) / (double)count, "bytes");
    csp_poison(nodes[0].out);
    for (long i = 1; i < count; i++)
        csp_join(children[i]);
    for (long i = 0; i < count; i++)
        csp_chan_free(chans[i]);
    free(chans);
    free(nodes);
    free(children);
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
        for (size_t n = 2; n <= 1024; n = n == 2 ? 64 : n * 16) {
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
        fprintf(stderr, "csp: one of commstime, pingpong, alt, create, alive, ring\n");
        return 2;
    }
    return 0;
}
