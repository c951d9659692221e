// SPDX-License-Identifier: BSD-3-Clause
// How long a reduction takes, other work of the first instance for about as long, and both at once:
// medians. The work is arithmetic, for which both need the processor, and waiting, for which they
// do not: a disk, an accelerator.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "Overlap.flow.h"

enum { REPS = 9 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, REPS, sizeof *values, ascending);
    return values[REPS / 2];
}

static void steps(Overlap *my, long count)
{
    volatile double *kept = &my->kept;

    for (long i = 0; i < count; i++)
        *kept = *kept * 0.999999 + 1e-6;
}

// So much work as takes that long alone.
static void compute(Overlap *my, double us)
{
    if (my->steps_a_us == 0) {
        csp_time start = csp_now();
        steps(my, 1000000);
        my->steps_a_us = 1e9 / (double)(csp_now() - start);
    }
    steps(my, (long)(us * my->steps_a_us));
}

static void wait(Overlap *my, double us)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(us * 1e3)}, NULL);
}

// Microseconds of a round in which this instance works so long after it has sent.
static double take_round(Overlap *my, const double *data, size_t count, double us,
                         void (*work)(Overlap *my, double us))
{
    const double *got;
    size_t n;
    csp_time start = csp_now();

    flow_send(my, data, count);
    if (us > 0)
        work(my, us);
    if (!flow_dequeue(my, &got, &n) || n != count || got[count - 1] != 2)
        flow_fail(my, "a wrong sum");
    return (double)(csp_now() - start) / 1e3;
}

static double rounds(Overlap *my, const double *data, size_t count, double us,
                     void (*work)(Overlap *my, double us))
{
    double times[REPS];

    for (int rep = -2; rep < REPS; rep++)
        times[rep < 0 ? 0 : rep] = take_round(my, data, count, us, work);
    return median(times);
}

int Overlap_run(Overlap *my)
{
    size_t count = ((size_t)flow_const(my, "MIB") << 20) / sizeof(double);
    double *data = malloc(count * sizeof *data);

    if (!data)
        flow_fail(my, "no memory");
    for (size_t i = 0; i < count; i++)
        data[i] = 1;
    double alone = rounds(my, data, count, 0, NULL), us = my->flow.index == 0 ? alone : 0;
    double computed = rounds(my, data, count, us, compute);
    double waited = rounds(my, data, count, us, wait);
    if (my->flow.index == 0) {
        printf("overlap_sum %.1f us\n", 2 * alone);
        printf("overlap_compute %.1f us\noverlap_wait %.1f us\n", computed, waited);
    }
    free(data);
    return 0;
}
