// SPDX-License-Identifier: BSD-3-Clause
//
// All collective operations on intercommunicators, against what the other group must have given:
// groups of any sizes, every root, blocking, nonblocking and persistent, types with gaps, blocks
// that differ, operations that do not commute. Every byte of the receive buffer is compared.

#include <stdbool.h>

#include "comm_check.h"

enum { BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL };
enum {
    ALLTOALLV = ALLTOALL + 1,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK
};
enum { OPERATIONS = REDUCE_SCATTER_BLOCK + 1 };
enum { BLOCKING, NONBLOCKING, PERSISTENT, WAYS };
enum { BYTES = 1 << 16, MOST = 64, GAP = 12, PAIRS = 2 };

typedef struct pair { // x -> a x + b, modulo 2^32; composition does not commute
    unsigned a, b;
} pair;

// The user's: inout = in then inout.
static void compose(void *in_, void *inout_, int *length, MPI_Datatype *type)
{
    pair *in = in_, *inout = inout_;
    (void)type;
    for (int i = 0; i < *length; i++)
        inout[i] = (pair){in[i].a * inout[i].a, in[i].b * inout[i].a + inout[i].b};
}

typedef struct test {
    MPI_Comm comm;
    int rank, size, far, group; // own rank and group's size; the other's size; 0, 1
    int operation, way, round;
    int root, root_group; // of rooted ones
    bool gaps;            // own buffers
    MPI_Datatype gappy, affine;
    MPI_Op compose;
} test;

static bool is_rooted(int operation)
{
    return (operation >= BCAST && operation <= SCATTERV) || operation == REDUCE;
}

static bool is_idle(const test *t)
{
    return is_rooted(t->operation) && t->group == t->root_group && t->rank != t->root;
}

static bool is_root(const test *t)
{
    return is_rooted(t->operation) && t->group == t->root_group && t->rank == t->root;
}

// What the rank says.
static int root_of(const test *t)
{
    return t->group != t->root_group ? t->root : t->rank == t->root ? MPI_ROOT : MPI_PROC_NULL;
}

static bool is_listed(int operation)
{
    return operation == GATHERV || operation == SCATTERV || operation == ALLGATHERV ||
           operation == ALLTOALLV || operation == ALLTOALLW;
}

// Pairs of ints from one rank to another.
static int pairs_of(const test *t, int group, int from, int to)
{
    switch (t->operation) {
    case GATHERV:
        return from % 4;
    case SCATTERV:
        return to % 3;
    case ALLGATHERV:
        return (from + group) % 4;
    case ALLTOALLV:
    case ALLTOALLW:
        return (from * 3 + to + group) % 4;
    case ALLGATHER:
        return group + 1;
    default:
        return PAIRS;
    }
}

static int value_of(const test *t, int group, int from, int to, int i)
{
    if (t->operation == BCAST || t->operation == ALLGATHER || t->operation == ALLGATHERV)
        to = 0;
    return ((group * 64 + from) * 64 + to) * 64 + i + 7 * t->round + 1;
}

// ---- buffers of moves

typedef struct side {
    int n;
    int counts[MOST], displs[MOST], bytes[MOST];
    MPI_Datatype types[MOST], type;
    bool gaps[MOST];
    unsigned char *base;
} side;

// Block i is from or to rank i of the other group, or the only one.
static void lay_out(const test *t, side *s, int n, bool sends, int other, unsigned char *memory)
{
    long at = BYTES / 4;
    *s = (side){.n = n, .type = t->gaps ? t->gappy : MPI_INT, .base = memory + BYTES / 4};
    for (int k = 0; k < n; k++) {
        bool listed = is_listed(t->operation) && n > 1;
        int i = listed ? n - 1 - k : k, peer = n > 1 || other < 0 ? i : other;
        int pairs =
            sends ? pairs_of(t, t->group, t->rank, peer) : pairs_of(t, !t->group, peer, t->rank);
        s->gaps[i] = t->operation == ALLTOALLW ? (i + t->gaps) % 2 : t->gaps;
        int extent = s->gaps[i] ? GAP : (int)sizeof(int);
        if (listed && k == 0)
            at -= 10 * extent;
        s->counts[i] = s->gaps[i] ? pairs : 2 * pairs;
        s->types[i] = s->gaps[i] ? t->gappy : MPI_INT;
        s->bytes[i] = (int)(at - BYTES / 4);
        s->displs[i] = s->bytes[i] / extent;
        at += (s->counts[i] + (listed ? 2 : 0)) * extent;
        CHECK(at < BYTES);
    }
}

