// SPDX-License-Identifier: BSD-3-Clause
// Operations of the user's on memory of a device: the function gets memory that it can touch, in every
// reduction, and the result is that of host memory, gaps included. All ranks have a device's memory, or
// every second one.
#include "on_device.h"

enum { MOST = 600, WORDS = 6, PRIME = 10007 }; // of a matrix: four numbers, and gaps

static int rank, size;

// ---- products of 2 x 2 matrices, which do not commute

typedef struct shape {
    MPI_Datatype type;
    int at[4]; // where the numbers are
} shape;

static shape row, gaps;

static const shape *shape_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    int bytes;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_true_extent(type, &lb, &extent);
    return extent == bytes ? &row : &gaps;
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const shape *s = shape_of(*type);
    const int64_t *a = in;
    int64_t *b = inout;
    for (int i = 0; i < *count; i++, a += WORDS, b += WORDS) {
        int64_t p = b[s->at[0]], q = b[s->at[1]], r = b[s->at[2]], t = b[s->at[3]];
        b[s->at[0]] = (a[s->at[0]] * p + a[s->at[1]] * r) % PRIME;
        b[s->at[1]] = (a[s->at[0]] * q + a[s->at[1]] * t) % PRIME;
        b[s->at[2]] = (a[s->at[2]] * p + a[s->at[3]] * r) % PRIME;
        b[s->at[3]] = (a[s->at[2]] * q + a[s->at[3]] * t) % PRIME;
    }
}

// Commutes; numbers without gaps.
static void gcd(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        int64_t a = ((int64_t *)in)[i], b = ((int64_t *)inout)[i], t;
        for (; b; b = t) {
            t = a % b;
            a = b;
        }
        ((int64_t *)inout)[i] = a;
    }
}

static void make_shapes(void)
{
    MPI_Datatype inner;
    MPI_Type_contiguous(4, MPI_INT64_T, &inner);
    MPI_Type_create_resized(inner, 0, WORDS * (MPI_Aint)sizeof(int64_t), &row.type);
    MPI_Type_free(&inner);
    MPI_Type_vector(2, 2, 4, MPI_INT64_T, &inner);
    MPI_Type_create_resized(inner, 0, WORDS * (MPI_Aint)sizeof(int64_t), &gaps.type);
    MPI_Type_free(&inner);
    MPI_Type_commit(&row.type);
    MPI_Type_commit(&gaps.type);
    memcpy(row.at, (int[]){0, 1, 2, 3}, sizeof row.at);
    memcpy(gaps.at, (int[]){0, 1, 4, 5}, sizeof gaps.at);
}

// ---- the calls: in NULL means MPI_IN_PLACE

typedef struct args {
    const void *in;
    void *out;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
    int parts[64]; // of reduce_scatter
} args;

typedef void call(const args *a);

#define IN (a->in ? a->in : MPI_IN_PLACE)
#define FINISH(start)                                                                              \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        start;                                                                                     \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
    } while (0)
#define AGAIN(init)                                                                                \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        init;                                                                                      \
        MPI_Start(&request);                                                                       \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
        MPI_Request_free(&request);                                                                \
    } while (0)

static bool is_root(const args *a)
{
    int me;
    MPI_Comm_rank(a->comm, &me);
    return me == 0;
}

static void reduce(const args *a)
{
    bool root = is_root(a);
    MPI_Reduce(root || a->in ? IN : a->out, root ? a->out : NULL, a->count, a->type, a->op, 0,
               a->comm);
}

static void ireduce(const args *a)
{
    bool root = is_root(a);
    FINISH(MPI_Ireduce(root || a->in ? IN : a->out, root ? a->out : NULL, a->count, a->type, a->op,
                       0, a->comm, &request));
}

static void allreduce(const args *a)
{
    MPI_Allreduce(IN, a->out, a->count, a->type, a->op, a->comm);
}

static void iallreduce(const args *a)
{
    FINISH(MPI_Iallreduce(IN, a->out, a->count, a->type, a->op, a->comm, &request));
}

static void allreduce_init(const args *a)
{
    AGAIN(
        MPI_Allreduce_init(IN, a->out, a->count, a->type, a->op, a->comm, MPI_INFO_NULL, &request));
}

static void scan(const args *a)
{
    MPI_Scan(IN, a->out, a->count, a->type, a->op, a->comm);
}

static void iscan(const args *a)
{
    FINISH(MPI_Iscan(IN, a->out, a->count, a->type, a->op, a->comm, &request));
}

static void exscan(const args *a)
{
    MPI_Exscan(IN, a->out, a->count, a->type, a->op, a->comm);
}

static void exscan_init(const args *a)
{
    AGAIN(MPI_Exscan_init(IN, a->out, a->count, a->type, a->op, a->comm, MPI_INFO_NULL, &request));
}

