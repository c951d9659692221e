// SPDX-License-Identifier: BSD-3-Clause
// Collective calls by chance, from and into memory of every kind that each rank chooses for itself:
// what they leave is what a sum by hand says, and gaps stay as they are.
//
// collective SEED CALLS [plain]: all of it on the device, without gaps
#include "gpu_test.h"

enum { UNIT = 6, PENDING = 3, COMMS = 4, TYPES = 5 };
typedef enum call {
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    REDUCE,
    ALLREDUCE,
    SCAN,
    ALLTOALLV,
    REDUCE_PAIRS,
    CALLS
} call;

// Where the ints of an element lie, in ints.
typedef struct shape {
    MPI_Datatype type;
    int n, extent, at[UNIT];
} shape;
static OWN shape shapes[TYPES] = {
    {.n = 1, .extent = 1, .at = {0}},
    {.n = 3, .extent = 6, .at = {0, 2, 4}},
    {.n = 2, .extent = 3, .at = {2, 0}},
    {.n = 3, .extent = 5, .at = {0, 2, 3}},
    {.n = 6, .extent = 7, .at = {5, 3, 0, 1, 2, 4}},
};

typedef struct buffer {
    kind kind;
    int *at;    // NULL: none
    int *image; // what it should hold
    int ints;
    const shape *shape;
} buffer;

typedef struct pending {
    MPI_Request request;
    buffer in, out;
    int number;
} pending;

static OWN MPI_Comm comms[COMMS];
static OWN int seed;
static OWN bool all_on_device; // of the call
static OWN bool plain;

static void make_shapes(void)
{
    for (int t = 0; t < TYPES; t++) {
        MPI_Aint displ[UNIT];
        int ones[UNIT];
        MPI_Datatype ints;
        for (int i = 0; i < shapes[t].n; i++) {
            ones[i] = 1;
            displ[i] = shapes[t].at[i] * (MPI_Aint)sizeof(int);
        }
        MPI_Type_create_hindexed(shapes[t].n, ones, displ, MPI_INT, &ints);
        MPI_Type_create_resized(ints, 0, shapes[t].extent * (MPI_Aint)sizeof(int), &shapes[t].type);
        MPI_Type_commit(&shapes[t].type);
        MPI_Type_free(&ints);
    }
    MPI_Type_free(&shapes[0].type);
    shapes[0].type = MPI_INT;
}

// The int of the image that is number j of the data.
static int *data_at(const buffer *b, int j)
{
    return &b->image[j / b->shape->n * b->shape->extent + b->shape->at[j % b->shape->n]];
}

static buffer new_buffer(uint64_t *chance, const shape *shape, int ints)
{
    buffer b = {.kind = (kind)draw(chance, KINDS), .shape = shape};
    b.ints = ints / shape->n * shape->extent;
    if (draw(chance, 2) || all_on_device) // most lie there
        b.kind = ON_DEVICE;
    b.at = get_memory(b.kind, sizeof(int) * (size_t)b.ints);
    b.image = malloc(sizeof(int) * (size_t)b.ints + 1);
    memset(b.image, GAP, sizeof(int) * (size_t)b.ints);
    return b;
}

static void fill(const buffer *b)
{
    write_memory(b->kind, b->at, b->image, sizeof(int) * (size_t)b->ints);
}

// What rank r gives, its int number j.
static int value(int number, int r, int j)
{
    return (int)(((uint32_t)number * 31u + (uint32_t)r * 1009u + (uint32_t)j * 7u) % 997u);
}