static void fill_block(const test *t, const side *s, int block, int group, int from, int to)
{
    for (int i = 0; i < 2 * pairs_of(t, group, from, to); i++) {
        int value = value_of(t, group, from, to, i);
        unsigned char *at = s->base + s->bytes[block];
        memcpy(s->gaps[block] ? at + i / 2 * GAP + i % 2 * 8 : at + i * (long)sizeof(int), &value,
               sizeof value);
    }
}

// Who takes part: how many blocks the rank sends and receives, and with whom if it is one.
static void blocks_of(const test *t, int *sends, int *recvs, int *other)
{
    bool from_root = t->operation == BCAST || t->operation == SCATTER || t->operation == SCATTERV;
    *sends = *recvs = t->operation == BARRIER ? 0 : t->far;
    *other = -1;
    if (t->operation == ALLGATHER || t->operation == ALLGATHERV)
        *sends = 1;
    if (!is_rooted(t->operation))
        return;
    int all = t->operation == BCAST ? 1 : t->far;
    *sends = *recvs = 0;
    if (is_root(t))
        *(from_root ? sends : recvs) = all;
    else if (!is_idle(t)) {
        *(from_root ? recvs : sends) = 1;
        *other = t->root;
    }
}

#define CALL(name, ...)                                                                            \
    (t->way == BLOCKING      ? MPI_##name(__VA_ARGS__)                                             \
     : t->way == NONBLOCKING ? MPI_I##name(__VA_ARGS__, request)                                   \
                             : MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request))
#define MPI_IBarrier              MPI_Ibarrier
#define MPI_IBcast                MPI_Ibcast
#define MPI_IGather               MPI_Igather
#define MPI_IGatherv              MPI_Igatherv
#define MPI_IScatter              MPI_Iscatter
#define MPI_IScatterv             MPI_Iscatterv
#define MPI_IAllgather            MPI_Iallgather
#define MPI_IAllgatherv           MPI_Iallgatherv
#define MPI_IAlltoall             MPI_Ialltoall
#define MPI_IAlltoallv            MPI_Ialltoallv
#define MPI_IAlltoallw            MPI_Ialltoallw
#define MPI_IReduce               MPI_Ireduce
#define MPI_IAllreduce            MPI_Iallreduce
#define MPI_IReduce_scatter       MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block

// Arguments that do not count are nonsense at ranks where they do not.
static int call_moves(const test *t, const side *s, const side *r, MPI_Request *request)
{
    MPI_Comm comm = t->comm;
    int root = root_of(t);
    int sn = s->n ? s->counts[0] : -5, rn = r->n ? r->counts[0] : -5;
    MPI_Datatype st = s->n ? s->type : MPI_DATATYPE_NULL, rt = r->n ? r->type : MPI_DATATYPE_NULL;
    const int *sc = s->n ? s->counts : NULL, *rc = r->n ? r->counts : NULL;
    switch (t->operation) {
    case BARRIER:
        return CALL(Barrier, comm);
    case BCAST:
        return CALL(Bcast, s->n ? s->base : r->base, s->n ? sn : rn, s->n ? st : rt, root, comm);
    case GATHER:
        return CALL(Gather, s->base, sn, st, r->base, rn, rt, root, comm);
    case GATHERV:
        return CALL(Gatherv, s->base, sn, st, r->base, rc, r->displs, rt, root, comm);
    case SCATTER:
        return CALL(Scatter, s->base, sn, st, r->base, rn, rt, root, comm);
    case SCATTERV:
        return CALL(Scatterv, s->base, sc, s->displs, st, r->base, rn, rt, root, comm);
    case ALLGATHER:
        return CALL(Allgather, s->base, sn, st, r->base, rn, rt, comm);
    case ALLGATHERV:
        return CALL(Allgatherv, s->base, sn, st, r->base, rc, r->displs, rt, comm);
    case ALLTOALL:
        return CALL(Alltoall, s->base, sn, st, r->base, rn, rt, comm);
    case ALLTOALLV:
        return CALL(Alltoallv, s->base, sc, s->displs, st, r->base, rc, r->displs, rt, comm);
    default:
        return CALL(Alltoallw, s->base, sc, s->bytes, s->types, r->base, rc, r->bytes, r->types,
                    comm);
    }
}

