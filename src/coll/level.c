// SPDX-License-Identifier: BSD-3-Clause
#include "coll/level.h"

#include <string.h>

// A worker's operands are combined in pieces that stay in the cache while all of them pass.
enum { TILE = 16384 };

// ---- sizes

// Where block r begins, in bytes.
static inline uint64_t block_start(const mlt_coll_what *what, uint64_t r)
{
    return (what->starts ? what->starts[r] : r * what->count) * what->element;
}

static inline uint64_t level_bytes_of(const mlt_coll_what *what, uint64_t first, uint64_t count)
{
    return block_start(what, first + count) - block_start(what, first);
}

static inline uint64_t level_block_bytes(const mlt_coll_what *what)
{
    return what->count * what->element;
}

uint32_t mlt_level_worker(const mlt_team *team, uint32_t rank)
{
    for (uint32_t low = 0, high = team->workers;;) {
        uint32_t middle = low + (high - low) / 2;
        if (high - low < 2)
            return low;
        if (team->at[middle].first <= rank)
            low = middle;
        else
            high = middle;
    }
}

// The root's place in this worker; `present` or more: it is elsewhere.
static inline uint32_t local_root(const mlt_team *team, const mlt_coll_what *what)
{
    return what->root - team->first;
}

static inline bool has_root(const mlt_team *team, const mlt_coll_what *what)
{
    return what->root >= team->first && local_root(team, what) < team->present;
}

uint64_t mlt_level_acc_bytes(const mlt_team *team, const mlt_coll_what *what)
{
    uint64_t own = level_bytes_of(what, team->first, team->present);
    switch ((mlt_collective)what->collective) {
    case MLT_COLL_REDUCE:
        return 2 * level_block_bytes(what); // scratch for functions after it
    case MLT_COLL_ALLREDUCE:
        return what->op->op == MLT_OPS ? level_block_bytes(what) : 0;
    case MLT_COLL_GATHER:
    case MLT_COLL_SCATTER:
        return has_root(team, what) ? 0 : own;
    case MLT_COLL_ALLTOALL:
        return team->workers > 1 ? 2 * level_block_bytes(what) * team->present * team->ranks : 0;
    case MLT_COLL_REDUCE_SCATTER:
        return block_start(what, team->ranks) * 2 + own;
    case MLT_COLL_SCAN:
    case MLT_COLL_EXSCAN:
        return 3 * level_block_bytes(what);
    default:
        return 0;
    }
}

// ---- small steps

static inline void copy(void *to, const void *from, uint64_t bytes)
{
    if (bytes && to != from)
        memcpy(to, from, bytes);
}

// What a rank brings to a reduction.
static inline const unsigned char *operand(const mlt_arrival *a)
{
    if (a->who & MLT_ARRIVAL_SMALL)
        return a->small;
    return a->in ? a->in : a->out;
}

// Where the result of a rank's call goes.
static inline unsigned char *result_of(const mlt_level *l, const mlt_arrival *a)
{
    return a->who & MLT_ARRIVAL_SMALL ? l->result : a->out;
}

// acc = in(0) op ... op in(present - 1), in that order. acc may be the buffer of the last rank, but
// not of another. It goes from the last rank to the first: a user's function
// computes inout = in op inout, so this order needs no copy.
static void level_reduce(const mlt_level *l, unsigned char *acc, uint64_t bytes, void *scratch)
{
    const mlt_coll_op *op = l->what->op;
    uint32_t last = l->team->present - 1;
    uint64_t tile = TILE / op->element ? TILE / op->element * op->element : op->element;
    for (uint64_t at = 0; at < bytes; at += tile) {
        uint64_t size = tile < bytes - at ? tile : bytes - at;
        copy(acc + at, operand(&l->at[last]) + at, size);
        for (uint32_t i = last; i-- > 0;)
            mlt_coll_apply(op, acc + at, operand(&l->at[i]) + at, size, true, scratch);
    }
}

// ---- bcast, reduce, allreduce

static void combine_bcast(mlt_level *l)
{
    bool here = has_root(l->team, l->what);
    const mlt_arrival *a = &l->at[here ? local_root(l->team, l->what) : 0];
    l->out = result_of(l, a);
    if (here && a->who & MLT_ARRIVAL_SMALL)
        copy(l->out, a->small, level_block_bytes(l->what));
}

