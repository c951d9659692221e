// SPDX-License-Identifier: BSD-3-Clause
// Balanced factors against all factorisations there are, and the time of the worst numbers.
#include "mpi/topo/dims.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/unit_test.h"

enum { MOST = 40 };

// The best of all nonincreasing sequences with that product, by trying them in lexicographic order.
typedef struct naive {
    int k, now[MOST], best[MOST], spread;
} naive;

static void try_all(naive *t, int at, int rest)
{
    int last = at ? t->now[at - 1] : rest;
    if (at == t->k) {
        if (rest == 1 && t->now[0] - t->now[t->k - 1] < t->spread) {
            t->spread = t->now[0] - t->now[t->k - 1];
            memcpy(t->best, t->now, sizeof t->best);
        }
        return;
    }
    for (int d = 1; d <= last && d <= rest; d++) {
        if (rest % d)
            continue;
        t->now[at] = d;
        try_all(t, at + 1, rest / d);
    }
}

static void check_one(int n, int k)
{
    naive t = {.k = k, .spread = n};
    int got[MOST];
    try_all(&t, 0, n);
    mlt_dims_balance(n, k, got);
    if (memcmp(got, t.best, (size_t)k * sizeof *got) == 0)
        return;
    fprintf(stderr, "%d as %d factors: ", n, k);
    for (int i = 0; i < k; i++)
        fprintf(stderr, "%d (best %d) ", got[i], t.best[i]);
    fprintf(stderr, "\n");
    exit(1);
}

static void check_divisors(int n)
{
    int count = 0, next = 0;
    int *all = mlt_dims_divisors(n, &count);
    for (int d = 1; d <= n; d++)
        if (n % d == 0)
            CHECK(next < count && all[next++] == d);
    CHECK(next == count);
    free(all);
}

static void check_known(int n, int k, const char *want)
{
    int got[MOST];
    char text[256] = "";
    mlt_dims_balance(n, k, got);
    for (int i = 0, at = 0; i < k; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%d", i ? " " : "", got[i]);
    if (strcmp(text, want) != 0) {
        fprintf(stderr, "%d as %d factors: %s, should be %s\n", n, k, text, want);
        exit(1);
    }
}

// Numbers with the most divisors, or hard otherwise.
static void check_worst(void)
{
    static const int hard[] = {2095133040, 1396755360, 2147483647, 2147483646, 2147117569,
                               1073741824, 2147483136, 1102701600, 735134400,  1937102445,
                               1162261467, 1220703125, 2073600000, 1801088541, 2147441940};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        for (int k = 1; k <= MOST; k++) {
            int got[MOST];
            clock_t start = clock();
            mlt_dims_balance(hard[i], k, got);
            double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
            int64_t product = 1;
            for (int d = 0; d < k; d++) {
                CHECK(got[d] >= 1 && (d == 0 || got[d] <= got[d - 1]));
                product *= got[d];
            }
            CHECK(product == hard[i]);
            CHECK(seconds < 1); // measured: below a millisecond
        }
    }
}

int main(void)
{
    for (int n = 1; n <= 3000; n++)
        check_divisors(n);
    for (int n = 1; n <= 2520; n++)
        for (int k = 1; k <= 4; k++)
            check_one(n, k);
    for (int n = 1; n <= 1024; n++)
        for (int k = 5; k <= 12; k++)
            check_one(n, k);
    for (int k = 2; k <= 7; k++)
        check_one(55440, k);
    check_known(1000000, 3, "100 100 100");
    check_known(6, 2, "3 2");
    check_known(7, 2, "7 1");
    check_known(12, 3, "3 2 2");
    check_known(1, 3, "1 1 1");
    check_known(16, 6, "2 2 2 2 1 1");
    check_known(24, 3, "4 3 2");
    check_known(36, 3, "4 3 3");
    check_worst();
    return 0;
}
