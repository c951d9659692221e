// SPDX-License-Identifier: BSD-3-Clause
// The primes, by a chain of processes: each keeps the first number that it hears, which is a
// prime, and passes on what that does not divide, to a process that it starts itself.
//
//     mpicc sieve.c -o sieve
//     ./sieve 100        the primes up to 100
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

static int filter(void *arg)
{
    csp_in *in = arg;
    int prime, n;
    csp_hold(in);
    if (csp_read(in, &prime) != CSP_OK)
        return 0; // the numbers are over: this is the end of the chain
    printf("%d\n", prime);

    csp_chan *chan = csp_chan_new(NULL, sizeof(int));
    csp_out *out = csp_chan_out(chan);
    csp_child *next = csp_fork(filter, csp_chan_in(chan), "filter");
    while (csp_read(in, &n) == CSP_OK)
        if (n % prime != 0)
            csp_write(out, &n);
    csp_retire(out); // the next one hears that the numbers are over
    csp_join(next);
    csp_chan_free(chan);
    return 0;
}

typedef struct numbers {
    csp_out *out;
    int last;
} numbers;

static int count(void *arg)
{
    numbers *my = arg;
    csp_hold(my->out);
    for (int n = 2; n <= my->last; n++)
        csp_write(my->out, &n);
    return 0;
}

int main(int argc, char **argv)
{
    csp_chan *chan = csp_chan_new("numbers", sizeof(int));
    numbers from = {csp_chan_out(chan), argc > 1 ? atoi(argv[1]) : 100};
    int result = CSP_PAR({count, &from, "count"}, {filter, csp_chan_in(chan), "filter"});
    csp_chan_free(chan);
    return result;
}
