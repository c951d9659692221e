// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Reduce and MPI_Allreduce in all forms: every root, predefined operations and those of a user,
// that commute and that do not, in place. Which bits sums have is the matter of coll_same_bits.

#include "coll_check.h"

static void body(struct coll_test *t)
{
    coll_try_kind(t, REDUCE);
    coll_try_kind(t, ALLREDUCE);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
