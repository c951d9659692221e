// SPDX-License-Identifier: BSD-3-Clause
// Rank maps. Results are first built as a list, and mlt_map_new looks for the rule behind it; for
// LINEAR arguments the sets are solved as congruences, and no list is made.
#include "mpi/comm/map.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

// From world rank to rank: a table of ranks with open addressing, at most half full. Where the
// world ranks lie close together, the slot is the distance from the least one, and no two share
// one.
struct mlt_map_index {
    int32_t least;
    uint32_t reach; // from the least to the greatest world rank
    uint32_t mask;
    bool hashed;
    int32_t slot[]; // [mask + 1]; -1: empty
};

mlt_map *mlt_map_new_linear(int32_t size, int32_t base, int32_t stride)
{
    mlt_assert(size >= 0 && (size < 2 || stride != 0));
    mlt_map *map = mlt_xcalloc(1, sizeof *map);
    *map = (mlt_map){.refs = 1,
                     .kind = MLT_MAP_LINEAR,
                     .size = size,
                     .base = size > 0 ? base : 0,
                     .stride = size > 1 ? stride : 1,
                     .length = 1};
    return map;
}

// How many entries from the first one on go on with the same step.
static int32_t run_length(const int32_t *world, int32_t size)
{
    int32_t step = world[1] - world[0], n = 2;
    while (n < size && world[n] - world[n - 1] == step)
        n++;
    return n;
}

// Blocks of `length` that begin every `stride`, no two overlapping, the last perhaps shorter. With
// a negative stride a short second block fits where a whole one would not.
static bool is_block(const int32_t *world, int32_t size, int32_t length, int32_t stride)
{
    bool apart = stride > length || stride <= -length ||
                 (stride < 0 && size <= 2 * length && size - length <= -stride);
    if (!apart)
        return false;
    for (int32_t at = length; at < size; at += length) {
        int64_t first = (int64_t)world[0] + (int64_t)(at / length) * stride;
        int32_t end = size - at < length ? size - at : length;
        for (int32_t i = 0; i < end; i++)
            if (world[at + i] != first + i)
                return false;
        if (size - at <= length) // at + length may not fit
            break;
    }
    return true;
}

// The rule behind a list; NULL: there is none.
static mlt_map *new_by_rule(const int32_t *world, int32_t size)
{
    mlt_assert(size >= 0);
    if (size < 2)
        return mlt_map_new_linear(size, size > 0 ? world[0] : 0, 1);
    int32_t run = run_length(world, size), step = world[1] - world[0];
    if (run == size && step != 0)
        return mlt_map_new_linear(size, world[0], step);
    if (step != 1 || !is_block(world, size, run, world[run] - world[0]))
        return NULL;
    mlt_map *map = mlt_map_new_linear(size, world[0], world[run] - world[0]);
    map->kind = MLT_MAP_BLOCK;
    map->length = run;
    return map;
}

static mlt_map *new_table(const int32_t *world, int32_t size)
{
    size_t bytes = (size_t)size * sizeof *world;
    mlt_map *map = mlt_xrealloc(NULL, 1, offsetof(mlt_map, world) + bytes);
    *map = (mlt_map){.refs = 1, .kind = MLT_MAP_DENSE, .size = size, .stride = 1, .length = 1};
    memcpy(map->world, world, bytes);
    return map;
}

mlt_map *mlt_map_new(const int32_t *world, int32_t size)
{
    mlt_map *map = new_by_rule(world, size);
    return map ? map : new_table(world, size);
}

// ---- tables that are kept once

static uint64_t hash_numbers(uint64_t hash, const int32_t *numbers, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        hash = mlt_hash_mix(hash, (uint32_t)numbers[i]);
    return hash | 1; // never 0
}

static uint64_t hash_list(const int32_t *world, int32_t size)
{
    return hash_numbers((uint64_t)size, world, size);
}

uint64_t mlt_map_own_hash(mlt_map *map)
{
    int32_t rule[] = {(int32_t)map->kind, map->base, map->stride, map->length};
    if (!map->hash)
        map->hash = map->kind == MLT_MAP_DENSE ? hash_list(map->world, map->size)
                                               : hash_numbers((uint64_t)map->size, rule, 4);
    return map->hash;
}

static bool is_list(const mlt_map *map, const int32_t *world, int32_t size)
{
    return map->size == size && memcmp(map->world, world, (size_t)size * sizeof *world) == 0;
}

static mlt_map *find_table(mlt_maps *maps, const int32_t *world, int32_t size, uint64_t hash)
{
    for (mlt_table_look l = mlt_table_look_for(&maps->all, (uint32_t)(hash >> 32));
         mlt_table_next(&l);)
        if (((mlt_map *)l.word)->hash == hash && is_list((mlt_map *)l.word, world, size))
            return (mlt_map *)l.word;
    return NULL;
}

