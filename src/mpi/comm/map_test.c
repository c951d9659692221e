// SPDX-License-Identifier: BSD-3-Clause
// Rank maps against naive lists: random ones of every kind, all pairs of small linear maps, and a
// million entries.
#include "mpi/comm/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/unit_test.h"

enum { MOST = 64, WORLD = 200 };

// A list of ranks as everybody would write it.
typedef struct list {
    int32_t n;
    int32_t at[2 * MOST];
} list;

static int32_t number_below(int32_t limit)
{
    return (int32_t)below((uint64_t)limit);
}

static int32_t place(const list *l, int32_t world)
{
    for (int32_t i = 0; i < l->n; i++)
        if (l->at[i] == world)
            return i;
    return -1;
}

static void add(list *l, int32_t world)
{
    if (place(l, world) < 0 && world >= 0 && world < WORLD)
        l->at[l->n++] = world;
}

static list random_linear(void)
{
    list l = {0};
    int32_t base = number_below(WORLD), stride = number_below(9) - 4, n = number_below(20);
    for (int32_t i = 0; i < n; i++)
        add(&l, base + i * stride); // stops at the world's edges
    return l;
}

static list random_block(void)
{
    list l = {0};
    int32_t length = 1 + number_below(5), stride = number_below(41) - 20, n = number_below(MOST),
            base = number_below(WORLD);
    for (int32_t i = 0; i < n; i++)
        add(&l, base + i / length * stride + i % length);
    return l;
}

static list random_list(void)
{
    list l = {0};
    int32_t n = number_below(number_below(2) ? MOST : 5), limit = 1 + number_below(WORLD);
    switch (number_below(4)) {
    case 0:
        return random_linear();
    case 1:
        return random_block();
    case 2: { // one entry off
        l = random_block();
        int32_t other = number_below(WORLD);
        if (l.n > 0 && place(&l, other) < 0)
            l.at[number_below(l.n)] = other;
        return l;
    }
    default:
        for (int32_t i = 0; i < n; i++)
            add(&l, number_below(limit));
        return l;
    }
}

static bool same(const list *a, const list *b)
{
    return a->n == b->n && memcmp(a->at, b->at, (size_t)a->n * sizeof a->at[0]) == 0;
}

// The map says the same as the list, and is in the one form of that list.
static void check_map(mlt_map *map, const list *l)
{
    CHECK(map->size == l->n);
    for (int32_t r = 0; r < l->n; r++)
        CHECK(mlt_map_world(map, r) == l->at[r]);
    for (int32_t w = -3; w < WORLD + 3; w++)
        CHECK(mlt_map_rank(map, w) == place(l, w));
    CHECK(mlt_map_rank(map, INT32_MAX) == -1);
    CHECK(mlt_map_repeated(map) == -1);
    mlt_map *again = mlt_map_new(l->at, l->n);
    CHECK(again->kind == map->kind && again->base == map->base && again->stride == map->stride);
    CHECK(again->length == map->length && mlt_map_equal(again, map) && mlt_map_similar(again, map));
    mlt_map_drop(again);
    int32_t step = l->n > 1 ? l->at[1] - l->at[0] : 1;
    bool linear = true;
    for (int32_t r = 1; r < l->n; r++)
        linear = linear && l->at[r] - l->at[r - 1] == step;
    CHECK(linear == (map->kind == MLT_MAP_LINEAR));
}

// Takes the reference.
static void check_result(mlt_map *map, const list *l)
{
    check_map(map, l);
    mlt_map_drop(map);
}

static void check_sets(const list *la, const list *lb)
{
    mlt_map *a = mlt_map_new(la->at, la->n), *b = mlt_map_new(lb->at, lb->n);
    check_map(a, la);
    check_map(b, lb);
    list both = {0}, only = {0}, all = *la;
    for (int32_t i = 0; i < la->n; i++)
        add(place(lb, la->at[i]) >= 0 ? &both : &only, la->at[i]);
    for (int32_t i = 0; i < lb->n; i++)
        add(&all, lb->at[i]);
    check_result(mlt_map_union(a, b), &all);
    check_result(mlt_map_intersection(a, b), &both);
    check_result(mlt_map_difference(a, b), &only);
    CHECK(mlt_map_equal(a, b) == same(la, lb));
    CHECK(mlt_map_similar(a, b) == (la->n == lb->n && both.n == la->n));
    CHECK(mlt_map_similar(b, a) == mlt_map_similar(a, b));
    CHECK(a->refs == 1 && b->refs == 1);
    mlt_map_drop(a);
    mlt_map_drop(b);
}

