// SPDX-License-Identifier: BSD-3-Clause
//
// MPIX_Reduce_to between random sets, against a plain loop: blocking, nonblocking, persistent, in
// place, operations that do not commute, types with gaps; many at once between sets that overlap,
// called in another order on each rank, while ranks that are in neither set do not call.

#include <millet/coll.h>
#include <stdbool.h>

#include "comm_check.h"

enum { MOST = 64, SETS = 12 };

typedef struct affine { // x -> a x + b, modulo 2^32; composition does not commute
    unsigned a, b;
} affine;

static void compose(void *in_, void *inout_, int *length, MPI_Datatype *type)
{
    affine *in = in_, *inout = inout_;
    (void)type;
    for (int i = 0; i < *length; i++)
        inout[i] = (affine){in[i].a * inout[i].a, in[i].b * inout[i].a + inout[i].b};
}

// Contributors and receivers of one reduction, the same on all ranks.
typedef struct sets {
    bool from[MOST], to[MOST];
    MPI_Group contributors, receivers;
} sets;

static MPI_Group group_of(MPI_Comm comm, const bool *has, bool backwards)
{
    int n = size_of(comm), count = 0, ranks[MOST];
    MPI_Group all, some;
    for (int k = 0; k < n; k++) {
        int r = backwards ? n - 1 - k : k;
        if (has[r])
            ranks[count++] = r;
    }
    CHECK_OK(MPI_Comm_group(comm, &all));
    CHECK_OK(MPI_Group_incl(all, count, ranks, &some));
    CHECK_OK(MPI_Group_free(&all));
    return some;
}

static sets random_sets(MPI_Comm comm, uint64_t *seed, bool backwards)
{
    sets s = {.contributors = MPI_GROUP_NULL};
    int n = size_of(comm), shape = random_below(seed, 5);
    for (int r = 0; r < n; r++) {
        s.from[r] = shape == 0 || random_below(seed, 3) > 0;
        s.to[r] = shape == 1 ? s.from[r] : shape == 2 ? !s.from[r] : random_below(seed, 2);
    }
    s.from[random_below(seed, n)] = true;
    s.to[random_below(seed, n)] = true;
    s.contributors = group_of(comm, s.from, backwards);
    s.receivers = group_of(comm, s.to, !backwards && world_rank() % 2);
    return s;
}

static void free_sets(sets *s)
{
    CHECK_OK(MPI_Group_free(&s->contributors));
    CHECK_OK(MPI_Group_free(&s->receivers));
}

static affine operand(int rank, int i, int round)
{
    return (affine){(unsigned)(2 * rank + 3 + i), (unsigned)(rank * 7 + i + round)};
}

static affine wanted(const sets *s, int n, int i, int round)
{
    affine all = {1, 0};
    for (int r = 0; r < n; r++)
        if (s->from[r]) {
            affine next = operand(r, i, round);
            int one = 1;
            compose(&all, &next, &one, NULL);
            all = next;
        }
    return all;
}

// ---- one at a time

typedef struct kit {
    MPI_Comm comm;
    int rank, size;
    MPI_Datatype type;
    MPI_Op op;
} kit;

static void check_result(const kit *k, const sets *s, const affine *out, int count, int round)
{
    for (int i = 0; i < count; i++) {
        affine want = s->to[k->rank] ? wanted(s, k->size, i, round) : (affine){9, 9};
        CHECK_INT(out[i].a, want.a);
        CHECK_INT(out[i].b, want.b);
    }
}

static void one(const kit *k, const sets *s, int count, int way, bool in_place)
{
    affine *in = must_alloc((size_t)count * sizeof *in);
    affine *out = must_alloc((size_t)count * sizeof *out);
    bool from = s->from[k->rank], to = s->to[k->rank], here = in_place && from && to;
    const void *give = here ? MPI_IN_PLACE : from ? in : NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    if (way == 2)
        CHECK_OK(MPIX_Reduce_to_init(give, to ? out : NULL, count, k->type, k->op, s->contributors,
                                     s->receivers, k->comm, MPI_INFO_NULL, &request));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < count; i++) {
            in[i] = operand(k->rank, i, round);
            out[i] = here ? in[i] : (affine){9, 9};
        }
        if (way == 2)
            CHECK_OK(MPI_Start(&request));
        else if (!from && !to)
            continue; // does not call
        else if (way == 1)
            CHECK_OK(MPIX_Ireduce_to(give, to ? out : NULL, count, k->type, k->op, s->contributors,
                                     s->receivers, k->comm, &request));
        else
            CHECK_OK(MPIX_Reduce_to(give, to ? out : NULL, count, k->type, k->op, s->contributors,
                                    s->receivers, k->comm));
        if (way)
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (from || to)
            check_result(k, s, out, count, round);
    }
    if (way == 2)
        CHECK_OK(MPI_Request_free(&request));
    free(in);
    free(out);
}

// ---- many at once

