// SPDX-License-Identifier: BSD-3-Clause
// A ring of processes: a token goes round, and each adds one to it.
//
//     mpicc -O2 ring.c -o ring
//     ./ring 1000000 5        a million processes, five times round
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct node {
    csp_in *in;
    csp_out *out;
} node;

static int pass(void *arg)
{
    node *my = arg;
    long token;
    csp_hold(my->in);
    csp_hold(my->out);
    while (csp_read(my->in, &token) == CSP_OK) {
        token++;
        if (csp_write(my->out, &token) != CSP_OK)
            break;
    }
    return 0; // the next one hears that this one has retired
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000, rounds = argc > 2 ? atol(argv[2]) : 10;
    // This process is the first of the ring, the others are forked.
    csp_chan **chans = malloc((size_t)count * sizeof(*chans));
    node *nodes = malloc((size_t)count * sizeof(*nodes));
    csp_child **children = malloc((size_t)count * sizeof(*children));
    for (long i = 0; i < count; i++)
        chans[i] = csp_chan_new(NULL, sizeof(long));
    for (long i = 0; i < count; i++)
        nodes[i] = (node){csp_chan_in(chans[i]), csp_chan_out(chans[(i + 1) % count])};
    for (long i = 1; i < count; i++)
        children[i] = csp_fork(pass, &nodes[i], NULL);

    csp_yield(); // they start, and wait: that is not measured
    long token = 0;
    csp_time start = csp_now();
    for (long i = 0; i < rounds && count > 1; i++) {
        csp_write(nodes[0].out, &token);
        csp_read(nodes[0].in, &token);
        token++;
    }
    double seconds = (double)(csp_now() - start) * 1e-9;
    csp_retire(nodes[0].out);
    for (long i = 1; i < count; i++)
        csp_join(children[i]);
    printf("%ld processes, %ld times round: the token is %ld (%s), %.3f s a round\n", count, rounds,
           token, token == (count > 1 ? count * rounds : 0) ? "right" : "WRONG",
           seconds / (double)rounds);
    for (long i = 0; i < count; i++)
        csp_chan_free(chans[i]);
    free(chans);
    free(nodes);
    free(children);
    return 0;
}
