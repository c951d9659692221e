// SPDX-License-Identifier: BSD-3-Clause
//
// MPIX_Treereduce, and MPI_treereduce, which is its name in "MPI as a C++ Library": they give what
// MPI_Reduce gives, between calls of it, for every root; wrong arguments.

#include <millet/coll.h>

#include "comm_check.h"

#define BAD CHECK_ERROR

enum { MOST = 3000 };

static void sums(int count, int root)
{
    int mine[MOST], sum[MOST], plain[MOST];
    int rank = world_rank(), n = world_size();
    for (int i = 0; i < count; i++) {
        mine[i] = rank * (i + 1);
        sum[i] = plain[i] = -1;
    }
    CHECK_OK(MPI_Reduce(mine, plain, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    CHECK_OK(MPIX_Treereduce(mine, sum, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++)
        CHECK(sum[i] == (rank == root ? n * (n - 1) / 2 * (i + 1) : -1) && plain[i] == sum[i]);
    CHECK_OK(MPI_treereduce(rank == root ? MPI_IN_PLACE : mine, mine, count, MPI_INT, MPI_MAX, root,
                            MPI_COMM_WORLD));
    for (int i = 0; i < count && rank == root; i++)
        CHECK(mine[i] == (n - 1) * (i + 1));
}

int main(int argc, char **argv)
{
    int in = 1, out = 0;
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int root = 0; root < world_size() && root < 5; root++) {
        sums(1, root);
        sums(MOST, root);
    }
    errors_return();
    const char *name = "MPIX_Treereduce";
    BAD(MPIX_Treereduce(&in, &out, -1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, name,
        "count is -1");
    BAD(MPIX_Treereduce(&in, &out, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
        name, "datatype");
    BAD(MPIX_Treereduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD), MPI_ERR_OP, name,
        "op");
    BAD(MPIX_Treereduce(&in, &out, 1, MPI_INT, MPI_SUM, world_size(), MPI_COMM_WORLD), MPI_ERR_ROOT,
        name, "root");
    BAD(MPIX_Treereduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL), MPI_ERR_COMM, name,
        "MPI_COMM_NULL");
    CHECK_OK(MPI_Finalize());
    return 0;
}