static void reduce_scatter(const args *a)
{
    MPI_Reduce_scatter(IN, a->out, a->parts, a->type, a->op, a->comm);
}

static void ireduce_scatter(const args *a)
{
    FINISH(MPI_Ireduce_scatter(IN, a->out, a->parts, a->type, a->op, a->comm, &request));
}

static void reduce_scatter_block(const args *a)
{
    MPI_Reduce_scatter_block(IN, a->out, a->parts[0], a->type, a->op, a->comm);
}

static void reduce_local(const args *a)
{
    if (a->in)
        MPI_Reduce_local(a->in, a->out, a->count, a->type, a->op);
}

static const struct {
    const char *name;
    call *call;
    bool inter; // for two groups, too
} calls[] = {
    {"reduce", reduce, false},
    {"ireduce", ireduce, false},
    {"allreduce", allreduce, true},
    {"iallreduce", iallreduce, true},
    {"allreduce_init", allreduce_init, true},
    {"scan", scan, false},
    {"iscan", iscan, false},
    {"exscan", exscan, false},
    {"exscan_init", exscan_init, false},
    {"reduce_scatter", reduce_scatter, false},
    {"ireduce_scatter", ireduce_scatter, false},
    {"reduce_scatter_block", reduce_scatter_block, false},
    {"reduce_local", reduce_local, false},
};

// ---- the same with host memory and with a device's

static void fill(int64_t *list, int words, int from)
{
    for (int i = 0; i < words; i++)
        list[i] = 1 + (from * 7919 + i * 104729) % (PRIME - 1);
}

static void compare(const char *name, call *call, args a, bool in_place, bool every_second)
{
    bool device = !every_second || rank % 2 == 0;
    int words = WORDS * a.count;
    size_t bytes = (size_t)words * sizeof(int64_t);
    int64_t *in = malloc(bytes), *out = malloc(bytes), *want = malloc(bytes), *got = malloc(bytes);
    fill(in, words, rank);
    fill(out, words, rank + 100);
    memcpy(want, out, bytes);
    void *from = any_copy(device, in, bytes), *to = any_copy(device, out, bytes);
    a.in = in_place ? NULL : in;
    a.out = want;
    call(&a);
    a.in = in_place ? NULL : from;
    a.out = to;
    call(&a);
    device_copy(got, to, bytes);
    if (memcmp(got, want, bytes) != 0) {
        printf("%s of %d, %s, %s, rank %d is wrong\n", name, a.count,
               in_place ? "in place" : "apart", every_second ? "every second" : "all", rank);
        failed++;
    }
    any_free(device, from);
    any_free(device, to);
    free(in);
    free(out);
    free(want);
    free(got);
}

static void compare_all(MPI_Comm comm, bool inter, MPI_Datatype type, MPI_Op op, int count)
{
    int members;
    args a = {.count = count, .type = type, .op = op, .comm = comm};
    MPI_Comm_size(comm, &members);
    for (int r = 0; r < members; r++)
        a.parts[r] = count / members;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int how = 0; how < 4; how++) {
            bool in_place = how & 1, block = strstr(calls[i].name, "scatter");
            if ((inter && (in_place || !calls[i].inter)) || (block && count % members))
                continue;
            compare(calls[i].name, calls[i].call, a, in_place, how & 2);
        }
}

int main(int argc, char **argv)
{
    MPI_Op product, divisor;
    MPI_Comm half, inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_begin();
    make_shapes();
    MPI_Op_create(multiply, false, &product);
    MPI_Op_create(gcd, true, &divisor);
    for (int i = 0; i < 3; i++) {
        const int count = (const int[]){1, 4, MOST}[i];
        compare_all(MPI_COMM_WORLD, false, row.type, product, count);
        compare_all(MPI_COMM_WORLD, false, gaps.type, product, count);
        compare_all(MPI_COMM_WORLD, false, MPI_INT64_T, divisor, count);
        compare_all(MPI_COMM_WORLD, false, MPI_INT64_T, MPI_SUM, count);
        compare_all(MPI_COMM_WORLD, false, MPI_INT64_T, MPI_BXOR, count);
    }
    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
        compare_all(inter, true, gaps.type, product, 4);
        compare_all(inter, true, gaps.type, product, MOST);
        compare_all(inter, true, MPI_INT64_T, divisor, MOST);
        compare_all(inter, true, MPI_INT64_T, MPI_SUM, MOST);
        MPI_Comm_free(&half);
        MPI_Comm_free(&inter);
    }
    MPI_Op_free(&product);
    MPI_Op_free(&divisor);
    MPI_Type_free(&row.type);
    MPI_Type_free(&gaps.type);
    return device_end();
}