static mlt_map *map_add_table(mlt_maps *maps, mlt_map *map)
{
    mlt_table_add(&maps->all, (uint32_t)(mlt_map_own_hash(map) >> 32), (uintptr_t)map);
    map->home = maps;
    return maps->recent = map;
}

static void remove_table(mlt_map *map)
{
    mlt_maps *maps = map->home;
    mlt_table_remove(&maps->all, (uint32_t)(map->hash >> 32), (uintptr_t)map);
    if (maps->recent == map)
        maps->recent = NULL;
    if (!maps->all.count)
        mlt_table_free(&maps->all);
}

mlt_map *mlt_maps_get(mlt_maps *maps, const int32_t *world, int32_t size)
{
    if (maps->recent && is_list(maps->recent, world, size)) // mostly, and without a hash
        return mlt_map_hold(maps->recent);
    mlt_map *map = new_by_rule(world, size);
    if (map)
        return map;
    map = find_table(maps, world, size, hash_list(world, size));
    if (!map)
        return map_add_table(maps, new_table(world, size));
    maps->recent = map;
    return mlt_map_hold(map);
}

mlt_map *mlt_maps_share(mlt_maps *maps, mlt_map *map)
{
    if (map->kind != MLT_MAP_DENSE || map->home)
        return map;
    mlt_map *old = maps->recent && is_list(maps->recent, map->world, map->size)
                       ? maps->recent
                       : find_table(maps, map->world, map->size, mlt_map_own_hash(map));
    if (!old)
        return map_add_table(maps, map);
    maps->recent = old;
    mlt_map_hold(old);
    mlt_map_drop(map);
    return old;
}

void mlt_maps_fini(mlt_maps *maps)
{
    for (size_t i = 0; i < maps->all.size; i++)
        if (maps->all.slots[i].used)
            ((mlt_map *)maps->all.slots[i].word)->home = NULL;
    mlt_table_free(&maps->all);
    maps->recent = NULL;
}

// mlt_map_new of a list from new_list(), which is given up.
static mlt_map *new_from(int32_t *list, int32_t size)
{
    mlt_map *map = mlt_map_new(list, size);
    free(list);
    return map;
}

mlt_map *mlt_map_hold(mlt_map *map)
{
    map->refs++;
    return map;
}

void mlt_map_drop(mlt_map *map)
{
    if (!map || --map->refs > 0)
        return;
    if (map->home)
        remove_table(map);
    free(map->index);
    free(map);
}

// ---- from world rank to rank

static uint32_t mix(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352d;
    x = (x ^ (x >> 15)) * 0x846ca68b;
    return x ^ (x >> 16);
}

// The slot that has the world rank, or the empty one where it belongs. It is between the least and
// the greatest.
static int32_t *find_slot(const mlt_map *map, struct mlt_map_index *index, int32_t world)
{
    uint32_t offset = (uint32_t)world - (uint32_t)index->least;
    uint32_t s = (index->hashed ? mix(offset) : offset) & index->mask;
    while (index->slot[s] >= 0 && map->world[index->slot[s]] != world)
        s = (s + 1) & index->mask;
    return &index->slot[s];
}

static struct mlt_map_index *new_index(const mlt_map *map)
{
    int32_t least = map->world[0], most = least;
    for (int32_t r = 1; r < map->size; r++) {
        least = map->world[r] < least ? map->world[r] : least;
        most = map->world[r] > most ? map->world[r] : most;
    }
    size_t slots = 8;
    while (slots < 2 * (size_t)map->size)
        slots *= 2;
    struct mlt_map_index *index =
        mlt_xrealloc(NULL, 1, sizeof *index + slots * sizeof *index->slot);
    uint32_t reach = (uint32_t)most - (uint32_t)least;
    *index = (struct mlt_map_index){
        .least = least, .reach = reach, .mask = (uint32_t)(slots - 1), .hashed = reach >= slots};
    memset(index->slot, 0xff, slots * sizeof *index->slot);
    return index;
}

int32_t mlt_map_repeated(mlt_map *map)
{
    if (map->kind != MLT_MAP_DENSE || map->index)
        return -1;
    struct mlt_map_index *index = new_index(map);
    for (int32_t r = 0; r < map->size; r++) {
        int32_t *slot = find_slot(map, index, map->world[r]);
        if (*slot >= 0) {
            free(index);
            return r;
        }
        *slot = r;
    }
    map->index = index;
    return -1;
}

