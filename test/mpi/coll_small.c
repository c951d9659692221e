// SPDX-License-Identifier: BSD-3-Clause
//
// Operands of a few bytes, which ranks that share a worker leave where the last one finds them: all
// sizes around the limit, in place and not, every root, an operation of the program's own, and
// calls in which some ranks have data that must be packed.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { MOST = 5, ROUNDS = 3 };

static void reductions(int rank, int size, int count)
{
    int in[MOST], out[MOST];
    for (int i = 0; i < count; i++)
        in[i] = rank * 10 + i;
    memset(out, -1, sizeof out);
    CHECK_OK(MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, WORLD));
    for (int i = 0; i < count; i++)
        CHECK_INT(out[i], 5 * size * (size - 1) + size * i);
    for (int i = count; i < MOST; i++)
        CHECK_INT(out[i], -1);
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_INT, MPI_MAX, WORLD));
    for (int i = 0; i < count; i++)
        CHECK_INT(in[i], (size - 1) * 10 + i);
    for (int root = 0; root < size; root++) {
        for (int i = 0; i < count; i++)
            out[i] = in[i] = rank + i;
        if (root % 2)
            CHECK_OK(
                MPI_Reduce(in, rank == root ? out : NULL, count, MPI_INT, MPI_SUM, root, WORLD));
        else
            CHECK_OK(MPI_Reduce(rank == root ? MPI_IN_PLACE : in, out, count, MPI_INT, MPI_SUM,
                                root, WORLD));
        for (int i = 0; i < count; i++)
            CHECK_INT(out[i], rank == root ? size * (size - 1) / 2 + size * i : rank + i);
    }
}

// 2x2 matrices of bytes would be too small to differ: a pair (a, b) is the function x -> a x + b.
static void compose(void *with, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    const unsigned *f = with;
    unsigned *g = into;
    for (int i = 0; i < *count; i++, f += 2, g += 2) { // g after f
        unsigned a = f[0] * g[0], b = f[1] * g[0] + g[1];
        g[0] = a;
        g[1] = b;
    }
}

static void in_order(int rank, int size)
{
    MPI_Op op;
    MPI_Datatype pair;
    CHECK_OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
    CHECK_OK(MPI_Type_commit(&pair));
    CHECK_OK(MPI_Op_create(compose, 0, &op));
    unsigned own[2] = {3, (unsigned)rank}, all[2], a = 1, b = 0;
    CHECK_OK(MPI_Allreduce(own, all, 1, pair, op, WORLD));
    for (int i = 0; i < size; i++) {
        a *= 3;
        b = b * 3 + (unsigned)i;
    }
    CHECK(all[0] == a && all[1] == b);
    CHECK_OK(MPI_Op_free(&op));
    CHECK_OK(MPI_Type_free(&pair));
}

// Every other rank receives into places that lie apart.
static void mixed(int rank, int size, MPI_Datatype apart)
{
    for (int root = 0; root < size; root++) {
        int together[3] = {-1, -1, -1}, far[6] = {-1, -1, -1, -1, -1, -1};
        int *here = rank % 2 ? far : together, step = rank % 2 ? 2 : 1;
        for (int i = 0; i < 3 && rank == root; i++)
            here[i * step] = root * 7 + i;
        CHECK_OK(MPI_Bcast(here, 3, rank % 2 ? apart : MPI_INT, root, WORLD));
        for (int i = 0; i < 3; i++)
            CHECK_INT(here[i * step], root * 7 + i);
        CHECK_INT(far[1], -1);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Datatype apart;
    long double wide;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &apart));
    CHECK_OK(MPI_Type_commit(&apart));
    for (int round = 0; round < ROUNDS; round++) {
        for (int count = 0; count <= MOST; count++)
            reductions(rank, size, count);
        in_order(rank, size);
        mixed(rank, size, apart);
        wide = rank;
        CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &wide, 1, MPI_LONG_DOUBLE, MPI_SUM, WORLD));
        CHECK(wide == (long double)(size * (size - 1) / 2));
        double twice[2] = {rank, -rank};
        CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, twice, 2, MPI_DOUBLE, MPI_MIN, WORLD));
        CHECK(twice[0] == 0 && twice[1] == -(size - 1));
    }
    CHECK_OK(MPI_Type_free(&apart));
    MPI_Finalize();
    return 0;
}
