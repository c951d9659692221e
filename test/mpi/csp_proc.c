// SPDX-License-Identifier: BSD-3-Clause
// Processes: PAR, SEQ, vectors of them, nested ones, fork and join, results, names, time.
#include "csp_check.h"

typedef struct job {
    int number, result;
    int *log, *logged;
    char name[64];
} job;

static int logs(void *arg)
{
    job *my = arg;
    snprintf(my->name, sizeof my->name, "%s", csp_self());
    my->log[(*my->logged)++] = my->number;
    return my->result;
}

static int yields(void *arg)
{
    job *my = arg;
    for (int i = 0; i < my->number; i++)
        csp_yield();
    return my->result;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void par(bool in_order)
{
    int log[6], logged = 0;
    job j[5];
    csp_proc procs[5];
    for (int i = 0; i < 5; i++) {
        j[i] = (job){.number = i,
                     .result = i == 2   ? 7
                               : i == 4 ? 9
                                        : 0,
                     .log = log,
                     .logged = &logged};
        procs[i] = (csp_proc){logs, &j[i], i % 2 ? "odd" : NULL, -1};
    }
    CHECK_INT(csp_par(procs, 5), 7);
    CHECK_INT(logged, 5);
    for (int i = 0; i < 5; i++) {
        if (in_order)
            CHECK_INT(log[i], i);
        CHECK_INT(procs[i].result, j[i].result);
    }
    CHECK(strcmp(j[1].name, "odd") == 0);
    CHECK(strncmp(j[0].name, "process ", 8) == 0);
    logged = 0;
    for (int i = 0; i < 5; i++)
        procs[i].result = -1;
    CHECK_INT(csp_seq(procs, 5), 7);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(log[i], i);
        CHECK_INT(procs[i].result, j[i].result);
    }
    CHECK(strcmp(j[1].name, csp_self()) == 0); // SEQ runs in the calling process
    CHECK_INT(CSP_SEQ({nothing, NULL}, {logs, &j[4]}), 9);
    CHECK_INT(csp_par(NULL, 0), 0);
    CHECK_INT(csp_seq(NULL, 0), 0);
    CHECK_INT(csp_par_each(nothing, NULL, 0, 0, NULL, NULL), 0);
}

static void each(void)
{
    enum { N = 300 };
    int log[2 * N], logged = 0, results[N];
    job *j = calloc(N, sizeof *j);
    for (int i = 0; i < N; i++)
        j[i] = (job){.number = i, .result = i >= 100 ? i : 0, .log = log, .logged = &logged};
    CHECK_INT(csp_par_each(logs, j, N, sizeof *j, "worker", results), 100);
    for (int i = 0; i < N; i++) {
        char name[64];
        snprintf(name, sizeof name, "worker[%d]", i);
        CHECK(strcmp(j[i].name, name) == 0);
        CHECK_INT(results[i], j[i].result);
    }
    CHECK_INT(csp_par_each(logs, j, 100, sizeof *j, NULL, NULL), 0);
    free(j);
}

// The first in their order, not in time.
static void first_result(void)
{
    job j[3] = {{.number = 20, .result = 1}, {.number = 5, .result = 2}, {.result = 3}};
    CHECK_INT(csp_par_each(yields, j, 3, sizeof *j, NULL, NULL), 1);
}

static int tree(void *arg)
{
    job *my = arg;
    if (my->number == 0)
        return 1;
    job below[3];
    int results[3] = {0};
    for (int i = 0; i < 3; i++)
        below[i] = (job){.number = my->number - 1};
    int first = csp_par_each(tree, below, 3, sizeof *below, "tree", results);
    CHECK_INT(first, results[0]);
    return results[0] + results[1] + results[2];
}

static void nested(void)
{
    CHECK_INT(CSP_PAR({tree, &(job){.number = 6}, "root"}), 729);
}

// ---- fork and join

typedef struct joiner {
    csp_child *child;
    int got;
} joiner;

static int joins(void *arg)
{
    joiner *my = arg;
    my->got = csp_join(my->child);
    return 0;
}

static void forks(void)
{
    enum { N = 200 };
    csp_child *child[N];
    job j[N];
    for (int i = 0; i < N; i++) {
        j[i] = (job){.number = i % 7, .result = i};
        child[i] = csp_fork(yields, &j[i], i % 2 ? "forked" : NULL);
    }
    for (int i = N; i-- > 0;)
        CHECK_INT(csp_join(child[i]), i);
    // By another process.
    j[0] = (job){.number = 50, .result = 5};
    joiner other = {.child = csp_fork(yields, &j[0], NULL)};
    CHECK_INT(CSP_PAR({joins, &other}), 0);
    CHECK_INT(other.got, 5);
    // One that has ended long since.
    csp_child *ended = csp_fork(nothing, NULL, NULL);
    settle();
    CHECK_INT(csp_join(ended), 0);
}

