// SPDX-License-Identifier: BSD-3-Clause
// Commstime, the classic measure of channels, from ready-made processes: a number goes round
// prefix, delta and successor and grows by one each time; delta also tells a consumer. A round is
// four communications.
//
//           +--> prefix(0) --a--> delta --d--> consumer
//           |                       |
//           c                       b
//           |                       v
//           +------ successor <-----+
//
//     mpicc -O2 commstime.c -o commstime
//     ./commstime 1000000        rounds
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct consumer {
    csp_in *in;
    int rounds;
} consumer;

static int consume(void *arg)
{
    consumer *my = arg;
    int v, wrong = 0;
    csp_time start = csp_now();
    for (int i = 0; i < my->rounds; i++) {
        csp_read(my->in, &v);
        wrong |= v != i;
    }
    double ns = (double)(csp_now() - start);
    printf("%d rounds, %.1f ns a communication%s\n", my->rounds, ns / my->rounds / 4,
           wrong ? ": WRONG" : "");
    csp_poison(my->in); // spreads through delta, then through the others
    return wrong;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000000, zero = 0;
    size_t size = sizeof(int);
    csp_chan *a = csp_chan_new("a", size), *b = csp_chan_new("b", size);
    csp_chan *c = csp_chan_new("c", size), *d = csp_chan_new("d", size);
    csp_out *outs[] = {csp_chan_out(b), csp_chan_out(d)};
    csp_prefix_args prefix = {csp_chan_in(c), csp_chan_out(a), size, &zero};
    csp_delta_args delta = {csp_chan_in(a), outs, 2, size};
    csp_pair successor = {csp_chan_in(b), csp_chan_out(c), size};
    consumer last = {csp_chan_in(d), rounds};

    csp_proc all[] = {{csp_prefix, &prefix, "prefix", 0},
                      {csp_tee, &delta, "delta", 0},
                      {csp_successor, &successor, "successor", 0},
                      {consume, &last, "consumer", 0}};
    csp_par(all, 4);
    csp_chan_free(a);
    csp_chan_free(b);
    csp_chan_free(c);
    csp_chan_free(d);
    return all[3].result;
}
