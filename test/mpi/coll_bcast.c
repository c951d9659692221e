// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Bcast in all forms, from every root, with random counts and datatypes.

#include "coll_check.h"

static void body(struct coll_test *t)
{
    coll_try_kind(t, BCAST);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
