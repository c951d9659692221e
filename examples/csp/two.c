// SPDX-License-Identifier: BSD-3-Clause
// Two processes and two channels: listing 1 of Bjørndalen and Sampson, Process-Oriented Collective
// Operations (2008).
//
//     mpicc two.c -o two
//     ./two              for ever, a round a second
//     ./two 3 0.1        three rounds, a tenth of a second each
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct ends {
    csp_in *in;
    csp_out *out;
    int rounds;
    double seconds;
} ends;

static int p1(void *arg)
{
    ends *my = arg;
    int v;
    while (csp_read(my->in, &v) == CSP_OK) {
        printf("P1, read from input channel: %d\n", v);
        csp_sleep(csp_after(my->seconds));
        csp_write(my->out, &v);
    }
    return 0;
}

static int p2(void *arg)
{
    ends *my = arg;
    int v;
    for (int i = 0; my->rounds == 0 || i < my->rounds; i++) {
        csp_write(my->out, &i);
        csp_read(my->in, &v);
        printf("P2, read from input channel: %d\n", v);
    }
    csp_poison(my->out); // P1's read returns CSP_POISONED
    return 0;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    double seconds = argc > 2 ? atof(argv[2]) : 1;
    csp_chan *chan1 = csp_chan_new("chan1", sizeof(int));
    csp_chan *chan2 = csp_chan_new("chan2", sizeof(int));
    ends e1 = {csp_chan_in(chan1), csp_chan_out(chan2), rounds, seconds};
    ends e2 = {csp_chan_in(chan2), csp_chan_out(chan1), rounds, seconds};

    return CSP_PAR({p1, &e1, "P1"}, {p2, &e2, "P2"});
}
