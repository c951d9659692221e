// SPDX-License-Identifier: BSD-3-Clause
// Reordering against counting: new ranks are a permutation, never separate more neighbours than no
// reordering does, and as few as can be where that is known.
#include "mpi/topo/reorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/unit_test.h"

static int number_below(int limit)
{
    return (int)below((uint64_t)limit);
}

// A job: the worker of every rank, the process of every worker.
enum { MOST = 4096 };

typedef struct job {
    uint32_t worker[MOST], process[MOST];
    int ranks, workers;
} job;

static uint32_t job_worker(const void *of, int32_t rank)
{
    CHECK(rank >= 0 && rank < ((const job *)of)->ranks);
    return ((const job *)of)->worker[rank];
}

static uint32_t job_process(const void *of, uint32_t worker)
{
    return ((const job *)of)->process[worker];
}

static mlt_topo_where where_of(const job *j, int count)
{
    bool up = true, down = true;
    for (int r = 1; r < count; r++) {
        up &= j->worker[r] >= j->worker[r - 1];
        down &= j->worker[r] <= j->worker[r - 1];
    }
    return (mlt_topo_where){job_worker, job_process, j, count, up || down};
}

// Workers of `each` ranks, `workers_a_process` of them in a process.
static void job_even(job *j, int workers, int each, int workers_a_process)
{
    j->ranks = workers * each;
    j->workers = workers;
    for (int r = 0; r < j->ranks; r++)
        j->worker[r] = (uint32_t)(r / each);
    for (int w = 0; w < workers; w++)
        j->process[w] = (uint32_t)(w / workers_a_process);
}

static mlt_topo_cut count_grid(const job *j, int ndims, const int *dims, const int *periods,
                               const int32_t *home) // home: the old rank that has a new one
{
    mlt_topo_cut cut = {0};
    int count = 1, stride = 1;
    for (int d = 0; d < ndims; d++)
        count *= dims[d];
    for (int d = ndims - 1; d >= 0; d--) {
        for (int r = 0; r < count; r++) {
            bool last = r / stride % dims[d] == dims[d] - 1;
            if (last && (!periods[d] || dims[d] == 1))
                continue;
            int n = last ? r - (dims[d] - 1) * stride : r + stride;
            uint32_t a = j->worker[home ? home[r] : r], b = j->worker[home ? home[n] : n];
            cut.workers += a != b;
            cut.units += j->process[a] != j->process[b];
        }
        stride *= dims[d];
    }
    return cut;
}

// Makes a plan, checks it, and gives what it separates.
static mlt_topo_cut check_grid(const job *j, int ndims, const int *dims, const int *periods)
{
    int count = 1;
    for (int d = 0; d < ndims; d++)
        count *= dims[d];
    mlt_topo_where where = where_of(j, count);
    mlt_topo_cart_plan *plan = mlt_topo_cart_plan_new(&where, ndims, dims, periods);
    int32_t *home = malloc((size_t)count * sizeof *home);
    CHECK(home);
    memset(home, 0xff, (size_t)count * sizeof *home);
    for (int r = 0; r < count; r++) {
        int new = mlt_topo_cart_plan_rank(plan, r);
        CHECK(new >= 0 && new < count &&home[new] == -1);
        home[new] = r;
    }
    mlt_topo_cut before = count_grid(j, ndims, dims, periods, NULL);
    mlt_topo_cut after = count_grid(j, ndims, dims, periods, home);
    CHECK(after.workers <= before.workers);
    mlt_topo_cut told = plan->cut, told_before = plan->before;
    if (told_before.workers || told.workers) { // else it knew at once that all live together
        CHECK(told.workers == after.workers);
        CHECK(told_before.workers == before.workers);
    }
    if (told.units || told_before.units) { // else they were not asked about
        CHECK(told.units == after.units);
        CHECK(told_before.units == before.units);
    }
    free(home);
    mlt_topo_cart_plan_free(plan);
    return after;
}

static void check_known(int workers, int each, int workers_a_process, int ndims, const int *dims,
                        const int *periods, int64_t want, int64_t want_processes)
{
    static job j;
    job_even(&j, workers, each, workers_a_process);
    mlt_topo_cut cut = check_grid(&j, ndims, dims, periods);
    if (cut.workers == want && cut.units == want_processes)
        return;
    fprintf(stderr, "%d workers of %d, grid", workers, each);
    for (int d = 0; d < ndims; d++)
        fprintf(stderr, " %d", dims[d]);
    fprintf(stderr, ": separates %lld and %lld, should be %lld and %lld\n", (long long)cut.workers,
            (long long)cut.units, (long long)want, (long long)want_processes);
    exit(1);
}

