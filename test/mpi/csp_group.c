// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of groups of processes, against results computed by hand: groups of one
// node, groups of all nodes with uneven numbers of members (none, too), operators whose order
// matters, every algorithm by name, many operations in a row, two groups at once.
#include <millet/csp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csp_check.h"

// ---- operators whose order matters

// Members first..last, in order: combining any others, or in another order, shows.
typedef struct range {
    uint8_t first, last, wrong;
} range;

static void join(void *into, const void *with, size_t count)
{
    range *a = into;
    const range *b = with;
    for (size_t i = 0; i < count; i++) {
        a[i].wrong = a[i].wrong || b[i].wrong || b[i].first != a[i].last + 1;
        a[i].last = b[i].last;
    }
}

// x -> ax + b, one map after the other.
typedef struct affine {
    uint32_t a, b;
} affine;

static void after(void *into, const void *with, size_t count)
{
    affine *f = into;
    const affine *g = with;
    for (size_t i = 0; i < count; i++)
        f[i] = (affine){f[i].a * g[i].a, f[i].b * g[i].a + g[i].b};
}

static void mix(void *into, const void *with, size_t count)
{
    uint16_t *a = into;
    const uint16_t *b = with;
    for (size_t i = 0; i < count; i++)
        a[i] ^= b[i];
}

static const csp_op joined = {join, sizeof(range), false};
static const csp_op composed = {after, sizeof(affine), false};
static const csp_op mixed = {mix, sizeof(uint16_t), true};

// ---- members

typedef struct shared { // by the members of a node
    csp_group *group;
    int rounds, salt;
    int *came; // [rounds] to barriers
    int members;
} shared;

typedef struct member {
    shared *all;
    int me, size;
    uint32_t random;
    int round;
} member;

static uint32_t hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 2654435761u ^ b * 2246822519u ^ c * 3266489917u;
    h ^= h >> 15;
    h *= 2246822519u;
    return h ^ h >> 13;
}

// What member `who` has at place i in this round.
static uint32_t value(const member *m, int who, size_t i)
{
    return hash((uint32_t)(m->round * 8 + m->all->salt), (uint32_t)who, (uint32_t)i);
}

static void dawdle(member *m)
{
    m->random = hash(m->random, (uint32_t)m->me, (uint32_t)m->round);
    for (uint32_t n = m->random % 4; n > 0; n--)
        csp_yield();
}

static void *room(size_t bytes)
{
    unsigned char *at = malloc(bytes + 1);
    CHECK(at);
    memset(at, 0xee, bytes + 1);
    return at;
}

static void fill(const member *m, unsigned char *to, int who, size_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)value(m, who, from + i);
}

static void expect(const member *m, const unsigned char *got, int who, size_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        CHECK(got[i] == (unsigned char)value(m, who, from + i));
}

static void try_barrier(member *m, size_t count, int root)
{
    (void)count, (void)root;
    m->all->came[m->round]++;
    CHECK(csp_group_barrier(m->all->group, m->me) == CSP_OK);
    CHECK(m->all->came[m->round] == m->all->members);
}

static void try_bcast(member *m, size_t count, int root)
{
    unsigned char *data = room(count);
    if (m->me == root)
        fill(m, data, root, 0, count);
    CHECK(csp_group_bcast(m->all->group, m->me, data, count, root) == CSP_OK);
    expect(m, data, root, 0, count);
    free(data);
}

static void try_gather(member *m, size_t count, int root)
{
    size_t all = count * (size_t)m->size;
    unsigned char *in = room(count), *out = m->me == root ? room(all) : NULL;
    fill(m, in, m->me, 0, count);
    CHECK(csp_group_gather(m->all->group, m->me, in, out, count, root) == CSP_OK);
    for (int s = 0; out && s < m->size; s++)
        expect(m, out + (size_t)s * count, s, 0, count);
    free(in);
    free(out);
}

static void try_allgather(member *m, size_t count, int root)
{
    (void)root;
    unsigned char *in = room(count), *out = room(count * (size_t)m->size);
    fill(m, in, m->me, 0, count);
    CHECK(csp_group_allgather(m->all->group, m->me, in, out, count) == CSP_OK);
    for (int s = 0; s < m->size; s++)
        expect(m, out + (size_t)s * count, s, 0, count);
    free(in);
    free(out);
}

