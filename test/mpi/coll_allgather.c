// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Allgather and MPI_Allgatherv in all forms: uneven blocks with gaps between them and in any
// order, different datatypes to send and to receive, in place.

#include "coll_check.h"

static void body(struct coll_test *t)
{
    coll_try_kind(t, ALLGATHER);
    coll_try_kind(t, ALLGATHERV);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