static void check_shapes(void)
{
    static const int open[6] = {0}, closed[6] = {1, 1, 1, 1, 1, 1};
    // 4 x 4 blocks instead of 2 x 8 slabs: 16 instead of 24.
    check_known(4, 16, 1, 2, (int[]){8, 8}, open, 16, 16);
    check_known(4, 16, 1, 2, (int[]){8, 8}, closed, 32, 32);
    // Along the long side: 10 instead of 100.
    check_known(2, 500, 1, 2, (int[]){10, 100}, open, 10, 10);
    check_known(2, 500, 1, 2, (int[]){100, 10}, open, 10, 10);
    // Nothing better than slabs.
    check_known(2, 32, 1, 2, (int[]){8, 8}, open, 8, 8);
    check_known(2, 500, 1, 3, (int[]){10, 10, 10}, open, 100, 100);
    // 2 x 2 x 2 blocks of 8: 3 * 16; and 2 processes have halves.
    check_known(8, 8, 4, 3, (int[]){4, 4, 4}, open, 48, 16);
    // 16 workers of 16 in 4 processes: blocks of 4 x 4, processes of 8 x 8.
    check_known(16, 16, 4, 2, (int[]){16, 16}, open, 96, 32);
    // One rank a worker: only processes can be better off.
    check_known(16, 1, 4, 2, (int[]){4, 4}, open, 24, 8);
    check_known(1, 64, 1, 2, (int[]){8, 8}, closed, 0, 0);
    check_known(4, 4, 2, 1, (int[]){16}, closed, 4, 2);
    check_known(4, 1, 1, 0, NULL, NULL, 0, 0);
    // A prime number of ranks in each: 1.75 lines of 4 rather than lines of 7.
    check_known(4, 7, 1, 2, (int[]){4, 7}, open, 15, 15);
    check_known(4, 7, 1, 2, (int[]){7, 4}, open, 15, 15);
}

static void shuffle(job *j)
{
    for (int r = j->ranks - 1; r > 0; r--) {
        int other = number_below(r + 1);
        uint32_t keep = j->worker[r];
        j->worker[r] = j->worker[other];
        j->worker[other] = keep;
    }
}

// Workers of any sizes.
static void job_random(job *j, int kind)
{
    j->workers = 1 + number_below(12);
    j->ranks = 0;
    int same = 1 + number_below(40);
    for (int w = 0; w < j->workers; w++) {
        int each = kind ? 1 + number_below(40) : same;
        for (int i = 0; i < each; i++)
            j->worker[j->ranks++] = (uint32_t)w;
        j->process[w] = w ? j->process[w - 1] + (uint32_t)number_below(2) : 0;
    }
    if (kind == 2)
        shuffle(j);
    if (kind == 3)
        for (int r = 0; r < j->ranks / 2; r++) {
            uint32_t keep = j->worker[r];
            j->worker[r] = j->worker[j->ranks - 1 - r];
            j->worker[j->ranks - 1 - r] = keep;
        }
}

static void check_random(int rounds)
{
    static job j;
    int won = 0;
    for (int i = 0; i < rounds; i++) {
        job_random(&j, i % 4);
        int ndims = 1 + number_below(5), dims[5], periods[5], count = 1;
        for (int d = 0; d < ndims; d++) {
            periods[d] = number_below(2) * 7;
            dims[d] = 1 + number_below(j.ranks / count < 12 ? j.ranks / count : 12);
            if (d == ndims - 1 && number_below(2))
                dims[d] = j.ranks / count;
            count *= dims[d];
        }
        mlt_topo_cut before = count_grid(&j, ndims, dims, periods, NULL);
        won += check_grid(&j, ndims, dims, periods).workers < before.workers;
    }
    CHECK(won > rounds / 4);
}

// ---- graphs

// home: the old rank that has a new one; NULL: the same.
static mlt_topo_cut count_graph(const job *j, const mlt_topo_edge *edges, int64_t count,
                                const int32_t *home)
{
    mlt_topo_cut cut = {0};
    for (int64_t i = 0; i < count; i++) {
        uint32_t a = j->worker[home ? home[edges[i].from] : edges[i].from];
        uint32_t b = j->worker[home ? home[edges[i].to] : edges[i].to];
        cut.workers += a != b ? edges[i].weight : 0;
        cut.units += j->process[a] != j->process[b] ? edges[i].weight : 0;
    }
    return cut;
}

