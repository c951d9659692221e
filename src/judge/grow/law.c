// SPDX-License-Identifier: BSD-3-Clause
// How sizes and times grow with the number of ranks.
#include <stdlib.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/memory.h"
#include "judge/grow/grow_int.h"

// The n-th root and the logarithm, to the last digits but one; the command does without libm.
static double root(double x, unsigned n)
{
    double y = x > 1 ? x : 1;
    for (int i = 0; i < 120; i++)
        y = ((n - 1) * y + x / (n == 3 ? y * y : n == 2 ? y : 1)) / n;
    return y;
}

static double logarithm(uint32_t n)
{
    int whole = 31 - __builtin_clz(n);
    double x = (double)n / (double)(UINT32_C(1) << whole), part = 1, sum = whole;
    for (int i = 0; i < 50; i++) {
        x *= x;
        part /= 2;
        if (x >= 2) {
            x /= 2;
            sum += part;
        }
    }
    return sum;
}

double mlt_grow_growth(mlt_grow_law law, uint32_t dims, uint32_t from, uint32_t to)
{
    double ratio = (double)to / from;
    switch (law) {
    case MLT_GROW_BY_RANKS:
        return ratio;
    case MLT_GROW_BY_PART:
        return 1 / ratio;
    case MLT_GROW_BY_PAIR:
        return 1 / (ratio * ratio);
    case MLT_GROW_BY_SURFACE:
        return root(ratio, dims) / ratio;
    case MLT_GROW_BY_LOGARITHM:
        return logarithm(to) / logarithm(from);
    default:
        return 1;
    }
}

// ---- a single recording

static void take_law(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot, void *user)
{
    bool strong = *(mlt_grow_scaling *)user == MLT_GROW_STRONG;
    bool message = mlt_goal_is_message(&slot->action);
    slot->law = !strong                      ? MLT_GROW_BY_NOTHING
                : !message                   ? MLT_GROW_BY_PART
                : slot->fn == MLT_GROW_NEAR  ? MLT_GROW_BY_SURFACE
                : item->loop == MLT_GROW_ALL ? MLT_GROW_BY_PAIR
                                             : MLT_GROW_BY_NOTHING;
}

// The two ends of a message may stand in different items: a root has a loop over all ranks where each
// other rank has one action. They must grow alike, so where the laws of the ends differ the size stays.

typedef struct law_end {
    uint64_t key[4]; // sender and receiver, tag, which of those
    mlt_grow_slot *slot;
} law_end;

typedef struct law_ends {
    law_end *all;
    size_t count, room;
} law_ends;

static void add_ends(const mlt_grow *pattern, uint32_t rank, law_ends ends[2])
{
    const mlt_grow_grid *grid = &pattern->grid;
    const mlt_grow_kind *kind =
        &pattern->kinds[mlt_grow_kind_of(grid, pattern->low, pattern->high, rank)];
    for (uint32_t i = 0; i < kind->count; i++) {
        const mlt_grow_item *item = &kind->items[i];
        uint32_t times = mlt_grow_times(item->loop, grid, rank);
        for (uint32_t n = 0; n < times; n++)
            for (uint32_t s = 0; s < item->count; s++) {
                mlt_grow_slot *slot = &item->slots[s];
                bool send = slot->action.kind == MLT_GOAL_SEND;
                if (!mlt_goal_is_message(&slot->action) || slot->fn == MLT_GROW_ANY)
                    continue;
                uint64_t peer =
                    (uint64_t)mlt_grow_peer(slot, grid, rank, mlt_grow_value(item, grid, rank, n));
                law_ends *to = &ends[send];
                *MLT_ARRAY_ADD(to->all, to->count, to->room) =
                    (law_end){{send ? rank : peer, send ? peer : rank,
                               (uint64_t)(slot->tag + (int64_t)slot->tag_step * n), to->count},
                              slot};
            }
    }
}

static int by_key(const void *a, const void *b)
{
    const law_end *x = a, *y = b;
    return mlt_compare_words(x->key, y->key, 4);
}

// True if some size has lost its law.
static bool agree(const law_ends ends[2])
{
    bool changed = false;
    for (size_t i = 0, j = 0; i < ends[0].count && j < ends[1].count;) {
        mlt_grow_slot *a = ends[0].all[i].slot, *b = ends[1].all[j].slot;
        int order = mlt_compare_words(ends[0].all[i].key, ends[1].all[j].key, 3);
        if (order == 0 && a->law != b->law) {
            a->law = b->law = MLT_GROW_BY_NOTHING;
            changed = true;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return changed;
}

void mlt_grow_scale(mlt_grow *pattern, mlt_grow_scaling scaling)
{
    mlt_grow_for_slots(pattern, take_law, &scaling);
    if (scaling != MLT_GROW_STRONG)
        return;
    law_ends ends[2] = {{0}};
    for (uint32_t r = 0; r < pattern->grid.ranks; r++)
        add_ends(pattern, r, ends);
    for (int k = 0; k < 2; k++)
        if (ends[k].count)
            qsort(ends[k].all, ends[k].count, sizeof *ends[k].all, by_key);
    while (agree(ends))
        ;
    free(ends[0].all);
    free(ends[1].all);
}
