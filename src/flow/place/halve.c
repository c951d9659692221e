// SPDX-License-Identifier: BSD-3-Clause
// Another way to cut: into halves, these into halves, and so on, each along the better of two rows:
// the one there is, and a walk breadth first from its end. A row of one dimension cuts a square
// into stripes; this cuts it into blocks.
#include "flow/place/place_int.h"

typedef struct halver {
    const mlt_flow_graph *g;
    const mlt_flow_near *near;
    const uint64_t *share;  // of workers
    uint32_t *piece, *seen; // [node_count] the piece that it is in; walks that were there
    bool *right;            // [node_count] of the two halves
    uint32_t *walk, *spare; // room for a row
    uint32_t pieces;
    uint32_t *into;
} halver;

// Puts the first ones of the row into the left half, `due` of weight; returns how many wires lead
// from half to half. Collectives are in no piece.
static uint64_t divide(halver *h, const uint32_t *row, uint32_t count, uint64_t due)
{
    uint64_t have = 0, crossing = 0;
    uint32_t left = 0;
    for (; left < count; left++) {
        uint64_t weight = mlt_flow_weight(h->g, row[left]);
        if (2 * have + weight > 2 * due)
            break;
        have += weight;
    }
    for (uint32_t i = 0; i < count; i++)
        h->right[row[i]] = i >= left;
    for (uint32_t i = 0; i < left; i++)
        for (uint32_t k = h->near->first[row[i]]; k < h->near->first[row[i] + 1]; k++) {
            uint32_t other = h->near->list[k];
            crossing += h->piece[other] == h->pieces && h->right[other];
        }
    return crossing;
}

// Those of the piece, breadth first, from the last of the row on.
static void halve_walk(halver *h, const uint32_t *row, uint32_t count)
{
    uint32_t found = 0, at = 0;
    for (uint32_t i = count; i-- > 0;) {
        if (h->seen[row[i]] == h->pieces)
            continue;
        h->seen[row[i]] = h->pieces;
        h->walk[found++] = row[i];
        for (; at < found; at++) {
            uint32_t n = h->walk[at];
            for (uint32_t k = h->near->first[n]; k < h->near->first[n + 1]; k++) {
                uint32_t other = h->near->list[k];
                if (h->piece[other] == h->pieces && h->seen[other] != h->pieces) {
                    h->seen[other] = h->pieces;
                    h->walk[found++] = other;
                }
            }
        }
    }
}

// Both halves keep the order of the row. Returns how many are in the left one.
static uint32_t part(halver *h, uint32_t *row, uint32_t count)
{
    uint32_t left = 0, right = 0;
    for (uint32_t i = 0; i < count; i++)
        if (h->right[row[i]])
            h->spare[right++] = row[i];
        else
            row[left++] = row[i];
    for (uint32_t i = 0; i < right; i++)
        row[left + i] = h->spare[i];
    return left;
}

static void halve(halver *h, uint32_t *row, uint32_t count, uint32_t first, uint32_t end)
{
    if (end - first == 1) {
        for (uint32_t i = 0; i < count; i++)
            h->into[row[i]] = first;
        return;
    }
    uint32_t middle = first + (end - first) / 2;
    uint64_t left_share = 0, shares = 0, total = 0;
    for (uint32_t w = first; w < end; w++) {
        shares += h->share[w];
        left_share += w < middle ? h->share[w] : 0;
    }
    h->pieces++;
    for (uint32_t i = 0; i < count; i++) {
        total += mlt_flow_weight(h->g, row[i]);
        h->piece[row[i]] = h->pieces;
    }
    // A piece without modules has no weight to share, and workers without a share get no modules.
    uint64_t due = shares ? mlt_flow_share_of(total, left_share, shares) : 0;
    uint64_t along = divide(h, row, count, due);
    if (along) { // else there is nothing better
        halve_walk(h, row, count);
        if (divide(h, h->walk, count, due) >= along)
            divide(h, row, count, due);
    }
    uint32_t left = part(h, row, count);
    halve(h, row, left, first, middle);
    halve(h, row + left, count - left, middle, end);
}

void mlt_flow_halve(const mlt_flow_graph *g, const mlt_flow_near *near, uint32_t *row,
                    uint32_t count, const uint64_t *share, uint32_t workers, uint32_t *into)
{
    halver h = {.g = g,
                .near = near,
                .share = share,
                .piece = mlt_flow_arena_take(near->arena, g->node_count * sizeof *h.piece),
                .seen = mlt_flow_arena_take(near->arena, g->node_count * sizeof *h.seen),
                .right = mlt_flow_arena_take(near->arena, g->node_count * sizeof *h.right),
                .walk = mlt_flow_arena_take(near->arena, count * sizeof *h.walk),
                .spare = mlt_flow_arena_take(near->arena, count * sizeof *h.spare),
                .into = into};
    halve(&h, row, count, 0, workers);
}