// Copies the result to all ranks. Ranks with small operands fetch it from l->result; a call may
// have both sorts, because some ranks had to pack their data.
static void spread_to_all(mlt_level *l)
{
    bool blocks = l->what->collective == MLT_COLL_ALLGATHER, fetched = false;
    uint64_t bytes = blocks ? block_start(l->what, l->team->ranks) : level_block_bytes(l->what);
    const unsigned char *from = l->out;
    for (uint32_t i = 0; i < l->team->present; i++) {
        if (l->at[i].who & MLT_ARRIVAL_SMALL)
            fetched = true;
        else
            copy(l->at[i].out, from, bytes);
    }
    if (fetched)
        copy(l->result, from, bytes);
}

static void combine_reduce(mlt_level *l)
{
    uint64_t n = level_block_bytes(l->what);
    uint32_t last = l->team->present - 1;
    if (!has_root(l->team, l->what)) {
        level_reduce(l, l->acc, n, l->acc + n);
        l->in = l->acc;
        return;
    }
    // In place, the root's out is its operand: level_reduce must not overwrite it early.
    const mlt_arrival *root = &l->at[local_root(l->team, l->what)];
    l->out = result_of(l, root);
    if (root->who & MLT_ARRIVAL_SMALL || root->in || root == &l->at[last]) {
        level_reduce(l, l->out, n, l->acc);
        return;
    }
    level_reduce(l, l->acc, n, l->acc + n);
    copy(root->out, l->acc, n);
}

static void combine_allreduce(mlt_level *l)
{
    l->out = result_of(l, &l->at[l->team->present - 1]);
    level_reduce(l, l->out, level_block_bytes(l->what), l->acc);
}

// ---- blocks

static void combine_gather(mlt_level *l)
{
    const mlt_team *t = l->team;
    bool here = has_root(t, l->what);
    unsigned char *to = l->acc;
    if (here) {
        l->out = l->at[local_root(t, l->what)].out;
        to = (unsigned char *)l->out + block_start(l->what, t->first);
    } else {
        l->in = l->acc;
    }
    uint64_t base = block_start(l->what, t->first);
    for (uint32_t i = 0; i < t->present; i++)
        if (l->at[i].in)
            copy(to + block_start(l->what, t->first + i) - base, l->at[i].in,
                 level_bytes_of(l->what, t->first + i, 1));
}

static void combine_scatter(mlt_level *l)
{
    if (has_root(l->team, l->what))
        l->in = l->at[local_root(l->team, l->what)].in;
    else
        l->out = l->acc;
}

static void spread_scatter(mlt_level *l)
{
    const mlt_team *t = l->team;
    bool here = has_root(t, l->what);
    const unsigned char *from = here ? l->in : l->acc;
    uint64_t base = here ? 0 : block_start(l->what, t->first);
    for (uint32_t i = 0; i < t->present; i++)
        if (l->at[i].out)
            copy(l->at[i].out, from + block_start(l->what, t->first + i) - base,
                 level_bytes_of(l->what, t->first + i, 1));
}

static void combine_allgather(mlt_level *l)
{
    const mlt_team *t = l->team;
    l->out = l->at[0].out;
    for (uint32_t i = 0; i < t->present; i++) {
        uint64_t at = block_start(l->what, t->first + i);
        copy(l->at[0].out + at, l->at[i].in ? l->at[i].in : l->at[i].out + at,
             level_bytes_of(l->what, t->first + i, 1));
    }
}

// Between workers w and v: for each rank of w, what it has for each rank of v.
static void combine_alltoall(mlt_level *l)
{
    const mlt_team *t = l->team;
    uint64_t n = level_block_bytes(l->what);
    unsigned char *to = l->acc;
    if (t->workers == 1 || !n)
        return; // there is no acc
    for (uint32_t v = 0; v < t->workers; v++) {
        const mlt_team_worker *w = &t->at[v];
        if (v == t->place)
            to += (uint64_t)t->present * t->present * n; // straight from rank to rank, later
        else
            for (uint32_t i = 0; i < t->present; i++, to += w->present * n)
                copy(to, l->at[i].in + w->first * n, w->present * n);
    }
    l->in = l->acc;
    l->out = to;
}

static void spread_alltoall(mlt_level *l)
{
    const mlt_team *t = l->team;
    uint64_t n = level_block_bytes(l->what);
    const unsigned char *from = l->out;
    for (uint32_t s = 0; s < t->present; s++)
        for (uint32_t i = 0; i < t->present; i++)
            copy(l->at[i].out + (t->first + s) * n, l->at[s].in + (t->first + i) * n, n);
    if (!from)
        return;
    for (uint32_t v = 0; v < t->workers; v++) {
        const mlt_team_worker *w = &t->at[v];
        if (v == t->place) {
            from += (uint64_t)t->present * t->present * n;
            continue;
        }
        for (uint32_t s = 0; s < w->present; s++)
            for (uint32_t i = 0; i < t->present; i++, from += n)
                copy(l->at[i].out + (w->first + s) * n, from, n);
    }
}

