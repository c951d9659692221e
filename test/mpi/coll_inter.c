// SPDX-License-Identifier: BSD-3-Clause
//
// Every collective of an intercommunicator in all forms: groups of one, of a half, of all but one;
// roots in either group, named MPI_ROOT there, with MPI_PROC_NULL beside it.

#include "coll_check.h"

static void try_kind(struct coll_test *t, MPI_Comm inter, enum coll_kind kind, int first)
{
    int second = t->n - first, in_first = t->me < first;
    for (int i = 0; i < (t->n <= 8 ? 8 : 3); i++) {
        struct coll_case c = case_random(t, kind);
        c.root_side = i % 2 ? COLL_SECOND : 0;
        c.root = random_below(&t->random, i % 2 ? second : first);
        c.in_place = 0;
        c.comm = inter;
        CHECK_OK(MPI_Comm_size(inter, &c.n));
        CHECK_OK(MPI_Comm_rank(inter, &c.me));
        CHECK_OK(MPI_Comm_remote_size(inter, &c.peers));
        CHECK_INT(c.n, in_first ? first : second);
        c.mine = in_first ? 0 : COLL_SECOND;
        c.theirs = in_first ? COLL_SECOND : 0;
        if (kind == REDUCE_SCATTER || kind == REDUCE_SCATTER_BLOCK)
            c.chunks %= 200;
        case_try(&c);
    }
}

static void split_at(struct coll_test *t, int first)
{
    MPI_Comm local, inter;
    int in_first = t->me < first;
    CHECK_OK(MPI_Comm_split(t->comm, in_first, t->me, &local));
    CHECK_OK(MPI_Intercomm_create(local, 0, t->comm, in_first ? first : 0, 5, &inter));
    for (int kind = BARRIER; kind <= REDUCE_SCATTER_BLOCK; kind++)
        try_kind(t, inter, (enum coll_kind)kind, first);
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&local));
}

static void body(struct coll_test *t)
{
    if (t->n < 2)
        return;
    split_at(t, 1);
    if (t->n / 2 > 1)
        split_at(t, t->n / 2);
    if (t->n > 2)
        split_at(t, t->n - 1);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
