// SPDX-License-Identifier: BSD-3-Clause
// Rounds of Figure 5, timed. Arguments are BYTES:ROUNDS:AHEAD, one after the other; an instance
// sends up to AHEAD rounds before it takes the result of the first of them. Each is repeated REPS
// times after one to warm up, and p[0] prints `round_BYTES_AHEAD value us`, the median over the
// repetitions of the time of a round. fig12_mpi.c is the same with MPI, where nobody can be ahead.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

#include "Parallel.flow.h"

enum { REPS = 7 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double factor(long i, size_t k)
{
    return (i + (long)k) % 2 == 0 ? 2 : 1;
}

static void fill(Parallel *my, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        my->send_buffer1[k] = (double)my->flow.index + (double)(k % 1021);
        my->send_buffer2[k] = factor(my->flow.index, k);
    }
}

static void check(Parallel *my, const double *got, size_t count, size_t expected)
{
    long q = flow_const(my, "Q"), i = my->flow.index;

    if (count != expected)
        flow_fail(my, "an element of %zu values, not %zu", count, expected);
    for (size_t k = 0; k < count; k++) {
        double want = 1;
        if (i != 3 * q)
            want = (double)(k % 1021) * 4 * q + 4 * q * (4 * q - 1) / 2.0;
        for (long from = q; i == 3 * q && from < 3 * q; from++)
            want *= factor(from, k);
        if (got[k] != want)
            flow_fail(my, "value %zu is %g, not %g", k, got[k], want);
    }
}

// Nanoseconds from the first instance's start to the last one's end.
static double repetition(Parallel *my, size_t count, long rounds, long ahead)
{
    double times[2] = {-(double)csp_now(), 0};
    const double *got, *all;
    size_t n;
    bool some = false; // p[1] of Figure 5 gets nothing

    for (long round = 0; round < rounds + ahead; round++) {
        if (round < rounds) {
            flow_send(my, my->send_buffer1, count);
            flow_send_on(my, outQueue1, my->send_buffer2, count);
        }
        if (round >= ahead)
            some = flow_dequeue(my, &got, &n);
    }
    times[1] = (double)csp_now();
    if (some)
        check(my, got, n, count);
    flow_send_on(my, took, times, 2);
    if (!flow_dequeue_on(my, all, &all, &n))
        flow_fail(my, "the others have stopped");
    return all[0] + all[1];
}

int Parallel_run(Parallel *my)
{
    for (int a = 1; a < my->flow.argc; a++) {
        unsigned long bytes, rounds, ahead;
        double times[REPS];
        if (sscanf(my->flow.argv[a], "%lu:%lu:%lu", &bytes, &rounds, &ahead) != 3 || bytes % 8 ||
            !rounds)
            flow_fail(my, "arguments are BYTES:ROUNDS:AHEAD, not %s", my->flow.argv[a]);
        my->send_buffer1 = malloc(bytes);
        my->send_buffer2 = malloc(bytes);
        if (!my->send_buffer1 || !my->send_buffer2)
            flow_fail(my, "no memory for %lu bytes", bytes);
        fill(my, bytes / 8);
        repetition(my, bytes / 8, (long)(rounds + 9) / 10, (long)ahead);
        for (int rep = 0; rep < REPS; rep++)
            times[rep] = repetition(my, bytes / 8, (long)rounds, (long)ahead);
        qsort(times, REPS, sizeof times[0], ascending);
        if (my->flow.index == 0)
            printf("round_%lu_%lu %.3f us\n", bytes, ahead, times[REPS / 2] / (double)rounds / 1e3);
        free(my->send_buffer1);
        free(my->send_buffer2);
    }
    return 0;
}
