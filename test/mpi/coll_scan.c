// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Scan and MPI_Exscan in all forms, also with operations that do not commute; the first rank's
// receive buffer of an exclusive scan stays as it is in place, and may be NULL otherwise.

#include "coll_check.h"

static void body(struct coll_test *t)
{
    coll_try_kind(t, SCAN);
    coll_try_kind(t, EXSCAN);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
