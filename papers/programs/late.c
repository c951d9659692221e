// SPDX-License-Identifier: BSD-3-Clause
// Process-oriented collectives, Listings 6 to 8, 13 and 14: one member is late. The collectives are those of examples/csp/collectives.
//
//     late MEMBERS     each is a process; channels between them, so a send waits until its message is taken
//
// Prints for each listing `NAME_ms T`, the time until the root is done, and `NAME_blocked_ms T`, how long a member that is not
// late waits in its send, in the mean. Combining two values takes 5 ms of a device; the late member comes 40 ms late.
#include <stdio.h>
#include <string.h>

#include "collectives.h"

enum { LATE_MS = 40, FUNC_MS = 5, TIMES = 5 };

static double blocked[COMM_MOST]; // of each member; all are processes of this program
static int late;                  // the member that is

static long slow_sum(long a, long b)
{
    csp_sleep(csp_after(FUNC_MS / 1e3));
    return a + b;
}

typedef long reduction(comm *c, long data, function *func);

static long by_gather_seq(comm *c, long data, function *func)
{
    long all[COMM_MOST], sum = 0;
    (void)func;
    gather_seq(c, data, all);
    for (int i = 0; i < c->groupsize && c->rank == 0; i++)
        sum += all[i];
    return sum;
}

static long by_gather_par(comm *c, long data, function *func)
{
    long all[COMM_MOST], sum = 0;
    (void)func;
    gather_par(c, data, all);
    for (int i = 0; i < c->groupsize && c->rank == 0; i++)
        sum += all[i];
    return sum;
}

static const struct {
    const char *name;
    reduction *run;
} ways[] = {{"listing6", reduce_binom1},  {"listing7", reduce_binom2},   {"listing8", reduce_binom3}, {"as_they_come", reduce_as_they_come},
            {"listing13", by_gather_seq}, {"listing14", by_gather_par}};

static int member(comm *c)
{
    long n = c->groupsize;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        double root = 0, others = 0;
        ranks from, to;
        get_reduce_peers_binom(c, &from, &to);
        if (c->rank == 0)
            late = strncmp(ways[way].name, "listing1", 8) == 0 ? 1 : from.rank[0];
        for (int time = 0; time < TIMES; time++) {
            barrier_linear(c);
            csp_time began = csp_now();
            if (c->rank == late)
                csp_sleep(csp_after(LATE_MS / 1e3));
            csp_time entered = csp_now();
            long sum = ways[way].run(c, c->rank + 1, slow_sum);
            blocked[c->rank] = (double)(csp_now() - entered) / 1e6;
            if (c->rank == 0)
                root += (double)(csp_now() - began) / 1e6;
            barrier_linear(c);
            if (c->rank == 0 && sum != n * (n + 1) / 2) {
                fprintf(stderr, "late: %s: a wrong sum\n", ways[way].name);
                return 1;
            }
            for (int i = 1; i < n && c->rank == 0; i++)
                others += i == late ? 0 : blocked[i] / (double)(n - 2);
        }
        if (c->rank == 0)
            printf("%s_ms %.3f\n%s_blocked_ms %.3f\n", ways[way].name, root / TIMES, ways[way].name, others / TIMES);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return comm_run(argc, argv, member);
}
