// SPDX-License-Identifier: BSD-3-Clause
// Threads of the program and their proxies: threads write, read and poison by them; an idle one is no deadlock, and those that all
// wait are one. `csp_proxy CASE` for the faults.
#include <poll.h>
#include <pthread.h>

#include "csp_check.h"

enum { THREADS = 4, VALUES = 50 };

typedef struct worker {
    csp_proxy *proxy;
    csp_chan *chan;
    csp_in *in;
    csp_out *out;
    int value, sum;
    pthread_t thread;
} worker;

static int takes_ends(void *arg)
{
    worker *my = arg;
    my->in = csp_chan_in(my->chan);
    my->out = csp_chan_out(my->chan);
    return 42;
}

static int writes(void *arg)
{
    worker *my = arg;
    return (int)csp_write(my->out, &my->value);
}

static int reads(void *arg)
{
    worker *my = arg;
    return (int)csp_read(my->in, &my->value);
}

static int retires(void *arg)
{
    worker *my = arg;
    csp_retire(my->out);
    return 0;
}

static int poisons(void *arg)
{
    worker *my = arg;
    csp_poison(my->in);
    return 0;
}

static void *produces(void *arg)
{
    worker *my = arg;
    for (my->value = 1; my->value <= VALUES; my->value++)
        CHECK_INT(csp_proxy_call(my->proxy, writes, my), CSP_OK);
    csp_proxy_call(my->proxy, retires, my);
    csp_proxy_end(my->proxy);
    return NULL;
}

// By the address of a function, as interpreters call.
static void *consumes(void *arg)
{
    worker *my = arg;
    csp_call call = {(void (*)(void))csp_read, {(intptr_t)my->in, (intptr_t)&my->value}, 0};
    CHECK_INT(csp_proxy_call(my->proxy, csp_call_run, &call), 0);
    while ((int)call.result == CSP_OK) {
        my->sum += my->value;
        csp_proxy_call(my->proxy, csp_call_run, &call);
    }
    CHECK_INT((int)call.result, CSP_RETIRED);
    csp_proxy_end(my->proxy);
    return NULL;
}

static void *thinks(void *arg)
{
    worker *my = arg;
    (void)poll(NULL, 0, 20); // meanwhile nothing can go on but this thread
    CHECK_INT(csp_proxy_call(my->proxy, takes_ends, my), 42);
    csp_proxy_call(my->proxy, poisons, my);
    csp_proxy_end(my->proxy);
    return NULL;
}

static void *waits(void *arg)
{
    worker *my = arg;
    CHECK_INT(csp_proxy_call(my->proxy, reads, my), CSP_POISONED);
    csp_proxy_end(my->proxy);
    return NULL;
}

static void begin(worker *w, const char *name, csp_chan *chan, void *(*run)(void *))
{
    *w = (worker){.proxy = csp_proxy_new(name), .chan = chan};
    CHECK(w->proxy);
    (void)takes_ends(w);
    CHECK(pthread_create(&w->thread, NULL, run, w) == 0);
}

static void end(worker *w)
{
    csp_proxy_join(w->proxy);
    CHECK(pthread_join(w->thread, NULL) == 0);
}

static void traffic(void)
{
    csp_chan *chan = csp_chan_new("numbers", sizeof(int));
    worker from[THREADS], to[THREADS];
    int sum = 0;
    for (int i = 0; i < THREADS; i++) {
        begin(&from[i], NULL, chan, produces);
        begin(&to[i], "consumer", chan, consumes);
        csp_retire(to[i].out); // each end counts as a holder
    }
    for (int i = 0; i < THREADS; i++) {
        end(&from[i]);
        end(&to[i]);
        sum += to[i].sum;
    }
    CHECK_INT(sum, THREADS * VALUES * (VALUES + 1) / 2);
    csp_chan_free(chan);
}

static void thinking(void)
{
    csp_chan *chan = csp_chan_new("slow", sizeof(int));
    worker one, two;
    begin(&one, "waits", chan, waits);
    begin(&two, "thinks", chan, thinks);
    end(&one);
    end(&two);
    csp_chan_free(chan);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    csp_chan *chan = csp_chan_new("empty", sizeof(int));
    worker one;
    if (strcmp(what, "deadlock") == 0) {
        begin(&one, "alone", chan, waits);
        end(&one);
    } else if (strcmp(what, "call-null") == 0)
        csp_proxy_call(NULL, reads, NULL);
    else if (strcmp(what, "no-function") == 0)
        csp_proxy_call(csp_proxy_new(NULL), NULL, NULL);
    else if (strcmp(what, "end-null") == 0)
        csp_proxy_end(NULL);
    else if (strcmp(what, "join-null") == 0)
        csp_proxy_join(NULL);
    csp_chan_free(chan);
    traffic();
    thinking();
    return 0;
}
