// SPDX-License-Identifier: BSD-3-Clause
// What ends a program: each argument is a fault that is told with the module, the instance and the
// rank, or the process, and exit status 1. list.tsv has the error messages.
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow_check.h"

typedef struct Good {
    flow_self flow;
    struct {
        FLOW_QUEUE(void) in, out;
        FLOW_QUEUE(long) other;
    } q;
} Good;

typedef struct Bad {
    flow_self flow;
    struct {
        FLOW_QUEUE(void) in, out;
        FLOW_QUEUE(long) other;
    } q;
} Bad;

static int Good_run(Good *my)
{
    long *v;
    size_t count;
    double d[2] = {1, 2};
    long long whole = -1;
    if (my->flow.argc > 1 && strcmp(my->flow.argv[1], "whole") == 0)
        return !flow_send(my, &whole, 1);
    for (int i = 0; i < 3; i++)
        (void)flow_send(my, d, 2);
    while (flow_dequeue(my, &v, &count))
        (void)count;
    return 0;
}

static bool is(const Bad *my, const char *what)
{
    return my->flow.argc > 1 && strcmp(my->flow.argv[1], what) == 0;
}

static void bad_data(Bad *my)
{
    static _Alignas(64) long own[32];
    double *v, *w;
    size_t count;
    if (is(my, "own-data"))
        (void)flow_give(my, own + 16, 1);
    if (is(my, "nothing-to-send"))
        (void)flow_send(my, (long *)NULL, 1);
    if (is(my, "no-data"))
        (void)flow_give(my, (long *)NULL, 1);
    if (is(my, "odd-data"))
        (void)flow_give(my, (char *)own + 65, 1);
    CHECK(flow_dequeue(my, &v, &count));
    if (is(my, "given-twice")) {
        (void)flow_give(my, v, 1);
        (void)flow_give(my, v, 1);
    }
    if (is(my, "kept-when-given")) {
        (void)flow_give(my, v, 1);
        flow_keep(v);
    }
    if (is(my, "freed-twice")) {
        v = flow_new(my, 8);
        flow_free(v);
        flow_free(v);
    }
    if (is(my, "given-when-freed")) {
        flow_keep(v);
        flow_free(v);
        (void)flow_give(my, v, 1);
    }
    if (is(my, "used-when-gone")) {
        CHECK(flow_dequeue(my, &w, &count));
        CHECK(flow_dequeue(my, &w, &count));
        flow_keep(v); // it may be another one's by now
        flow_keep(v);
        flow_free(v);
        flow_free(v);
    }
    if (is(my, "too-many"))
        (void)flow_give(my, v, 3);
    if (is(my, "far-too-many"))
        (void)flow_send(my, v, SIZE_MAX / 4);
}

static void *exits(void *unused)
{
    (void)unused;
    exit(0);
}

static void exit_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, exits, NULL) == 0)
        pthread_join(thread, NULL);
}

static int child_exits(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        exit(0);
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

// The child would send what the module itself sends.
static int child_sends(Bad *my)
{
    long v = 1;
    int status;
    pid_t child = fork();
    if (child == 0) {
        (void)flow_send(my, &v, 1);
        _exit(0);
    }
    return child < 0 || waitpid(child, &status, 0) != child || status != 1 << 8;
}

static int Bad_run(Bad *my)
{
    long *v;
    unsigned long *u;
    float *f;
    size_t count;
    if (my->flow.index != 2)
        return 0;
    if (is(my, "returns"))
        return 7;
    if (is(my, "fails"))
        flow_fail(my, "the experiment has %d samples", -3);
    if (is(my, "type"))
        (void)flow_dequeue(my, &f, &count);
    if (is(my, "kind"))
        (void)flow_dequeue(my, &v, &count);
    if (is(my, "kind-from"))
        (void)flow_dequeue_from(my, &v, &count, in);
    if (is(my, "whole")) // numbers of one size: no fault
        return !flow_dequeue(my, &u, &count) || *u != ULONG_MAX;
    if (is(my, "exits"))
        exit(0);
    if (is(my, "exits-7"))
        exit(7);
    if (is(my, "exits-thread"))
        exit_in_thread();
    if (is(my, "child-exits")) // a child is no module
        return child_exits();
    if (is(my, "child-sends"))
        return child_sends(my);
    if (is(my, "wrong-way"))
        (void)flow_queue_send((flow_queue *)(void *)my->q.in.queue, &count, FLOW_ANY, 1, 1);
    if (is(my, "other-way"))
        (void)flow_queue_dequeue(my->q.out.queue, (const void **)(void *)&v, FLOW_ANY, 1, &count,
                                 false);
    if (is(my, "no-queue"))
        (void)flow_queue_send(NULL, &count, FLOW_ANY, 1, 1);
    if (is(my, "no-queues"))
        (void)flow_queue_dequeue_from(NULL, 0, (const void **)(void *)&v, FLOW_ANY, 1, &count,
                                      false);
    if (is(my, "constant"))
        (void)flow_const(my, "nobody");
    bad_data(my);
    return 0;
}

MODULE(Good, IN_ANY(Good, in), OUT_ANY(Good, out), OUT_LONG(Good, other, 0));
MODULE(Bad, IN_ANY(Bad, in), OUT_ANY(Bad, out), OUT_LONG(Bad, other, 0));

static void wire(flow_wiring *w)
{
    int g = flow_add(w, __LINE__, "g", &Good_module, -1);
    int b = flow_add(w, __LINE__, "b", &Bad_module, 3);
    WIRE(w, ALL(g), AT(b, 2));
    WIRE(w, AT(b, 2), ALL(g));
}

MAIN(wire)