static int32_t block_rank(const mlt_map *map, int64_t offset)
{
    int64_t stride = map->stride, block = 0, within = offset;
    if (stride > 0 && offset > 0) {
        block = offset / stride;
        within = offset % stride;
    } else if (stride < 0 && offset < 0) {
        block = (-offset - stride - 1) / -stride;
        within = offset - block * stride;
    }
    int64_t rank = block * map->length + within;
    return within >= 0 && within < map->length && rank < map->size ? (int32_t)rank : -1;
}

int32_t mlt_map_rank(mlt_map *map, int32_t world)
{
    int64_t offset = (int64_t)world - map->base;
    switch ((mlt_map_kind)map->kind) {
    case MLT_MAP_LINEAR:
        if (offset % map->stride != 0)
            return -1;
        offset /= map->stride;
        return offset >= 0 && offset < map->size ? (int32_t)offset : -1;
    case MLT_MAP_BLOCK:
        return block_rank(map, offset);
    default:
        if (!map->index) {
            int32_t repeated = mlt_map_repeated(map);
            mlt_assert(repeated < 0);
        }
        if ((uint32_t)world - (uint32_t)map->index->least > map->index->reach)
            return -1;
        return *find_slot(map, map->index, world);
    }
}

// ---- linear maps as sets

// Some ranks of a linear map: first, first + step, ...
typedef struct span {
    int32_t first, step, count;
} span;

