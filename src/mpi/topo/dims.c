// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create. The optimum is searched for exactly. With as many factors as n has primes, or
// more, it is these primes. Otherwise there are fewer than 31 factors; they are chosen one by one
// from the smallest up, each first as large as it can be, so that the first find is good already
// and its spread bounds all that follows: a few hundred steps for the worst 31-bit numbers.
#include "mpi/topo/dims.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "mpi/error/error.h"
#include "mpi_bodies.h"

enum { PRIMES = 31 }; // more than the prime factors of any int

// The prime factors of n with their multiplicity, ascending.
static int primes_of(int n, int *primes)
{
    int count = 0;
    for (int p = 2; p <= n / p; p += p == 2 ? 1 : 2)
        for (; n % p == 0; n /= p)
            primes[count++] = p;
    if (n > 1)
        primes[count++] = n;
    return count;
}

static int dims_compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static int *divisors_from(const int *primes, int prime_count, int *count)
{
    size_t room = 1;
    for (int i = 0, power = 1; i < prime_count; i++) {
        power = i && primes[i] == primes[i - 1] ? power + 1 : 1;
        room = room / (size_t)power * (size_t)(power + 1);
    }
    int *all = mlt_xcalloc(room, sizeof *all);
    int found = 1, before = 0;
    all[0] = 1;
    for (int i = 0; i < prime_count; i++) {
        // A prime again: only what the last one added is multiplied once more.
        int first = i && primes[i] == primes[i - 1] ? before : 0;
        before = found;
        for (int k = first, end = found; k < end; k++)
            all[found++] = all[k] * primes[i];
    }
    qsort(all, (size_t)found, sizeof *all, dims_compare);
    *count = found;
    return all;
}

int *mlt_dims_divisors(int n, int *count)
{
    int primes[PRIMES];
    int prime_count = primes_of(n, primes);
    return divisors_from(primes, prime_count, count);
}

// x^k <= limit
static bool power_fits(int64_t x, int k, int64_t limit)
{
    int64_t power = 1;
    for (; k > 0; k--)
        if ((power *= x) > limit)
            return x == 0;
    return true;
}

typedef struct search {
    const int *divisors; // ascending
    int count, k;
    int64_t spread;         // of the best so far
    int now[PRIMES], *best; // ascending; nonincreasing
} search;

// The last divisor whose k-th power is at most n.
static int dims_root_of(const search *s, int k, int n)
{
    int low = 0, high = s->count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (power_fits(s->divisors[middle], k, n))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void offer(search *s)
{
    int k = s->k;
    int64_t spread = (int64_t)s->now[k - 1] - s->now[0];
    int order = spread < s->spread ? -1 : spread > s->spread; // below 0: the new one is better
    for (int i = 0; i < k && order == 0; i++)
        order = dims_compare(&s->now[k - 1 - i], &s->best[i]);
    if (order >= 0)
        return;
    s->spread = spread;
    for (int i = 0; i < k; i++)
        s->best[i] = s->now[k - 1 - i];
}

// Factors at..k-1, whose product is `rest` and none of which is below the one before.
static void choose(search *s, int at, int rest)
{
    int left = s->k - at;
    if (left == 1) {
        s->now[at] = rest;
        offer(s);
        return;
    }
    for (int i = dims_root_of(s, left, rest); i >= 0; i--) {
        int d = s->divisors[i];
        // None is larger than the smallest plus the best spread: too small a start never ends.
        int64_t most = s->now[0] + s->spread;
        if (d < s->now[at - 1] || power_fits(most, left - 1, (rest - 1) / d))
            break;
        if (rest % d)
            continue;
        s->now[at] = d;
        choose(s, at + 1, rest / d);
    }
}

void mlt_dims_balance(int n, int k, int *factors)
{
    search s = {.k = k, .best = factors};
    int primes[PRIMES];
    int prime_count = primes_of(n, primes);
    if (k >= prime_count) {
        for (int i = 0; i < k; i++)
            factors[i] = i < prime_count ? primes[prime_count - 1 - i] : 1;
        return;
    }
    if (k == 1) {
        factors[0] = n;
        return;
    }
    int *divisors = divisors_from(primes, prime_count, &s.count);
    s.divisors = divisors;
    s.spread = n; // worse than any
    for (int i = dims_root_of(&s, k, n); i >= 0; i--) {
        // The largest factor is at least the k-th root of n: too far below it is no better.
        if (power_fits(divisors[i] + s.spread, k, n - 1))
            break;
        s.now[0] = divisors[i];
        choose(&s, 1, n / divisors[i]);
    }
    free(divisors);
}

int mlt_mpi_Dims_create(mlt_rank *me, int nnodes, int ndims, int dims[])
{
    if (nnodes < 1)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "nnodes", nnodes, "at least 1");
    if (ndims < 0)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_DIMS, "ndims", ndims, "at least 0");
    if (ndims > 0 && !dims)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG, "dims", "an array, as ndims is above 0");
    int64_t fixed = 1;
    int free_dims = 0;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0)
            return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_DIMS,
                                 "dims[%d] is %d, but should be the size of a dimension, or 0 for "
                                 "one to be found",
                                 i, dims[i]);
        free_dims += dims[i] == 0;
        if (dims[i] > 0 && fixed <= nnodes)
            fixed *= dims[i];
    }
    if (nnodes % fixed || (free_dims == 0 && fixed != nnodes))
        return mlt_mpi_raise(
            me, NULL, me->fn, MPI_ERR_DIMS,
            "nnodes is %d, but should be %s the product of the dimensions that are "
            "given, %lld%s",
            nnodes, free_dims ? "a multiple of" : "equal to", (long long)fixed,
            fixed > nnodes ? " or more" : "");
    if (free_dims == 0)
        return MPI_SUCCESS;
    int *found = mlt_xcalloc((size_t)free_dims, sizeof *found);
    mlt_dims_balance((int)(nnodes / fixed), free_dims, found);
    for (int i = 0, next = 0; i < ndims; i++)
        if (dims[i] == 0)
            dims[i] = found[next++];
    free(found);
    return MPI_SUCCESS;
}
