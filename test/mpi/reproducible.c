// SPDX-License-Identifier: BSD-3-Clause
//
// Sums whose bits depend on brackets, of all reductions, with all roots. The three forms of a call
// give the same bits; rank 0 prints a line for each reduction with a hash of all ranks' results, so
// that runs can be compared (test/coll/run).

#include "check.h"

enum { MOST = 9, TAG = 5, FORMS = 3 };

static const int counts[] = {1, 3, 40, 1000};

typedef enum kind { ALLREDUCE, REDUCE, BLOCK, LIST, SCAN, EXSCAN, KINDS } kind;

static const char *const names[KINDS] = {"allreduce",      "reduce", "reduce_scatter_block",
                                         "reduce_scatter", "scan",   "exscan"};

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 31;
}

// Of many magnitudes and both signs: nearly every bracket rounds otherwise.
static double number(int rank, int item)
{
    uint64_t h = mix(mix(1, (uint64_t)rank + 1), (uint64_t)item + 1);
    return ((double)(h >> 12) / 4503599627370496.0 - 0.5) * (double)(1ull << (h & 31));
}

static void wait(MPI_Request *request, int persistent)
{
    if (persistent)
        CHECK_OK(MPI_Start(request));
    CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    if (persistent)
        CHECK_OK(MPI_Request_free(request));
}

#define FORM(name, ...)                                                                            \
    switch (form) {                                                                                \
    case 0:                                                                                        \
        CHECK_OK(MPI_##name(__VA_ARGS__, MPI_COMM_WORLD));                                         \
        return;                                                                                    \
    case 1:                                                                                        \
        CHECK_OK(MPI_I##name(__VA_ARGS__, MPI_COMM_WORLD, &q));                                    \
        break;                                                                                     \
    default:                                                                                       \
        CHECK_OK(MPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &q));               \
    }                                                                                              \
    break

// MPI names nonblocking functions with a small letter.
#define MPI_IAllreduce            MPI_Iallreduce
#define MPI_IReduce               MPI_Ireduce
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IReduce_scatter       MPI_Ireduce_scatter
#define MPI_IScan                 MPI_Iscan
#define MPI_IExscan               MPI_Iexscan

static void call(kind k, int form, const double *in, double *out, int count, const int *parts,
                 int root)
{
    MPI_Request q;
    switch (k) {
    case ALLREDUCE:
        FORM(Allreduce, in, out, count, MPI_DOUBLE, MPI_SUM);
    case REDUCE:
        FORM(Reduce, in, out, count, MPI_DOUBLE, MPI_SUM, root);
    case BLOCK:
        FORM(Reduce_scatter_block, in, out, count, MPI_DOUBLE, MPI_SUM);
    case LIST:
        FORM(Reduce_scatter, in, out, parts, MPI_DOUBLE, MPI_SUM);
    case SCAN:
        FORM(Scan, in, out, count, MPI_DOUBLE, MPI_SUM);
    default:
        FORM(Exscan, in, out, count, MPI_DOUBLE, MPI_SUM);
    }
    wait(&q, form == 2);
}

// A hash of all ranks' results at rank 0, in the order of ranks, without a collective.
static uint64_t gather(int me, int n, uint64_t mine)
{
    uint64_t all = 0;
    if (me > 0)
        CHECK_OK(MPI_Send(&mine, 1, MPI_UINT64_T, 0, TAG, MPI_COMM_WORLD));
    for (int r = 0; me == 0 && r < n; r++) {
        uint64_t theirs = mine;
        if (r > 0)
            CHECK_OK(MPI_Recv(&theirs, 1, MPI_UINT64_T, r, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        all = mix(all, theirs);
    }
    return all;
}

static uint64_t try(kind k, int count, int root, int me, int n)
{
    int parts[MOST], in_count = k == BLOCK ? n * count : count, out_count = count;
    uint64_t mine = 0;
    if (k == LIST) { // blocks that differ
        in_count = 0;
        for (int r = 0; r < n; r++)
            in_count += parts[r] = (count + r) % 7 + count / 2;
        out_count = parts[me];
    }
    double *in = malloc(((size_t)in_count + 1) * sizeof *in);
    double *out = malloc(((size_t)out_count + 1) * sizeof *out), *first = NULL;
    CHECK(in && out);
    for (int i = 0; i < in_count; i++)
        in[i] = number(me, i + count);
    for (int form = 0; form < FORMS; form++) {
        memset(out, 0, (size_t)out_count * sizeof *out);
        call(k, form, in, out, count, parts, root);
        if ((k == REDUCE && me != root) || (k == EXSCAN && me == 0))
            memset(out, 0, (size_t)out_count * sizeof *out); // nothing is defined there
        if (first)
            CHECK(memcmp(first, out, (size_t)out_count * sizeof *out) == 0);
        else
            CHECK((first = malloc(((size_t)out_count + 1) * sizeof *first)) != NULL);
        memcpy(first, out, (size_t)out_count * sizeof *out);
    }
    for (int i = 0; i < out_count; i++) {
        uint64_t bits;
        memcpy(&bits, &out[i], sizeof bits);
        mine = mix(mine, bits);
    }
    free(in);
    free(out);
    free(first);
    return gather(me, n, mine);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int me = world_rank(), n = world_size();
    CHECK(n <= MOST);
    for (int k = 0; k < KINDS; k++)
        for (int c = 0; c < COUNT_OF(counts); c++)
            for (int root = 0; root < (k == REDUCE ? n : 1); root++) {
                uint64_t hash = try((kind)k, counts[c], root, me, n);
                if (me == 0)
                    printf("%s of %d, root %d: %016llx\n", names[k], counts[c], root,
                           (unsigned long long)hash);
            }
    CHECK_OK(MPI_Finalize());
    return 0;
}
