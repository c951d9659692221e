// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Gather and MPI_Gatherv in all forms: every root, uneven blocks with gaps between them and in
// any order, different datatypes to send and to receive, in place.

#include "coll_check.h"

static void body(struct coll_test *t)
{
    coll_try_kind(t, GATHER);
    coll_try_kind(t, GATHERV);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
