// SPDX-License-Identifier: BSD-3-Clause
// Places in a grid, and functions of them.

#include "judge/grow/grow_int.h"

static void coordinates(const mlt_grow_grid *grid, uint32_t rank, uint32_t out[MLT_GROW_DIMS])
{
    for (uint32_t d = grid->dims; d-- > 0; rank /= grid->size[d])
        out[d] = rank % grid->size[d];
}

uint32_t mlt_grow_kinds(const mlt_grow_grid *grid, uint32_t low, uint32_t high)
{
    uint32_t kinds = 1;
    for (uint32_t d = 0; d < grid->dims; d++)
        kinds *= low + 1 + high;
    return kinds;
}

uint32_t mlt_grow_kind_of(const mlt_grow_grid *grid, uint32_t low, uint32_t high, uint32_t rank)
{
    uint32_t at[MLT_GROW_DIMS], kind = 0;
    coordinates(grid, rank, at);
    for (uint32_t d = 0; d < grid->dims; d++) {
        uint32_t left = grid->size[d] - at[d]; // to the end, itself included
        uint32_t place = at[d] < low ? at[d] : left <= high ? low + 1 + high - left : low;
        kind = kind * (low + 1 + high) + place;
    }
    return kind;
}

static uint32_t powers_below(uint32_t limit)
{
    uint32_t count = 0;
    while (count < 31 && 1u << count < limit)
        count++;
    return count;
}

uint32_t mlt_grow_times(mlt_grow_loop loop, const mlt_grow_grid *grid, uint32_t rank)
{
    uint32_t ranks = grid->ranks, limit;
    switch (loop) {
    case MLT_GROW_ALL:
        return ranks - 1;
    case MLT_GROW_POWERS:
        return powers_below(ranks);
    case MLT_GROW_KIDS_LOW:
        limit = rank && mlt_grow_lowest(rank) < ranks - rank ? mlt_grow_lowest(rank) : ranks - rank;
        return powers_below(limit);
    case MLT_GROW_KIDS_HIGH:
        limit = powers_below(ranks - rank);
        return limit > powers_below(rank + 1) ? limit - powers_below(rank + 1) : 0;
    default:
        return 1;
    }
}

uint32_t mlt_grow_value(const mlt_grow_item *item, const mlt_grow_grid *grid, uint32_t rank,
                        uint32_t round)
{
    if (item->loop == MLT_GROW_ONCE)
        return 0;
    if (item->down)
        round = mlt_grow_times(item->loop, grid, rank) - 1 - round;
    if (item->loop == MLT_GROW_ALL)
        return round + 1;
    return 1u << (round + (item->loop == MLT_GROW_KIDS_HIGH ? powers_below(rank + 1) : 0));
}

void mlt_grow_offset(const mlt_grow_grid *grid, uint32_t from, uint32_t to,
                     int32_t offset[MLT_GROW_DIMS])
{
    uint32_t a[MLT_GROW_DIMS], b[MLT_GROW_DIMS];
    coordinates(grid, from, a);
    coordinates(grid, to, b);
    for (uint32_t d = 0; d < grid->dims; d++) {
        uint32_t up = (b[d] + grid->size[d] - a[d]) % grid->size[d];
        offset[d] = up <= grid->size[d] / 2 ? (int32_t)up : (int32_t)up - (int32_t)grid->size[d];
    }
}

static int64_t neighbour(const mlt_grow_grid *grid, uint32_t rank,
                         const int32_t offset[MLT_GROW_DIMS])
{
    uint32_t at[MLT_GROW_DIMS];
    int64_t found = 0;
    coordinates(grid, rank, at);
    for (uint32_t d = 0; d < grid->dims; d++) {
        int64_t size = grid->size[d];
        found = found * size + (((int64_t)at[d] + offset[d]) % size + size) % size;
    }
    return found;
}

int64_t mlt_grow_peer(const mlt_grow_slot *slot, const mlt_grow_grid *grid, uint32_t rank,
                      uint32_t v)
{
    switch (slot->fn) {
    case MLT_GROW_NEAR:
        return neighbour(grid, rank, slot->offset);
    case MLT_GROW_SHIFT:
        return ((int64_t)rank + (int32_t)slot->at + grid->ranks) % grid->ranks;
    case MLT_GROW_PARENT_LOW:
        return rank ? (int64_t)(rank - mlt_grow_lowest(rank)) : MLT_GROW_NONE;
    case MLT_GROW_PARENT_HIGH:
        return rank ? (int64_t)(rank - (1u << (31 - __builtin_clz(rank)))) : MLT_GROW_NONE;
    case MLT_GROW_RANK:
        return slot->at;
    case MLT_GROW_LAST:
        return (int64_t)grid->ranks - 1 - slot->at;
    case MLT_GROW_PLUS:
        return ((int64_t)rank + v) % grid->ranks;
    case MLT_GROW_MINUS:
        return ((int64_t)rank + grid->ranks - v) % grid->ranks;
    case MLT_GROW_XOR:
        return rank ^ v;
    case MLT_GROW_OTHER:
        return v - 1 < rank ? v - 1 : v;
    default:
        return MLT_GOAL_ANY;
    }
}

bool mlt_grow_next_grid(mlt_grow_grid *grid, uint32_t least)
{
    uint32_t ranks = grid->ranks, *size = grid->size;
    if (grid->dims == 1) {
        bool first = !size[0];
        size[0] = ranks;
        return first && ranks >= least;
    }
    // size[0] falls; in three dimensions size[1] falls for each of it.
    uint32_t a = size[0] ? size[0] : ranks + 1, b = size[1];
    if (grid->dims == 3 && size[0])
        while (--b >= least)
            if (ranks / a % b == 0 && ranks / a / b >= least) {
                size[1] = b;
                size[2] = ranks / a / b;
                return true;
            }
    while (--a >= least && a) {
        uint32_t rest = ranks / a;
        if (ranks % a)
            continue;
        if (grid->dims == 2 && rest >= least) {
            size[0] = a;
            size[1] = rest;
            return true;
        }
        for (b = rest; grid->dims == 3 && b >= least; b--)
            if (rest % b == 0 && rest / b >= least) {
                size[0] = a;
                size[1] = b;
                size[2] = rest / b;
                return true;
            }
    }
    return false;
}