static void try_scatter(member *m, size_t count, int root)
{
    size_t all = count * (size_t)m->size;
    unsigned char *in = m->me == root ? room(all) : NULL, *out = room(count);
    if (in)
        fill(m, in, root, 0, all);
    CHECK(csp_group_scatter(m->all->group, m->me, in, out, count, root) == CSP_OK);
    expect(m, out, root, (size_t)m->me * count, count);
    free(in);
    free(out);
}

static void try_alltoall(member *m, size_t count, int root)
{
    (void)root;
    size_t all = count * (size_t)m->size;
    unsigned char *in = room(all), *out = room(all);
    fill(m, in, m->me, 0, all);
    CHECK(csp_group_alltoall(m->all->group, m->me, in, out, count) == CSP_OK);
    for (int s = 0; s < m->size; s++)
        expect(m, out + (size_t)s * count, s, (size_t)m->me * count, count);
    free(in);
    free(out);
}

// Reduces to the root, or to all if it is -1; in place in every second round.
static void reduce(member *m, void *in, void *out, size_t size, size_t count, const csp_op *op,
                   int root)
{
    bool receives = root < 0 || m->me == root, in_place = receives && m->round % 2;
    if (in_place)
        memcpy(out, in, count * size);
    void *from = in_place ? out : in;
    if (root < 0)
        CHECK(csp_group_allreduce(m->all->group, m->me, from, out, count, op) == CSP_OK);
    else
        CHECK(csp_group_reduce(m->all->group, m->me, from, receives ? out : NULL, count, op,
                               root) == CSP_OK);
}