// ---- reduce_scatter, scans

static void combine_reduce_scatter(mlt_level *l)
{
    uint64_t all = block_start(l->what, l->team->ranks);
    uint64_t own = level_bytes_of(l->what, l->team->first, l->team->present);
    level_reduce(l, l->acc, all, l->acc + all + own);
    l->in = l->acc;
    l->out = l->acc + all;
}

static void spread_reduce_scatter(mlt_level *l)
{
    const mlt_team *t = l->team;
    uint64_t base = block_start(l->what, t->first);
    const unsigned char *from = t->workers > 1 ? l->out : l->acc + base;
    for (uint32_t i = 0; i < t->present; i++)
        copy(l->at[i].out, from + block_start(l->what, t->first + i) - base,
             level_bytes_of(l->what, t->first + i, 1));
}

static void combine_scan(mlt_level *l)
{
    uint64_t n = level_block_bytes(l->what);
    l->in = l->acc;
    l->out = l->acc + n;
    if (l->team->workers > 1)
        level_reduce(l, l->acc, n, l->acc + 2 * n);
}

// before (acc + n) is the reduction over all lower ranks. It starts with that of the lower workers,
// and each rank adds its operand for the next one.
static void spread_scan(mlt_level *l)
{
    const mlt_team *t = l->team;
    const mlt_coll_op *op = l->what->op;
    uint64_t n = level_block_bytes(l->what);
    unsigned char *before = l->acc + n, *scratch = l->acc + 2 * n;
    bool some = t->place > 0, inclusive = l->what->collective == MLT_COLL_SCAN;
    for (uint32_t i = 0; i < t->present; i++) {
        const mlt_arrival *a = &l->at[i];
        unsigned char *sum = l->acc; // before op in
        copy(sum, operand(a), n);
        if (some)
            mlt_coll_apply(op, sum, before, n, true, scratch);
        if (inclusive)
            copy(a->out, sum, n);
        else if (some)
            copy(a->out, before, n);
        copy(before, sum, n);
        some = true;
    }
}

// ---- the table

typedef struct level_kind {
    void (*combine)(mlt_level *l); // NULL: nothing is done
    void (*spread)(mlt_level *l);
    bool in_place, blocks; // between the workers; a block for each rank
} level_kind;

static const level_kind level_kinds[MLT_COLLECTIVES] = {
    [MLT_COLL_BCAST] = {combine_bcast, spread_to_all, false, false},
    [MLT_COLL_REDUCE] = {combine_reduce, NULL, true, false},
    [MLT_COLL_ALLREDUCE] = {combine_allreduce, spread_to_all, true, false},
    [MLT_COLL_GATHER] = {combine_gather, NULL, true, true},
    [MLT_COLL_SCATTER] = {combine_scatter, spread_scatter, true, true},
    [MLT_COLL_ALLGATHER] = {combine_allgather, spread_to_all, true, true},
    [MLT_COLL_ALLTOALL] = {combine_alltoall, spread_alltoall, false, true},
    [MLT_COLL_REDUCE_SCATTER] = {combine_reduce_scatter, spread_reduce_scatter, false, true},
    [MLT_COLL_SCAN] = {combine_scan, spread_scan, false, false},
    [MLT_COLL_EXSCAN] = {combine_scan, spread_scan, false, false},
};

mlt_coll_what mlt_level_between(const mlt_team *team, const mlt_coll_what *what, uint64_t *room)
{
    mlt_coll_what out = *what;
    const level_kind *kind = &level_kinds[what->collective];
    if (what->collective == MLT_COLL_SCAN)
        out.collective = MLT_COLL_EXSCAN;
    out.in_place = kind->in_place;
    out.root = mlt_level_root(team, what->root);
    out.starts = NULL;
    if (!kind->blocks)
        return out;
    bool alltoall = what->collective == MLT_COLL_ALLTOALL;
    if (team->even && !what->starts) {
        out.count = what->count * team->present * (alltoall ? team->present : 1);
        return out;
    }
    for (uint32_t w = 0; w <= team->workers; w++) {
        uint32_t rank = w < team->workers ? team->at[w].first : team->ranks;
        room[w] = alltoall ? rank : block_start(what, rank) / what->element;
    }
    out.starts = room;
    return out;
}

void mlt_level_combine(mlt_level *l)
{
    l->in = l->out = NULL;
    if (level_kinds[l->what->collective].combine)
        level_kinds[l->what->collective].combine(l);
}

void mlt_level_spread(mlt_level *l)
{
    if (level_kinds[l->what->collective].spread)
        level_kinds[l->what->collective].spread(l);
}