static void compare(const test *t, const void *got_, const void *want_, int bytes)
{
    const unsigned char *got = got_, *want = want_;
    if (memcmp(got, want, (size_t)bytes) == 0)
        return;
    for (int i = 0; i < bytes; i++)
        if (got[i] != want[i])
            check_fail(__FILE__, __LINE__,
                       "operation %d, way %d, sizes %d and %d, root %d of group %d, round %d: byte "
                       "%d is %d, should be %d",
                       t->operation, t->way, t->size, t->far, t->root, t->root_group, t->round, i,
                       got[i], want[i]);
}

static void finish(const test *t, MPI_Request *request)
{
    if (t->way != BLOCKING)
        CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void try_moves(test *t, unsigned char *memory[3])
{
    side s, r, w;
    int sends, recvs, other;
    MPI_Request request = MPI_REQUEST_NULL;
    blocks_of(t, &sends, &recvs, &other);
    bool one = t->operation == ALLGATHER || t->operation == ALLGATHERV || t->operation == BCAST;
    lay_out(t, &s, sends, true, one ? 0 : other, memory[0]);
    lay_out(t, &r, recvs, false, other, memory[1]);
    lay_out(t, &w, recvs, false, other, memory[2]);
    if (t->way == PERSISTENT)
        CHECK_OK(call_moves(t, &s, &r, &request));
    for (t->round = 0; t->round < 2; t->round++) {
        memset(memory[0], 0x5a, BYTES);
        memset(memory[1], 0xa5, BYTES);
        memset(memory[2], 0xa5, BYTES);
        for (int i = 0; i < sends; i++)
            fill_block(t, &s, i, t->group, t->rank, one ? 0 : sends > 1 || other < 0 ? i : other);
        for (int i = 0; i < recvs; i++)
            fill_block(t, &w, i, !t->group, recvs > 1 || other < 0 ? i : other, t->rank);
        if (t->way == PERSISTENT)
            CHECK_OK(MPI_Start(&request));
        else
            CHECK_OK(call_moves(t, &s, &r, &request));
        finish(t, &request);
        compare(t, memory[1], memory[2], BYTES);
    }
    if (t->way == PERSISTENT)
        CHECK_OK(MPI_Request_free(&request));
}

// ---- reductions

static pair operand(const test *t, int group, int rank, int i)
{
    return (pair){(unsigned)(2 * (rank + i) + 3 + group), (unsigned)(rank * 5 + i + t->round)};
}

// Over a whole group, element i.
static pair reduction(const test *t, int group, int i)
{
    int n = group == t->group ? t->size : t->far;
    pair all = operand(t, group, 0, i);
    for (int r = 1; r < n; r++) {
        pair next = operand(t, group, r, i);
        int one = 1;
        compose(&all, &next, &one, NULL);
        all = next;
    }
    return all;
}

static int call_reductions(const test *t, const pair *in, pair *out, int count, const int *counts,
                           MPI_Request *request)
{
    MPI_Comm comm = t->comm;
    switch (t->operation) {
    case REDUCE:
        return CALL(Reduce, in, out, count, t->affine, t->compose, root_of(t), comm);
    case ALLREDUCE:
        return CALL(Allreduce, in, out, count, t->affine, t->compose, comm);
    case REDUCE_SCATTER:
        return CALL(Reduce_scatter, in, out, counts, t->affine, t->compose, comm);
    default:
        return CALL(Reduce_scatter_block, in, out, count, t->affine, t->compose, comm);
    }
}

static void try_reductions(test *t, int count)
{
    // Blocks of both groups have the same number of elements together.
    int total = t->operation >= REDUCE_SCATTER ? t->size * t->far * count : count;
    int mine = t->operation >= REDUCE_SCATTER ? total / t->size : count, first = 0, counts[MOST];
    for (int r = 0; r < t->size; r++)
        counts[r] = total / t->size + (r % 2 ? 1 : r + 1 < t->size ? -1 : 0);
    if (t->operation == REDUCE_SCATTER && count) {
        mine = counts[t->rank];
        for (int r = 0; r < t->rank; r++)
            first += counts[r];
    } else {
        for (int r = 0; r < t->size; r++)
            counts[r] = total / t->size;
        first = t->operation >= REDUCE_SCATTER ? t->rank * mine : 0;
    }
    bool gets = !is_rooted(t->operation) || is_root(t);
    bool gives = !is_rooted(t->operation) || t->group != t->root_group;
    pair *in = must_alloc((size_t)(total + 1) * sizeof *in);
    pair *out = must_alloc((size_t)(mine + 1) * sizeof *out),
         *want = must_alloc((size_t)(mine + 1) * sizeof *want);
    MPI_Request request = MPI_REQUEST_NULL;
    int said = t->operation == REDUCE_SCATTER_BLOCK ? mine : count;
    if (t->way == PERSISTENT)
        CHECK_OK(call_reductions(t, gives ? in : NULL, gets ? out : NULL, said, counts, &request));
    for (t->round = 0; t->round < 2; t->round++) {
        memset(out, 0xa5, (size_t)(mine + 1) * sizeof *out);
        memset(want, 0xa5, (size_t)(mine + 1) * sizeof *out);
        for (int i = 0; i < total; i++)
            in[i] = operand(t, t->group, t->rank, i);
        for (int i = 0; i < mine && gets; i++)
            want[i] = reduction(t, !t->group, first + i);
        if (t->way == PERSISTENT)
            CHECK_OK(MPI_Start(&request));
        else
            CHECK_OK(
                call_reductions(t, gives ? in : NULL, gets ? out : NULL, said, counts, &request));
        finish(t, &request);
        compare(t, out, want, (mine + 1) * (int)sizeof *out);
    }
    if (t->way == PERSISTENT)
        CHECK_OK(MPI_Request_free(&request));
    free(in);
    free(out);
    free(want);
}

// ---- all of it

static void try(test *t, unsigned char *memory[3])
{
    for (t->operation = 0; t->operation < OPERATIONS; t->operation++)
        for (t->way = 0; t->way < WAYS; t->way++)
            for (t->root_group = 0; t->root_group < 2; t->root_group++) {
                int roots = t->root_group == t->group ? t->size : t->far;
                if (!is_rooted(t->operation) && t->root_group)
                    continue;
                for (t->root = 0; t->root < roots; t->root += t->root < 2 ? 1 : 5) {
                    if (!is_rooted(t->operation) && t->root)
                        continue;
                    t->gaps = (t->rank + t->root + t->way) % 2;
                    if (t->operation < REDUCE) {
                        try_moves(t, memory);
                        continue;
                    }
                    try_reductions(t, 3);
                    try_reductions(t, 0);
                    if (t->root == 0 && t->far * t->size < 20)
                        try_reductions(t, 1500);
                }
            }
}

// Ranks below `first` and the others.
static void groups(test *t, int first, unsigned char *memory[3])
{
    int n = world_size(), me = world_rank();
    MPI_Comm local, comm;
    t->group = me >= first;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, t->group, me, &local));
    CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, t->group ? 0 : first, 3, &comm));
    t->comm = comm;
    t->rank = rank_of(comm);
    t->size = size_of(comm);
    t->far = n - t->size;
    try(t, memory);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&local));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    test t = {.rank = 0};
    unsigned char *memory[3];
    int n = world_size();
    MPI_Datatype vector;
    CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
    CHECK_OK(MPI_Type_create_resized(vector, 0, GAP, &t.gappy));
    CHECK_OK(MPI_Type_commit(&t.gappy));
    CHECK_OK(MPI_Type_free(&vector));
    CHECK_OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &t.affine));
    CHECK_OK(MPI_Type_commit(&t.affine));
    CHECK_OK(MPI_Op_create(compose, 0, &t.compose));
    for (int i = 0; i < 3; i++)
        memory[i] = must_alloc(BYTES);
    for (int first = 1; first < n; first += first < 3 || n < 6 ? 1 : n / 3)
        groups(&t, first, memory);
    for (int i = 0; i < 3; i++)
        free(memory[i]);
    CHECK_OK(MPI_Op_free(&t.compose));
    CHECK_OK(MPI_Type_free(&t.gappy));
    CHECK_OK(MPI_Type_free(&t.affine));
    CHECK_OK(MPI_Finalize());
    return 0;
}
