// SPDX-License-Identifier: BSD-3-Clause
//
// The collectives whose names are given (as `millet info --coll` has them) with every root, with
// operations that do not commute and with random arguments: short enough to be run once for each
// algorithm. test/coll/force does that; by itself it tries what the rules choose.

#include <stdatomic.h>

#include "coll_check.h"

static const struct {
    const char *name;
    enum coll_kind kinds[3]; // BARRIER stands for no more, except in its own row
} rows[] = {
    {"barrier", {BARRIER}},
    {"bcast", {BCAST}},
    {"reduce", {REDUCE}},
    {"allreduce", {ALLREDUCE}},
    {"gather", {GATHER}},
    {"allgather", {ALLGATHER, ALLGATHERV}},
    {"scatter", {SCATTER}},
    {"alltoall", {ALLTOALL}},
    {"reduce_scatter", {REDUCE_SCATTER, REDUCE_SCATTER_BLOCK}},
    {"scan", {SCAN}},
    {"exscan", {EXSCAN}},
    {"exchange", {GATHERV, SCATTERV, ALLTOALLV}},
};

static _Atomic unsigned wanted; // bits by row; ranks of a process set the same ones

// Enough for several segments, of an operation that takes its operands in order.
static void try_in_order(struct coll_test *t, enum coll_kind kind, int root, MPI_Count chunks,
                         int in_place)
{
    struct coll_case c = case_plain(t, kind, chunks);
    c.root = root;
    c.in_place = in_place;
    if (case_is_reduction(&c)) {
        c.red = root % 2 ? AFFINE_GAPS : AFFINE;
        c.slay = c.rlay = &t->layouts[reduction_layout(c.red)];
    }
    case_try(&c);
}

static void try_kind(struct coll_test *t, enum coll_kind kind)
{
    int rooted = kind <= SCATTERV || kind == REDUCE, places = kind != BCAST && kind != BARRIER;
    for (int root = 0; root < (rooted ? t->n : 2); root++)
        try_in_order(t, kind, rooted ? root : 0, 1 + root % 3, places && root % 2);
    try_in_order(t, kind, t->n / 2, 70, 0);
    for (int i = 0; i < (t->rounds ? t->rounds : 6); i++) {
        struct coll_case c = case_random(t, kind);
        if (c.chunks > 500)
            c.chunks = 500 + c.chunks % 500;
        case_try(&c);
    }
}

static void body(struct coll_test *t)
{
    for (int i = 0; i < COUNT_OF(rows); i++)
        for (int k = 0; k < 3 && wanted >> i & 1 && (!k || rows[i].kinds[k] != BARRIER); k++)
            try_kind(t, rows[i].kinds[k]);
}

int main(int argc, char **argv)
{
    unsigned bits = 0;
    for (int i = 0; i < COUNT_OF(rows); i++)
        for (int a = 1; a < argc; a++)
            bits |= (unsigned)!strcmp(argv[a], rows[i].name) << i;
    wanted = bits ? bits : ~0u;
    return coll_main(argc, argv, body);
}
