// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/circulant.h"

mlt_circulant mlt_circulant_skips(uint32_t ranks)
{
    mlt_circulant c = {0};
    for (uint32_t s = ranks; s > 1; s -= s / 2)
        c.skip_count++;
    uint32_t s = ranks;
    for (uint32_t k = c.skip_count + 1; k-- > 0; s -= s / 2)
        c.skip[k] = s;
    return c;
}

// After J. L. Träff's round-optimal schedules for the broadcast of n blocks: the base block, a
// depth-first search of blocks, and the receive schedule that they make. A send schedule is made of
// the receive schedules of the ranks that are sent to.

// The last skip of the way from 0 to v that takes the largest skips first; q for 0.
static uint32_t base_block(const mlt_circulant *c, uint32_t v)
{
    for (uint32_t k = c->skip_count; k-- > 0;) {
        if (c->skip[k] == v)
            return k;
        if (c->skip[k] < v)
            v -= c->skip[k];
    }
    return c->skip_count;
}

// The search for a rank's blocks: ways of skips from 0 to each of the ranks from which it receives,
// the larger skips first, no two ways with the same last skip. The skips that are still free are a
// list.
enum { LIST_HEAD = MLT_CIRCULANT_SKIPS + 2, LIST_PLACES }; // skip e is at e + 1; 0: the end

typedef struct search {
    const mlt_circulant *c;
    int64_t rank; // P and the rank, so that those before it are not below 0
    int8_t next[LIST_PLACES], before[LIST_PLACES];
    uint32_t found[MLT_CIRCULANT_SKIPS + 1], count;
} search;

static void unlink_skip(search *s, int e)
{
    int next = s->next[e + 1], before = s->before[e + 1];
    s->before[next] = (int8_t)before;
    s->next[before] = (int8_t)next;
}

static void find_blocks(search *s, int64_t at, int64_t *limit, int e)
{
    const uint32_t *skip = s->c->skip;
    for (; e >= 0; e = s->next[e + 1] - 1) {
        int64_t step = at + skip[e];
        if (step > s->rank - skip[s->count] || step >= *limit)
            continue;
        if (step <= s->rank - skip[s->count + 1]) {
            find_blocks(s, step, limit, e);
            if (s->count == s->c->skip_count)
                return;
        }
        if (at > s->rank - skip[s->count + 1])
            return;
        *limit = step;
        s->found[s->count++] = (uint32_t)e;
        unlink_skip(s, e);
        if (s->count == s->c->skip_count)
            return;
    }
}

static void recv_schedule(const mlt_circulant *c, uint32_t ranks, uint32_t v,
                          int32_t recv[MLT_CIRCULANT_SKIPS])
{
    int q = (int)c->skip_count;
    uint32_t base = base_block(c, v);
    search s = {.c = c, .rank = (int64_t)ranks + v};
    // The list runs from q down to 0.
    s.next[LIST_HEAD] = (int8_t)(q + 1);
    for (int e = 0; e <= q; e++) {
        s.next[e + 1] = (int8_t)e;
        s.before[e + 1] = (int8_t)(e == q ? LIST_HEAD : e + 2);
    }
    unlink_skip(&s, (int)base);
    int64_t limit = 2 * (int64_t)ranks;
    find_blocks(&s, 0, &limit, s.next[LIST_HEAD] - 1);
    for (int k = 0; k < q; k++)
        recv[k] = (int)s.found[k] == q ? (int32_t)base : (int32_t)s.found[k] - q;
}

mlt_circulant mlt_circulant_of(uint32_t ranks, uint32_t v)
{
    mlt_circulant c = mlt_circulant_skips(ranks);
    if (!c.skip_count)
        return c;
    recv_schedule(&c, ranks, v, c.recv);
    for (uint32_t k = 0; k < c.skip_count; k++) {
        uint32_t to = c.skip[k] < ranks - v ? v + c.skip[k] : v - (ranks - c.skip[k]);
        int32_t theirs[MLT_CIRCULANT_SKIPS];
        recv_schedule(&c, ranks, to, theirs);
        c.send[k] = theirs[k];
    }
    return c;
}

static uint64_t block_at(int32_t first, int64_t offset, uint64_t blocks)
{
    int64_t block = first + offset;
    if (block < 0)
        return UINT64_MAX;
    return (uint64_t)block < blocks ? (uint64_t)block : blocks - 1;
}

mlt_circulant_round mlt_circulant_at(const mlt_circulant *c, uint32_t ranks, uint32_t v,
                                     uint64_t blocks, uint64_t round)
{
    // The last round is the last of a turn; so the first turn may lack some at its beginning.
    uint64_t q = c->skip_count, lack = (q - (blocks - 1) % q) % q, i = round + lack;
    uint32_t k = (uint32_t)(i % q), skip = c->skip[k];
    int64_t offset = (int64_t)(i / q * q) - (int64_t)lack;
    mlt_circulant_round r = {UINT64_MAX, UINT64_MAX, 0, 0};
    r.from = v >= skip ? v - skip : v + (ranks - skip);
    r.to = skip < ranks - v ? v + skip : v - (ranks - skip);
    if (v)
        r.recv_block = block_at(c->recv[k], offset, blocks);
    if (r.to)
        r.send_block = block_at(c->send[k], offset, blocks);
    return r;
}