static void reduce_long(member *m, size_t count, int root)
{
    long *in = room(count * sizeof *in), *out = room(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        in[i] = (long)value(m, m->me, i);
    reduce(m, in, out, sizeof *in, count, &csp_sum_long, root);
    for (size_t i = 0; (root < 0 || m->me == root) && i < count; i++) {
        long sum = 0;
        for (int s = 0; s < m->size; s++)
            sum += (long)value(m, s, i);
        CHECK(out[i] == sum);
    }
    free(in);
    free(out);
}

static void reduce_double(member *m, size_t count, int root)
{
    double *in = room(count * sizeof *in), *out = room(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        in[i] = -(double)value(m, m->me, i);
    reduce(m, in, out, sizeof *in, count, &csp_min_double, root);
    for (size_t i = 0; (root < 0 || m->me == root) && i < count; i++) {
        double least = 1;
        for (int s = 0; s < m->size; s++)
            least = -(double)value(m, s, i) < least ? -(double)value(m, s, i) : least;
        CHECK(out[i] == least);
    }
    free(in);
    free(out);
}

static void reduce_mixed(member *m, size_t count, int root)
{
    uint16_t *in = room(count * sizeof *in), *out = room(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        in[i] = (uint16_t)value(m, m->me, i);
    reduce(m, in, out, sizeof *in, count, &mixed, root);
    for (size_t i = 0; (root < 0 || m->me == root) && i < count; i++) {
        uint16_t sum = 0;
        for (int s = 0; s < m->size; s++)
            sum ^= (uint16_t)value(m, s, i);
        CHECK(out[i] == sum);
    }
    free(in);
    free(out);
}

static void reduce_ranges(member *m, size_t count, int root)
{
    range *in = room(count * sizeof *in), *out = room(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        in[i] = (range){(uint8_t)m->me, (uint8_t)m->me, 0};
    reduce(m, in, out, sizeof *in, count, &joined, root);
    for (size_t i = 0; (root < 0 || m->me == root) && i < count; i++)
        CHECK(out[i].first == 0 && out[i].last == m->size - 1 && !out[i].wrong);
    free(in);
    free(out);
}

static affine map_of(const member *m, int who, size_t i)
{
    return (affine){value(m, who, i) | 1, value(m, who, i + 7)};
}

static void reduce_maps(member *m, size_t count, int root)
{
    affine *in = room(count * sizeof *in), *out = room(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        in[i] = map_of(m, m->me, i);
    reduce(m, in, out, sizeof *in, count, &composed, root);
    for (size_t i = 0; (root < 0 || m->me == root) && i < count; i++) {
        affine all = map_of(m, 0, i);
        for (int s = 1; s < m->size; s++) {
            affine next = map_of(m, s, i);
            after(&all, &next, 1);
        }
        CHECK(out[i].a == all.a && out[i].b == all.b);
    }
    free(in);
    free(out);
}

static void to_all(member *m, size_t count, void (*how)(member *, size_t, int))
{
    how(m, count, -1);
}

// ---- rounds

static void operate(member *m)
{
    static void (*const plain[])(member *, size_t, int) = {
        try_barrier, try_bcast, try_gather, try_allgather, try_scatter, try_alltoall,
    };
    static void (*const reduces[])(member *, size_t, int) = {
        reduce_long, reduce_double, reduce_mixed, reduce_ranges, reduce_maps,
    };
    static const size_t counts[] = {1, 0, 3, 17, 100, 1, 8, 1000};
    enum { PLAIN = 6, REDUCES = 5, COUNTS = 8 };
    uint32_t h = hash((uint32_t)m->round, (uint32_t)m->all->salt, 77);
    int which = m->round % (PLAIN + 2 * REDUCES), root = (int)(h % (uint32_t)m->size);
    size_t count = counts[h / 64 % COUNTS];
    if (m->round % 97 == 96 && m->size < 20)
        count = 9000;
    dawdle(m);
    if (which < PLAIN)
        plain[which](m, count, root);
    else if (which < PLAIN + REDUCES)
        reduces[which - PLAIN](m, count, root);
    else
        to_all(m, count, reduces[which - PLAIN - REDUCES]);
}

static int live(void *arg)
{
    member *m = arg;
    for (m->round = 0; m->round < m->all->rounds; m->round++)
        operate(m);
    return 0;
}

// Runs the members of this node and returns when all have ended. They are told their numbers.
static void run(csp_group *group, int members, int rounds, int salt)
{
    shared all = {group, rounds, salt, calloc((size_t)rounds, sizeof(int)), members};
    member *m = calloc((size_t)members + 1, sizeof *m);
    CHECK(m && all.came);
    for (int i = 0; i < members; i++)
        m[i] = (member){.all = &all,
                        .me = csp_group_first(group) + i,
                        .size = csp_group_size(group),
                        .random = (uint32_t)salt};
    CHECK(csp_par_each(live, m, (size_t)members, sizeof *m, "member", NULL) == 0);
    free(m);
    free(all.came);
}

// ---- what is tried

static void here(void)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        csp_group *group = csp_group_here(s % 2 ? "local" : NULL, sizes[s]);
        CHECK(csp_group_size(group) == sizes[s] && csp_group_first(group) == 0);
        run(group, sizes[s], 64, (int)s);
        csp_group_free(group);
    }
}

enum { SHAPES = 8 };
static int members_at(int shape, int node)
{
    static const int members[SHAPES][4] = {{1, 1, 1, 1}, {3, 0, 2, 5},  {0, 0, 4, 0},
                                           {0, 1, 0, 7}, {4, 4, 4, 4},  {0, 0, 0, 0},
                                           {2, 9, 1, 0}, {33, 1, 16, 2}};
    return members[shape][node % 4];
}

static csp_group *found(const char *name, int shape)
{
    int own = members_at(shape, csp_node()), before = 0, all = 0;
    for (int n = 0; n < csp_nodes(); n++) {
        before += n < csp_node() ? members_at(shape, n) : 0;
        all += members_at(shape, n);
    }
    csp_group *group = csp_group_of_nodes(name, own);
    CHECK(csp_group_size(group) == all && csp_group_first(group) == before);
    return group;
}

static void nodes(void)
{
    for (int shape = 0; shape < SHAPES; shape++) {
        csp_group *group = found(shape % 2 ? "all" : NULL, shape);
        run(group, members_at(shape, csp_node()), 48, shape);
        csp_group_free(group);
    }
}

static void forced(void)
{
    static const char *const lists[] = {
        "reduce=linear,bcast=linear,barrier=linear,gather=linear,scatter=linear,allgather=linear,"
        "alltoall=linear,allreduce=binary",
        "reduce=binomial,bcast=binomial,barrier=tree,gather=binomial,scatter=binomial,"
        "allgather=bruck,alltoall=bruck,allreduce=binomial",
        "reduce=gather,bcast=binary,barrier=dissemination,gather=knomial:radix=3,"
        "scatter=knomial:radix=3,allgather=ring,alltoall=pairwise,allreduce=recursive_doubling",
        "reduce=arrival,bcast=chain:segment=64,barrier=double_ring,gather=linear_sync,"
        "allgather=recursive_doubling,alltoall=scattered,allreduce=ring",
        "reduce=chain,bcast=circulant,barrier=recursive_doubling,allgather=neighbour_exchange,"
        "allreduce=rabenseifner",
        "reduce=in_order_binary,bcast=double_binary,allgather=sparbit,allreduce=reduce_bcast",
        "reduce=binomial_pipelined,bcast=knomial,allreduce=allgather",
        "reduce=circulant,bcast=knomial_pipelined,allreduce=canonical",
        "reduce=double_binary,bcast=scatter_allgather,allreduce=chain",
        "reduce=knomial,bcast=scatter_doubling,allreduce=circulant",
        "reduce=knomial_pipelined,bcast=split_binary,allreduce=dissemination",
        "reduce=rabenseifner,allreduce=double_binary",
        "allreduce=halving_doubling",
        "allreduce=recursive_multiplying",
        "allreduce=ring_segmented",
        "",
    };
    static const int shapes[] = {0, 1, 6};
    csp_group *all = csp_group_of_nodes("all", 1);
    for (int s = 0; s < 3; s++) {
        csp_group *group = found("forced", shapes[s]);
        for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
            // A node without members would say it while others are still at the calls before.
            CHECK(csp_group_barrier(all, csp_group_first(all)) == CSP_OK);
            CHECK(csp_group_force(group, lists[l]));
            run(group, members_at(shapes[s], csp_node()), 32, (int)l);
        }
        CHECK(!csp_group_force(group, "reduce=lineal") && strstr(csp_why(), "linear"));
        CHECK(!csp_group_force(group, "reduze=linear"));
        CHECK(!csp_group_force(group, "reduce=linear:flat"));
        CHECK(!csp_group_force(group, "reduce"));
        csp_group_free(group);
    }
    csp_group_free(all);
}

typedef struct part {
    csp_group *group;
    int members, rounds, salt;
} part;

static int run_part(void *arg)
{
    part *p = arg;
    run(p->group, p->members, p->rounds, p->salt);
    return 0;
}

// Two groups of all nodes and one of this node at the same time, thousands of calls each.
static void many(void)
{
    int node = csp_node();
    csp_group *a = found("a", 1), *b = found("b", 4), *c = csp_group_here("c", 3);
    part parts[] = {
        {a, members_at(1, node), 1600, 1}, {b, members_at(4, node), 1600, 2}, {c, 3, 1600, 3}};
    CHECK(csp_par_each(run_part, parts, 3, sizeof *parts, "part", NULL) == 0);
    csp_group_free(b);
    csp_group_free(a);
    csp_group_free(c);
    csp_group_free(NULL);
}

static void seeds(void)
{
    csp_group *a = found("a", 1), *b = csp_group_here("b", 5);
    part parts[] = {{a, members_at(1, csp_node()), 32, 1}, {b, 5, 32, 2}};
    CHECK(csp_par_each(run_part, parts, 2, sizeof *parts, "part", NULL) == 0);
    csp_group_free(a);
    // The other one is left to the end of the program.
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "here";
    if (strcmp(what, "here") == 0)
        here();
    else if (strcmp(what, "nodes") == 0)
        nodes();
    else if (strcmp(what, "forced") == 0)
        forced();
    else if (strcmp(what, "many") == 0)
        many();
    else
        seeds();
    return 0;
}
