// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_IN_PLACE in every collective that has it, at every root, with every reduction.

#include "coll_check.h"

static void in_place(struct coll_test *t, enum coll_kind kind, MPI_Count chunks, int root)
{
    int reductions = kind >= REDUCE ? REDUCTIONS : 1;
    for (int r = 0; r < reductions; r++) {
        struct coll_case c = case_plain(t, kind, chunks);
        c.red = (enum reduction)r;
        if (r >= AFFINE)
            c.slay = c.rlay = &t->layouts[reduction_layout(c.red)];
        else if (kind >= REDUCE)
            c.slay = c.rlay = &t->basic[reduction_layout(c.red)];
        else
            c.slay = c.rlay = &t->layouts[chunks % COLL_LAYOUTS];
        c.in_place = 1;
        c.root = root;
        case_try(&c);
    }
}

static void body(struct coll_test *t)
{
    static const int chunks[] = {0, 1, 3, 8, 40, 600, 1030};
    for (int kind = GATHER; kind <= EXSCAN; kind++)
        for (int i = 0; i < COUNT_OF(chunks); i++) {
            int root = ON_MPICH && kind == REDUCE ? 0 : i % t->n;
            if (t->n <= 17 || chunks[i] <= 40)
                in_place(t, (enum coll_kind)kind, chunks[i], root);
        }
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