static mlt_topo_cut check_graph(const job *j, const mlt_topo_edge *edges, int64_t count)
{
    mlt_topo_where where = where_of(j, j->ranks);
    static int32_t newrank[MOST];
    static bool seen[MOST];
    mlt_topo_cut before = count_graph(j, edges, count, NULL);
    if (!mlt_reorder_graph(&where, edges, count, newrank))
        return before;
    static int32_t home[MOST];
    memset(seen, 0, sizeof seen);
    for (int r = 0; r < j->ranks; r++) {
        CHECK(newrank[r] >= 0 && newrank[r] < j->ranks && !seen[newrank[r]]);
        seen[newrank[r]] = true;
        home[newrank[r]] = r;
    }
    mlt_topo_cut after = count_graph(j, edges, count, home);
    CHECK(mlt_topo_cut_is_less(after, before));
    return after;
}

// A ring whose nodes are numbered at random, and a grid.
static void check_graphs(void)
{
    static job j;
    static mlt_topo_edge edges[8 * MOST];
    int n = 64, count = 0;
    int number[64];
    job_even(&j, 4, n / 4, 2);
    for (int i = 0; i < n; i++)
        number[i] = i * 27 % n;
    for (int i = 0; i < n; i++) {
        edges[count++] = (mlt_topo_edge){number[i], number[(i + 1) % n], 1};
        edges[count++] = (mlt_topo_edge){number[(i + 1) % n], number[i], 1};
    }
    CHECK(check_graph(&j, edges, count).workers == 8);
    count = 0;
    for (int i = 0; i < n; i++) {
        if (i % 8 < 7)
            edges[count++] = (mlt_topo_edge){i, i + 1, 1};
        if (i / 8 < 7)
            edges[count++] = (mlt_topo_edge){i, i + 8, 1};
    }
    CHECK(check_graph(&j, edges, count).workers == 16); // 4 x 4 blocks
    // Pairs of partners, far from each other, and heavy edges that beat many light ones.
    count = 0;
    for (int i = 0; i < n / 2; i++)
        edges[count++] = (mlt_topo_edge){i, i + n / 2, 100};
    CHECK(check_graph(&j, edges, count).workers == 0);
    for (int i = 0; i < n; i++)
        edges[count++] = (mlt_topo_edge){i, (i + 1) % n, 1};
    CHECK(check_graph(&j, edges, count).workers < 100);
    CHECK(check_graph(&j, edges, 0).workers == 0);
    // One rank a worker: partners get one process.
    job_even(&j, 8, 1, 2);
    for (int i = 0; i < 4; i++)
        edges[i] = (mlt_topo_edge){i, i + 4, 1};
    CHECK(check_graph(&j, edges, 4).units == 0);
}

static void check_random_graphs(int rounds)
{
    static job j;
    static mlt_topo_edge edges[8 * MOST];
    for (int i = 0; i < rounds; i++) {
        job_random(&j, i % 4);
        int count = number_below(4 * j.ranks);
        for (int e = 0; e < count; e++)
            edges[e] =
                (mlt_topo_edge){number_below(j.ranks), number_below(j.ranks), number_below(5)};
        check_graph(&j, edges, count);
    }
}

// Two workers of 500,000: what a rank pays, and the plan's own price for hard shapes.
static uint32_t big_worker(const void *of, int32_t rank)
{
    return (uint32_t)(rank / *(const int32_t *)of);
}

static uint32_t big_process(const void *of, uint32_t worker)
{
    return worker / 8;
}

static double plan_seconds(int32_t each, int ndims, const int *dims)
{
    static const int periods[24] = {1, 1, 1};
    int32_t count = 1;
    for (int d = 0; d < ndims; d++)
        count *= dims[d];
    mlt_topo_where where = {big_worker, big_process, &each, count, true};
    clock_t start = clock();
    mlt_topo_cart_plan *plan = mlt_topo_cart_plan_new(&where, ndims, dims, periods);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    CHECK(plan->cut.workers <= plan->before.workers);
    mlt_topo_cart_plan_free(plan);
    return seconds;
}

static void check_price(void)
{
    int twos[20];
    for (int d = 0; d < 20; d++)
        twos[d] = 2;
    // Generous limits: a plan is made once a worker, and each takes some milliseconds at most.
    CHECK(plan_seconds(500000, 3, (int[]){100, 100, 100}) < 1);
    CHECK(plan_seconds(256, 3, (int[]){128, 128, 64}) < 1);
    CHECK(plan_seconds(256, 20, twos) < 1);
    CHECK(plan_seconds(241, 3, (int[]){100, 100, 100}) < 1);
}

int main(void)
{
    check_shapes();
    check_random(2000);
    check_graphs();
    check_random_graphs(500);
    check_price();
    return 0;
}