// Ranks of `of` that a list picks or omits.
static void check_pick(const list *lof, const list *lpick)
{
    mlt_map *of = mlt_map_new(lof->at, lof->n);
    list pick = {0}, picked = {0}, left = {0};
    for (int32_t i = 0; i < lpick->n; i++)
        if (lpick->at[i] < lof->n)
            add(&pick, lpick->at[i]);
    for (int32_t i = 0; i < pick.n; i++)
        add(&picked, lof->at[pick.at[i]]);
    for (int32_t i = 0; i < lof->n; i++)
        if (place(&pick, i) < 0)
            add(&left, lof->at[i]);
    mlt_map *p = mlt_map_new(pick.at, pick.n);
    check_result(mlt_map_pick(of, p), &picked);
    check_result(mlt_map_omit(of, p), &left);
    CHECK(of->refs == 1 && p->refs == 1);
    mlt_map_drop(p);
    mlt_map_drop(of);
}

static void check_repeated(const list *l)
{
    list twice = *l;
    if (l->n == 0)
        return;
    int32_t from = number_below(l->n), to = number_below(l->n), want = -1;
    twice.at[to] = twice.at[from];
    for (int32_t i = 1; i < twice.n && want < 0; i++) {
        list before = twice;
        before.n = i;
        if (place(&before, twice.at[i]) >= 0)
            want = i;
    }
    mlt_map *map = mlt_map_new(twice.at, twice.n);
    CHECK(mlt_map_repeated(map) == want);
    mlt_map_drop(map);
}

static void check_random(void)
{
    for (now_seed = 1; now_seed <= 20000; now_seed++) {
        random_state = now_seed;
        list a = random_list(), b = random_list();
        if (number_below(4) == 0) { // the same ranks in another order
            b = a;
            for (int32_t i = 0; i < b.n; i++) {
                int32_t j = number_below(b.n), other = b.at[i];
                b.at[i] = b.at[j];
                b.at[j] = other;
            }
        }
        check_sets(&a, &b);
        check_pick(&a, &b);
        check_repeated(&a);
    }
}

