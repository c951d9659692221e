// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Reduce_scatter, also with parts of no item, and MPI_Reduce_scatter_block in all forms.

#include "coll_check.h"

static void body(struct coll_test *t)
{
    coll_try_kind(t, REDUCE_SCATTER);
    coll_try_kind(t, REDUCE_SCATTER_BLOCK);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
