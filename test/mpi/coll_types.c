// SPDX-License-Identifier: BSD-3-Clause
//
// Every collective with every datatype: gaps, a negative lower bound, units out of order, several
// kinds of units. Gaps of receive buffers, and send buffers, stay as they are.

#include "coll_check.h"

static void try_layouts(struct coll_test *t, enum coll_kind kind, const struct layout *s,
                        const struct layout *r)
{
    static const int chunks[] = {1, 7, 150};
    for (int i = 0; i < COUNT_OF(chunks); i++) {
        struct coll_case c = case_plain(t, kind, chunks[i]);
        c.slay = s;
        c.rlay = r;
        c.root = (i + 1) % t->n;
        case_try(&c);
    }
}

static void body(struct coll_test *t)
{
    for (int kind = BCAST; kind <= ALLTOALLW; kind++)
        for (int i = 0; i < COLL_LAYOUTS; i++) {
            const struct layout *l = &t->layouts[i];
            try_layouts(t, (enum coll_kind)kind, l, l);
            if (kind != BCAST && i >= L_FIRST_INTS && i <= L_LAST_INTS) {
                try_layouts(t, (enum coll_kind)kind, l, &t->layouts[L_INT]);
                try_layouts(t, (enum coll_kind)kind, &t->layouts[L_PAIR], l);
            }
        }
    for (int kind = REDUCE; kind <= EXSCAN; kind++)
        for (int r = 0; r < REDUCTIONS; r++) {
            const struct layout *l = &t->layouts[reduction_layout((enum reduction)r)];
            struct coll_case c = case_plain(t, (enum coll_kind)kind, 33);
            c.red = (enum reduction)r;
            c.slay = c.rlay = r < AFFINE ? &t->basic[reduction_layout((enum reduction)r)] : l;
            case_try(&c);
        }
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