// All linear maps of a small world with each other.
static void check_linear_pairs(void)
{
    enum { SMALL = 7 };
    static list all[1000];
    int count = 0;
    for (int32_t base = 0; base < SMALL; base++)
        for (int32_t stride = -3; stride <= 3; stride++)
            for (int32_t n = 0; n <= SMALL; n++) {
                list l = {0};
                for (int32_t i = 0; i < n; i++)
                    if (base + i * stride >= 0 && base + i * stride < SMALL)
                        add(&l, base + i * stride);
                if (l.n == n)
                    all[count++] = l;
            }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            check_sets(&all[i], &all[j]);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Seconds since `start`, for the line that the test prints; no test fails because of a time.
static double since(double start)
{
    return now() - start;
}

// A million ranks: functions in no time and without a table, tables in near linear time.
static void check_million(void)
{
    enum { N = 1000000, TIMES = 1000 };
    mlt_map *world = mlt_map_new_linear(N, 0, 1), *second = mlt_map_new_linear(N / 2, 0, 2);
    mlt_map *upper = mlt_map_new_linear(N / 2, N / 2, 1);
    double start = now();
    for (int i = 0; i < TIMES; i++) {
        mlt_map *even = mlt_map_pick(world, second), *odd = mlt_map_omit(world, second);
        mlt_map *lower = mlt_map_difference(world, upper), *whole = mlt_map_union(lower, upper);
        mlt_map *some = mlt_map_intersection(upper, odd);
        CHECK(even->kind == MLT_MAP_LINEAR && odd->kind == MLT_MAP_LINEAR && odd->base == 1);
        CHECK(mlt_map_equal(whole, world) && some->size == N / 4 && some->base == N / 2 + 1);
        CHECK(!mlt_map_similar(even, odd));
        mlt_map_drop(even);
        mlt_map_drop(odd);
        mlt_map_drop(lower);
        mlt_map_drop(whole);
        mlt_map_drop(some);
    }
    printf("linear of a million: %.2f us for 6 operations\n", since(start) / TIMES * 1e6);

    int32_t *shuffled = malloc(N * sizeof *shuffled);
    CHECK(shuffled != NULL);
    for (int32_t i = 0; i < N; i++)
        shuffled[i] = i;
    random_state = 1;
    for (int32_t i = N - 1; i > 0; i--) {
        int32_t j = number_below(i + 1), other = shuffled[i];
        shuffled[i] = shuffled[j];
        shuffled[j] = other;
    }
    for (int factor = 1; factor <= 64; factor *= 8) { // close together, and so far that it hashes
        for (int32_t i = 0; i < N; i++)
            shuffled[i] *= factor == 1 ? 1 : 8;
        start = now();
        mlt_map *dense = mlt_map_new(shuffled, N);
        CHECK(dense->kind == MLT_MAP_DENSE && mlt_map_repeated(dense) == -1);
        for (int32_t i = 0; i < N; i++)
            CHECK(mlt_map_rank(dense, shuffled[i]) == i);
        mlt_map *sorted = mlt_map_new_linear(N, 0, factor);
        CHECK(mlt_map_similar(dense, sorted) && mlt_map_similar(sorted, dense));
        mlt_map *rest = mlt_map_difference(dense, second), *both = mlt_map_union(second, dense);
        CHECK(both->size == rest->size + second->size);
        printf("a random million, factor %d: %.3f s for 6 operations\n", factor, since(start));
        mlt_map_drop(dense);
        mlt_map_drop(sorted);
        mlt_map_drop(rest);
        mlt_map_drop(both);
    }
    free(shuffled);
    mlt_map_drop(world);
    mlt_map_drop(second);
    mlt_map_drop(upper);
}

// Equal tables are one while somebody has them; rules are not tables.
static void check_shared(void)
{
    enum { N = 100, KINDS = 50 };
    mlt_maps maps = {0};
    mlt_map *held[KINDS], *again[KINDS], *other;
    int32_t worlds[N];
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < N; i++)
            worlds[i] = i * i + k;
        held[k] = mlt_maps_get(&maps, worlds, N);
        again[k] = mlt_maps_share(&maps, mlt_map_new(worlds, N));
        CHECK(held[k] == again[k] && held[k]->refs == 2 && maps.all.count == (uint32_t)k + 1);
        CHECK(mlt_maps_get(&maps, worlds, N - 1) != held[k]); // kept to the end
        mlt_map_drop(maps.recent);
    }
    other = mlt_maps_get(&maps, (int32_t[]){3, 5, 7}, 3);
    CHECK(other->kind == MLT_MAP_LINEAR && maps.all.count == KINDS);
    CHECK(mlt_maps_share(&maps, other) == other);
    mlt_map_drop(other);
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < N; i++)
            worlds[i] = i * i + k;
        other = mlt_maps_get(&maps, worlds, N);
        CHECK(other == held[k] && mlt_map_rank(other, worlds[7]) == 7);
        mlt_map_drop(other);
        mlt_map_drop(held[k]);
        if (k % 2)
            mlt_map_drop(again[k]);
    }
    CHECK(maps.all.count == KINDS / 2);
    mlt_maps_fini(&maps);
    for (int k = 0; k < KINDS; k += 2) { // they live on
        CHECK(again[k]->world[1] == 1 + k);
        mlt_map_drop(again[k]);
    }
    other = mlt_maps_get(&maps, worlds, N);
    CHECK(maps.all.count == 1);
    mlt_map_drop(other);
    CHECK(maps.all.count == 0 && !maps.all.slots);
}

int main(void)
{
    check_shared();
    check_linear_pairs();
    check_random();
    check_million();
    return 0;
}