static void end_buffer(const buffer *b, const pending *p, const char *what)
{
    if (!b->at)
        return;
    size_t bytes = sizeof(int) * (size_t)b->ints;
    int *found = malloc(bytes + 1);
    read_memory(b->kind, found, b->at, bytes);
    for (int i = 0; i < b->ints; i++)
        if (found[i] != b->image[i]) {
            printf("rank %d: seed %d, call %d, %s of kind %d: int %d of %d is %d, not %d\n", me,
                   seed, p->number, what, b->kind, i, b->ints, found[i], b->image[i]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    free(found);
    free(b->image);
    drop_memory(b->kind, b->at);
}

static void end_call(pending *p)
{
    MPI_Wait(&p->request, MPI_STATUS_IGNORE);
    end_buffer(&p->in, p, "what was given");
    end_buffer(&p->out, p, "the result");
    *p = (pending){.request = MPI_REQUEST_NULL};
}

static int combine(MPI_Op op, int a, int b)
{
    return op == MPI_SUM ? a + b : op == MPI_MAX ? (a > b ? a : b) : a ^ b;
}

// Pairs of a short and an int, with a gap between them; the lesser index wins. Values are below 1,000, so
// that a short in an int with a gap is that int.
static void begin_pairs(pending *p, uint64_t *own, int count, bool in_place, int rank, int size,
                        MPI_Comm comm)
{
    static const shape pair = {.n = 2, .extent = 2, .at = {0, 1}};
    p->in = new_buffer(own, &pair, 2 * count);
    p->out = new_buffer(own, &pair, 2 * count);
    for (int j = 0; j < count; j++) {
        p->in.image[2 * j] = value(p->number, rank, j); // gaps are 0, as they may be copied
        p->in.image[2 * j + 1] = rank;
        p->out.image[2 * j] = in_place ? p->in.image[2 * j] : 0;
        p->out.image[2 * j + 1] = in_place ? rank : 0;
    }
    fill(&p->in);
    fill(&p->out);
    for (int j = 0; j < count; j++) {
        int best = 0;
        for (int r = 1; r < size; r++)
            best = value(p->number, r, j) > value(p->number, best, j) ? r : best;
        p->out.image[2 * j] = value(p->number, best, j);
        p->out.image[2 * j + 1] = best;
    }
    MPI_Iallreduce(in_place ? MPI_IN_PLACE : p->in.at, p->out.at, count, MPI_SHORT_INT, MPI_MAXLOC,
                   comm, &p->request);
}

static void begin_call(pending *p, int number)
{
    uint64_t all = (uint64_t)seed * 1000003u + (uint64_t)number; // the same on all ranks
    for (int i = 0; i < 3; i++)
        (void)draw(&all, 2);
    call what = (call)draw(&all, CALLS);
    MPI_Comm comm = comms[draw(&all, COMMS)];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    static const int sizes[] = {0, 1, 1, 2, 5, 12, 40, 100};
    int count = sizes[draw(&all, size > 8 ? 6 : 8)] * UNIT, root = (int)(draw(&all, 1000)) % size;
    bool in_place = draw(&all, 3) == 0, blocks = draw(&all, 2) == 0;
    MPI_Op op = (MPI_Op[]){MPI_SUM, MPI_MAX, MPI_BXOR}[draw(&all, 3)];
    all_on_device = draw(&all, 2) || plain;
    uint64_t own = all + (uint64_t)me * 7919u; // each its own
    for (int i = 0; i < 3; i++)
        (void)draw(&own, 2);
    const shape *s = &shapes[draw(&own, TYPES)], *t = &shapes[draw(&own, TYPES)];
    if (plain)
        s = t = &shapes[0];
    *p = (pending){.request = MPI_REQUEST_NULL, .number = number};
    bool is_root = rank == root, reduces = what == REDUCE || what == ALLREDUCE || what == SCAN;
    if (what == REDUCE_PAIRS) {
        begin_pairs(p, &own, count, in_place, rank, size, comm);
        if (blocks)
            end_call(p);
        return;
    }
    if (reduces)
        s = t = &shapes[0];
    if (what == BCAST) {
        p->out = new_buffer(&own, t, count);
        for (int j = 0; is_root && j < count; j++)
            *data_at(&p->out, j) = value(number, root, j);
        fill(&p->out);
        for (int j = 0; j < count; j++)
            *data_at(&p->out, j) = value(number, root, j);
        if (blocks)
            MPI_Bcast(p->out.at, count / t->n, t->type, root, comm);
        else
            MPI_Ibcast(p->out.at, count / t->n, t->type, root, comm, &p->request);
        goto begun;
    }
    // What a rank gives and gets: blocks, and whether it does so at all.
    bool wide_in = what == SCATTER || what == ALLTOALL || what == ALLTOALLV;
    bool wide_out = what == GATHER || what == ALLGATHER || what == ALLTOALL || what == ALLTOALLV;
    bool gives = what != SCATTER || is_root, gets = (what != GATHER && what != REDUCE) || is_root;
    bool rooted = what == GATHER || what == SCATTER || what == REDUCE;
    in_place = in_place && (!rooted || is_root);
    if (what == SCATTER ? gives : gives && !in_place) {
        p->in = new_buffer(&own, s, wide_in ? count * size : count);
        for (int j = 0; j < (wide_in ? count * size : count); j++)
            *data_at(&p->in, j) = value(number, rank, j);
        fill(&p->in);
    }
    if (what == SCATTER ? !in_place : gets) {
        p->out = new_buffer(&own, t, wide_out ? count * size : count);
        int first = what == GATHER || what == ALLGATHER ? rank * count : 0;
        int n = what == ALLTOALL || what == ALLTOALLV ? count * size : count;
        for (int j = 0; in_place && j < n; j++) // what it gives lies there
            *data_at(&p->out, first + j) = value(number, rank, j);
        fill(&p->out);
    }
    for (int r = 0; p->out.at && r < (reduces || what == SCATTER ? 1 : size); r++)
        for (int j = 0; j < count; j++) {
            int v = what == SCATTER                         ? value(number, root, rank * count + j)
                    : what == ALLTOALL || what == ALLTOALLV ? value(number, r, rank * count + j)
                                                            : value(number, r, j);
            for (int q = 1; reduces && q <= (what == SCAN ? rank : size - 1); q++)
                v = combine(op, v, value(number, q, j));
            *data_at(&p->out, r * count + j) = v;
        }
    void *in = in_place && what != SCATTER ? MPI_IN_PLACE : p->in.at;
    void *out = in_place && what == SCATTER ? MPI_IN_PLACE : p->out.at;
    int m = count / s->n, n = count / t->n;
    int counts[2][64], displs[2][64];
    for (int r = 0; r < size && r < 64; r++) {
        counts[0][r] = m, displs[0][r] = r * m;
        counts[1][r] = n, displs[1][r] = r * n;
    }
#define EITHER(name, ...)                                                                          \
    (blocks ? MPI_##name(__VA_ARGS__, comm) : MPI_I##name(__VA_ARGS__, comm, &p->request))
#define MPI_IGather    MPI_Igather
#define MPI_IScatter   MPI_Iscatter
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAlltoall  MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IReduce    MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IScan      MPI_Iscan
    switch (what) {
    case GATHER:
        EITHER(Gather, in, m, s->type, out, n, t->type, root);
        break;
    case SCATTER:
        EITHER(Scatter, in, m, s->type, out, n, t->type, root);
        break;
    case ALLGATHER:
        EITHER(Allgather, in, m, s->type, out, n, t->type);
        break;
    case ALLTOALL:
        EITHER(Alltoall, in, m, s->type, out, n, t->type);
        break;
    case ALLTOALLV:
        EITHER(Alltoallv, in, counts[0], displs[0], s->type, out, counts[1], displs[1], t->type);
        break;
    case REDUCE:
        EITHER(Reduce, in, out, count, MPI_INT, op, root);
        break;
    case ALLREDUCE:
        EITHER(Allreduce, in, out, count, MPI_INT, op);
        break;
    default:
        EITHER(Scan, in, out, count, MPI_INT, op);
        break;
    }
begun:
    if (blocks)
        end_call(p);
}

int main(int argc, char **argv)
{
    pending open[PENDING];
    begin(&argc, &argv);
    CHECK(argc == 3 || argc == 4);
    plain = argc == 4;
    seed = atoi(argv[1]);
    int calls = atoi(argv[2]);
    make_shapes();
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, me < ranks / 3, -me, &comms[3]);
    for (int i = 0; i < PENDING; i++)
        open[i] = (pending){.request = MPI_REQUEST_NULL};
    for (int i = 0; i < calls; i++) {
        end_call(&open[i % PENDING]);
        begin_call(&open[i % PENDING], i);
    }
    for (int i = 0; i < PENDING; i++)
        end_call(&open[i]);
    for (int i = 1; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    for (int t = 1; t < TYPES; t++)
        MPI_Type_free(&shapes[t].type);
    if (me == 0)
        printf("right\n");
    MPI_Finalize();
    return 0;
}
