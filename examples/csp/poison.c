// SPDX-License-Identifier: BSD-3-Clause
// How a network of processes ends. Producers retire when they are done: the consumers hear of it
// when the last one has. A consumer that gives up poisons: everybody stops at once.
//
//     mpicc poison.c -o poison
//     ./poison           three producers, two consumers, all values arrive
//     ./poison 10        after ten values a consumer has had enough
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct producer {
    csp_out *out;
    int first, count, written;
} producer;

static int produce(void *arg)
{
    producer *my = arg;
    csp_hold(my->out);
    for (int i = 0; i < my->count; i++) {
        int v = my->first + i;
        csp_status status = csp_write(my->out, &v);
        if (status != CSP_OK)
            return status; // CSP_POISONED: what this process holds is poisoned, too
        my->written++;
    }
    return CSP_OK; // what it holds is retired
}

typedef struct consumer {
    csp_in *in;
    int limit, read;
    long sum;
} consumer;

static int consume(void *arg)
{
    consumer *my = arg;
    csp_hold(my->in);
    int v;
    csp_status status;
    while ((status = csp_read(my->in, &v)) == CSP_OK) {
        my->sum += v;
        if (++my->read == my->limit)
            return CSP_POISONED;
    }
    return status == CSP_RETIRED ? CSP_OK : status;
}

int main(int argc, char **argv)
{
    int limit = argc > 1 ? atoi(argv[1]) : 0;
    csp_chan *chan = csp_chan_buffered("values", sizeof(int), 4);
    producer p[3];
    consumer c[2];
    for (int i = 0; i < 3; i++)
        p[i] = (producer){csp_chan_out(chan), 100 * i, 100, 0};
    for (int i = 0; i < 2; i++)
        c[i] = (consumer){csp_chan_in(chan), limit, 0, 0};

    int result = CSP_PAR({produce, &p[0], "producer 0"}, {produce, &p[1], "producer 1"},
                         {produce, &p[2], "producer 2"}, {consume, &c[0], "consumer 0"},
                         {consume, &c[1], "consumer 1"});
    printf("%s: %d written, %d read, their sum is %ld\n", csp_status_text((csp_status)result),
           p[0].written + p[1].written + p[2].written, c[0].read + c[1].read, c[0].sum + c[1].sum);
    csp_chan_free(chan);
    return 0;
}