static int sleeps(void *arg)
{
    job *my = arg;
    csp_sleep(csp_after(my->number / 1000.0));
    return my->result;
}

static int returns_value(void *arg)
{
    int value = -1;
    csp_read(arg, &value);
    return value;
}

static void time_passes(void)
{
    int result = -1, value = 4;
    csp_chan *c = csp_chan_new(NULL, sizeof(int));
    csp_out *out = csp_chan_out(c);
    csp_child *child = csp_fork(returns_value, csp_chan_in(c), "waits");
    CHECK_INT(csp_join_by(child, &result, CSP_AT_ONCE), CSP_LATE);
    CHECK_INT(csp_join_by(child, &result, csp_after(0.001)), CSP_LATE);
    CHECK_INT(result, -1);
    CHECK_INT(csp_write(out, &value), CSP_OK);
    CHECK_INT(csp_join_by(child, &result, csp_after(1000)), CSP_OK);
    CHECK_INT(result, 4);
    csp_chan_free(c);
    child = csp_fork(sleeps, &(job){.number = 5}, "sleeper");
    CHECK_INT(csp_join_by(child, NULL, CSP_NEVER), CSP_OK);
    // Those that sleep together wake in any order.
    job many[50];
    csp_time before = csp_now();
    for (int i = 0; i < 50; i++)
        many[i] = (job){.number = 50 - i};
    CHECK_INT(csp_par_each(sleeps, many, 50, sizeof *many, "sleeper", NULL), 0);
    CHECK(csp_now() - before >= 50000000);
    before = csp_now();
    csp_sleep(before + 3000000);
    CHECK(csp_now() >= before + 3000000);
    csp_sleep(before);
    csp_sleep(csp_after(0));
    csp_sleep(csp_after(-1));
    CHECK(csp_after(1e300) == CSP_NEVER && csp_after(-5) <= csp_now());
}

// Processes that come and go use the same memory again.
static void reuse(void)
{
    csp_proc procs[100];
    for (int i = 0; i < 100; i++)
        procs[i] = (csp_proc){nothing, NULL, NULL, 0};
    for (int i = 0; i < 300; i++)
        CHECK_INT(csp_par(procs, 100), 0);
}

static int never_ends(void *arg)
{
    csp_in *in = arg;
    int value;
    csp_read(in, &value);
    return 0;
}

// A yield lets all that can run do so first, also the one that was just woken.
typedef struct pump {
    csp_out *out;
    long wrote;
} pump;

static int pumps(void *arg)
{
    pump *p = arg;
    int value = 0;
    while (csp_write(p->out, &value) == CSP_OK)
        p->wrote++;
    return 0;
}

static int ends_at_once(void *arg)
{
    (void)arg;
    return 0;
}

static void yields_to_all(void)
{
    csp_chan *chans[2];
    pump p[2];
    csp_child *children[2];
    csp_guard guards[2];
    int value;
    for (int i = 0; i < 2; i++) {
        chans[i] = csp_chan_new(NULL, sizeof value);
        p[i] = (pump){csp_chan_out(chans[i]), 0};
        guards[i] = csp_on_read(csp_chan_in(chans[i]), &value);
        children[i] = csp_fork(pumps, &p[i], "pump");
    }
    csp_yield();
    for (long taken = 1; taken <= 300; taken++) {
        CHECK_INT(csp_pri_alt(guards, 2), 0);
        csp_yield();
        CHECK_INT(p[0].wrote, taken);
        if (taken % 100 == 0) // now the other one of two switches is the one in 64
            CHECK(csp_pri_alt(guards + 1, 1) == 0 &&
                  csp_join(csp_fork(ends_at_once, NULL, NULL)) == 0);
    }
    for (int i = 0; i < 2; i++) {
        csp_poison(guards[i].in);
        CHECK(csp_join(children[i]) == 0);
        csp_chan_free(chans[i]);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    CHECK(csp_nodes() > csp_node() && csp_node() >= 0);
    CHECK(strcmp(csp_status_text(CSP_POISONED), "poisoned") == 0);
    CHECK(csp_status_text(CSP_STATUSES) && csp_status_text((csp_status)-1));
    CHECK(strcmp(csp_why(), "") == 0);
    par(argc == 1);
    each();
    first_result();
    nested();
    forks();
    time_passes();
    reuse();
    if (argc == 1) // not under a random schedule
        yields_to_all();
    // Who still runs when main returns is not waited for.
    csp_chan *c = csp_chan_new(NULL, sizeof(int));
    for (int i = 0; i < 10; i++)
        csp_fork(never_ends, csp_chan_in(c), "endless");
    csp_yield();
    return 0;
}