// a * x = 1 modulo m, for a and m without a common divisor; 0 <= x < m.
static int64_t inverse(int64_t a, int64_t m)
{
    int64_t r0 = m, r1 = a % m, x0 = 0, x1 = 1;
    while (r1 > 0) {
        int64_t q = r0 / r1, r2 = r0 - q * r1, x2 = x0 - q * x1;
        r0 = r1;
        r1 = r2;
        x0 = x1;
        x1 = x2;
    }
    return x0 < 0 ? x0 + m : x0;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b > 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// The ranks of a whose world ranks are in b; both LINEAR. They are a span, because the world ranks
// of each are a congruence class between bounds: a.base + i * a.stride = b.base modulo b.stride.
static span map_common(const mlt_map *a, const mlt_map *b)
{
    span none = {.step = 1};
    if (a->size == 0 || b->size == 0)
        return none;
    int64_t sa = a->stride, sb = b->stride < 0 ? -(int64_t)b->stride : b->stride;
    int64_t end = (int64_t)b->base + (int64_t)(b->size - 1) * b->stride;
    int64_t low = (end < b->base ? end : b->base) - (int64_t)a->base;
    int64_t high = (end < b->base ? b->base : end) - (int64_t)a->base;
    // low <= i * sa <= high
    int64_t from = sa > 0 ? -floor_div(-low, sa) : -floor_div(high, -sa);
    int64_t to = sa > 0 ? floor_div(high, sa) : floor_div(low, sa);
    from = from < 0 ? 0 : from;
    to = to > a->size - 1 ? a->size - 1 : to;
    int64_t g = gcd(sa < 0 ? -sa : sa, sb);
    if (low % g != 0 || from > to)
        return none;
    int64_t m = sb / g, factor = (sa / g) % m, target = (low / g) % m;
    factor = factor < 0 ? factor + m : factor;
    target = target < 0 ? target + m : target;
    int64_t i = m == 1 ? 0 : target * inverse(factor, m) % m; // the least that is not negative
    i += (from - i + m - 1) / m * m;
    if (i > to || i < from)
        return none;
    return (span){.first = (int32_t)i, .step = (int32_t)m, .count = (int32_t)((to - i) / m + 1)};
}

// A part of a linear map.
static mlt_map *linear_part(const mlt_map *map, int32_t first, int32_t step, int32_t count)
{
    if (count < 2) // a step between ranks that are not there may be of any size
        return mlt_map_new_linear(count, count > 0 ? mlt_map_world(map, first) : 0, 1);
    return mlt_map_new_linear(count, mlt_map_world(map, first), map->stride * step);
}

// A linear map without a span of its ranks, if that is linear again; else NULL.
static mlt_map *linear_rest(mlt_map *map, span s)
{
    int32_t size = map->size, left = size - s.count;
    if (s.count == 0)
        return mlt_map_hold(map);
    if (left == 0)
        return mlt_map_new_linear(0, 0, 1);
    int32_t last = s.first + (s.count - 1) * s.step;
    bool whole = s.count == 1 || s.step == 1; // no gaps
    if (whole && s.first == 0)
        return linear_part(map, s.count, 1, left);
    if (whole && last == size - 1)
        return linear_part(map, 0, 1, left);
    if (s.step == 2 && s.first < 2 && last >= size - 2) // every second
        return linear_part(map, 1 - s.first, 2, left);
    return NULL;
}

// ---- maps of maps

bool mlt_map_equal(const mlt_map *a, const mlt_map *b)
{
    if (a == b)
        return true;
    return a->kind == b->kind && a->size == b->size && a->base == b->base &&
           a->stride == b->stride && a->length == b->length &&
           (a->kind != MLT_MAP_DENSE ||
            memcmp(a->world, b->world, (size_t)a->size * sizeof *a->world) == 0);
}

static bool both_linear(const mlt_map *a, const mlt_map *b)
{
    return a->kind == MLT_MAP_LINEAR && b->kind == MLT_MAP_LINEAR;
}

bool mlt_map_similar(mlt_map *a, mlt_map *b)
{
    if (a->size != b->size)
        return false;
    if (mlt_map_equal(a, b))
        return true;
    if (both_linear(a, b))
        return map_common(a, b).count == a->size;
    for (int32_t r = 0; r < a->size; r++)
        if (mlt_map_rank(b, mlt_map_world(a, r)) < 0)
            return false;
    return true;
}

static int32_t *new_list(int64_t size)
{
    return mlt_xrealloc(NULL, size > 0 ? (size_t)size : 0, sizeof(int32_t));
}

mlt_map *mlt_map_pick(mlt_map *map, mlt_map *pick)
{
    bool identity = map->kind == MLT_MAP_LINEAR && map->base == 0 && map->stride == 1;
    if (identity)
        return mlt_map_hold(pick);
    if (both_linear(map, pick))
        return linear_part(map, pick->base, pick->stride, pick->size);
    int32_t *list = new_list(pick->size);
    for (int32_t r = 0; r < pick->size; r++)
        list[r] = mlt_map_world(map, mlt_map_world(pick, r));
    return new_from(list, pick->size);
}

mlt_map *mlt_map_omit(mlt_map *map, mlt_map *which)
{
    mlt_map *all = mlt_map_new_linear(map->size, 0, 1);
    mlt_map *left = mlt_map_difference(all, which);
    mlt_map *result = left == all ? mlt_map_hold(map) : mlt_map_pick(map, left);
    mlt_map_drop(left);
    mlt_map_drop(all);
    return result;
}

// Appends those of a that are in b, or those that are not. Returns their number.
static int32_t filter(int32_t *list, const mlt_map *a, mlt_map *b, bool in)
{
    int32_t n = 0;
    for (int32_t r = 0; r < a->size; r++) {
        int32_t world = mlt_map_world(a, r);
        list[n] = world; // without a branch that depends on it
        n += (mlt_map_rank(b, world) >= 0) == in;
    }
    return n;
}

mlt_map *mlt_map_intersection(mlt_map *a, mlt_map *b)
{
    if (both_linear(a, b)) {
        span s = map_common(a, b);
        return s.count == a->size ? mlt_map_hold(a) : linear_part(a, s.first, s.step, s.count);
    }
    if (mlt_map_equal(a, b))
        return mlt_map_hold(a);
    int32_t *list = new_list(a->size);
    return new_from(list, filter(list, a, b, true));
}

mlt_map *mlt_map_difference(mlt_map *a, mlt_map *b)
{
    mlt_map *rest = both_linear(a, b) ? linear_rest(a, map_common(a, b)) : NULL;
    if (rest)
        return rest;
    int32_t *list = new_list(a->size);
    return new_from(list, filter(list, a, b, false));
}

// a and then b, which have no rank in common, if that is linear; else NULL.
static mlt_map *linear_chain(const mlt_map *a, const mlt_map *b)
{
    int64_t step = a->size > 1 ? a->stride : (int64_t)b->base - a->base;
    int64_t next = (int64_t)a->base + step * a->size;
    if (b->base != next || (b->size > 1 && b->stride != step))
        return NULL;
    return mlt_map_new_linear(a->size + b->size, a->base, (int32_t)step);
}

mlt_map *mlt_map_union(mlt_map *a, mlt_map *b)
{
    if (a->size == 0 || b->size == 0 || mlt_map_equal(a, b))
        return mlt_map_hold(a->size > 0 ? a : b);
    mlt_map *rest = both_linear(a, b) ? linear_rest(b, map_common(b, a)) : NULL;
    mlt_map *chain = NULL;
    if (rest && rest->size == 0)
        chain = mlt_map_hold(a);
    else if (rest)
        chain = linear_chain(a, rest);
    mlt_map_drop(rest);
    if (chain)
        return chain;
    int32_t *list = new_list((int64_t)a->size + b->size);
    for (int32_t r = 0; r < a->size; r++)
        list[r] = mlt_map_world(a, r);
    return new_from(list, a->size + filter(list + a->size, b, a, false));
}

int32_t mlt_map_member(const void *map, int32_t rank)
{
    return mlt_map_world(map, rank);
}

int mlt_map_by_rank(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}