// Of ints, by sum: who contributes gives rank + 1 + 100 set.
static int sum_of(const sets *s, int n, int set)
{
    int sum = 0;
    for (int r = 0; r < n; r++)
        sum += s->from[r] ? r + 1 + 100 * set : 0;
    return sum;
}

// Calls of one pair must keep their order: only the first of equal pairs is called.
static bool is_first(const sets *s, int i)
{
    for (int j = 0; j < i; j++)
        if (memcmp(s[j].from, s[i].from, sizeof s[i].from) == 0 &&
            memcmp(s[j].to, s[i].to, sizeof s[i].to) == 0)
            return false;
    return true;
}

static void many(const kit *k, uint64_t seed, bool persistent)
{
    sets s[SETS];
    int in[SETS], out[SETS], order[SETS];
    uint64_t mine = seed * 64 + (uint64_t)k->rank;
    MPI_Request request[SETS];
    for (int i = 0; i < SETS; i++) {
        s[i] = random_sets(k->comm, &seed, false);
        in[i] = k->rank + 1 + 100 * i;
        order[i] = i;
        request[i] = MPI_REQUEST_NULL;
        if (persistent)
            CHECK_OK(MPIX_Reduce_to_init(&in[i], &out[i], 1, MPI_INT, MPI_SUM, s[i].contributors,
                                         s[i].receivers, k->comm, MPI_INFO_NULL, &request[i]));
    }
    for (int round = 0; round < 3; round++) {
        for (int i = SETS - 1; i > 0; i--) { // each rank has an order of its own
            int j = random_below(&mine, i + 1), swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        for (int j = 0; j < SETS; j++) {
            int i = order[j];
            out[i] = -1;
            if (persistent)
                CHECK_OK(MPI_Start(&request[i]));
            else if (is_first(s, i) && (s[i].from[k->rank] || s[i].to[k->rank]))
                CHECK_OK(MPIX_Ireduce_to(&in[i], &out[i], 1, MPI_INT, MPI_SUM, s[i].contributors,
                                         s[i].receivers, k->comm, &request[i]));
        }
        CHECK_OK(MPI_Waitall(SETS, request, MPI_STATUSES_IGNORE));
        for (int i = 0; i < SETS; i++)
            if (persistent || is_first(s, i))
                CHECK_INT(out[i], s[i].to[k->rank] ? sum_of(&s[i], k->size, i) : -1);
    }
    for (int i = 0; i < SETS; i++) {
        if (persistent)
            CHECK_OK(MPI_Request_free(&request[i]));
        free_sets(&s[i]);
    }
}

// Several of one pair under way, in the same order on all ranks.
static void queue(const kit *k, uint64_t seed)
{
    enum { CALLS = 50 };
    sets s = random_sets(k->comm, &seed, false);
    int in[CALLS], out[CALLS];
    MPI_Request request[CALLS];
    for (int i = 0; i < CALLS; i++) {
        in[i] = k->rank + 1 + 100 * i;
        request[i] = MPI_REQUEST_NULL;
        if (s.from[k->rank] || s.to[k->rank])
            CHECK_OK(MPIX_Ireduce_to(&in[i], &out[i], 1, MPI_INT, MPI_SUM, s.contributors,
                                     s.receivers, k->comm, &request[i]));
    }
    CHECK_OK(MPI_Waitall(CALLS, request, MPI_STATUSES_IGNORE));
    for (int i = 0; i < CALLS; i++)
        if (s.to[k->rank])
            CHECK_INT(out[i], sum_of(&s, k->size, i));
    free_sets(&s);
}

static void all_on(MPI_Comm comm)
{
    kit k = {.comm = comm, .rank = rank_of(comm), .size = size_of(comm)};
    uint64_t seed = 5;
    CHECK_OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &k.type));
    CHECK_OK(MPI_Type_commit(&k.type));
    CHECK_OK(MPI_Op_create(compose, 0, &k.op));
    for (int i = 0; i < 20; i++) {
        sets s = random_sets(comm, &seed, i % 2);
        for (int way = 0; way < 3; way++) {
            one(&k, &s, 3, way, false);
            one(&k, &s, 1 + 400 * (i == 7), way, true);
            one(&k, &s, 0, way, false);
        }
        free_sets(&s);
    }
    for (uint64_t i = 1; i < 6; i++) {
        many(&k, i, false);
        many(&k, i, true);
        queue(&k, i);
    }
    CHECK_OK(MPI_Op_free(&k.op));
    CHECK_OK(MPI_Type_free(&k.type));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    MPI_Comm dup, part;
    CHECK(world_size() <= MOST);
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, -world_rank(), &part));
    all_on(MPI_COMM_WORLD);
    all_on(part);
    all_on(dup);
    CHECK_OK(MPI_Comm_free(&dup));
    CHECK_OK(MPI_Comm_free(&part));
    CHECK_OK(MPI_Finalize());
    return 0;
}
