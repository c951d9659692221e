// SPDX-License-Identifier: BSD-3-Clause
// Sends ROUNDS elements on both queues, then takes as many, if there are any. Up to the check
// nothing here knows what becomes of them.
#include <stdio.h>
#include <stdlib.h>

#include "Parallel.flow.h"

enum { ROUNDS = 5, COUNT = 1000 };

// What instance i sends in a round: integers, so that sums and products are exact in any order.
static double first(long i, int round, int k)
{
    return (double)(i + 10 * round + k % 7);
}

static double second(long i, int round, int k)
{
    return (double)(i + 1 + round + k % 3);
}

// What Figure 5 gives instance i: p[0] and p[2] the sums, p[3] the products of p[1] and p[2], p[1]
// nothing.
static double serial(long i, int round, int k)
{
    double sum = 0;

    if (i == 3)
        return second(1, round, k) * second(2, round, k);
    for (long from = 0; from < 4; from++)
        sum += first(from, round, k);
    return sum;
}

void Parallel_init(Parallel *my)
{
    my->send_buffer1 = malloc(COUNT * sizeof *my->send_buffer1);
    my->send_buffer2 = malloc(COUNT * sizeof *my->send_buffer2);
    if (!my->send_buffer1 || !my->send_buffer2)
        flow_fail(my, "no memory for %d values", COUNT);
}

int Parallel_run(Parallel *my)
{
    double *got;
    size_t count;
    int rounds = 0, wrong = 0;

    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < COUNT; k++) {
            my->send_buffer1[k] = first(my->flow.index, round, k);
            my->send_buffer2[k] = second(my->flow.index, round, k);
        }
        flow_send(my, my->send_buffer1, COUNT);
        flow_send_on(my, outQueue1, my->send_buffer2, COUNT);
    }
    for (; rounds < ROUNDS && flow_dequeue(my, &got, &count); rounds++) {
        wrong += count != COUNT;
        for (int k = 0; k < COUNT; k++)
            wrong += got[k] != serial(my->flow.index, rounds, k);
    }
    wrong += rounds != (my->flow.index == 1 ? 0 : ROUNDS);
    printf("%s: %d elements, %s\n", my->flow.name, rounds, wrong ? "WRONG" : "OK");
    return wrong != 0;
}

void Parallel_fini(Parallel *my)
{
    free(my->send_buffer1);
    free(my->send_buffer2);
}
