// SPDX-License-Identifier: BSD-3-Clause
// Random arrays for the shapes that tests try: blocks that differ, some of them empty, who
// contributes and receives, lists of messages.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/alg/alg.h"
#include "coll/alg/hosts/map.h"

// An algorithm that is there.
static inline const mlt_coll_alg *alg_named(const char *name)
{
    char why[200];
    const mlt_coll_alg *alg = mlt_coll_find(name, why, sizeof why);
    if (!alg) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    return alg;
}

typedef struct arrays {
    uint64_t *starts;
    uint8_t *contributes, *receives;
    mlt_goal_messages *parts;
    mlt_coll_hosts *hosts;
} arrays;

static inline uint64_t arrays_draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static inline void *arrays_take(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

static inline uint64_t *random_starts(uint32_t ranks, uint64_t most, uint64_t *state)
{
    uint64_t *starts = arrays_take(ranks + 1ull, sizeof *starts);
    for (uint32_t r = 0; r < ranks; r++)
        starts[r + 1] = starts[r] + (arrays_draw(state, 3) ? arrays_draw(state, most + 1) : 0);
    return starts;
}

static inline void add_part(mlt_goal_message **list, uint32_t *count, mlt_goal_message part)
{
    mlt_goal_message *more = realloc(*list, (*count + 1ull) * sizeof *more);
    if (!more)
        abort();
    more[(*count)++] = part;
    *list = more;
}

// Neighbours change places if that changes no message: those of one flow keep their order.
static inline void shuffle_parts(mlt_goal_message *list, uint32_t count, uint64_t *state)
{
    for (uint32_t k = 0; count > 1 && k < 4 * count; k++) {
        uint32_t i = (uint32_t)arrays_draw(state, count - 1);
        mlt_goal_message a = list[i], b = list[i + 1];
        if (a.peer == b.peer && a.tag == b.tag)
            continue;
        list[i] = b;
        list[i + 1] = a;
    }
}

// Between every two ranks, and with oneself, none to two messages with one of two tags; gaps
// between what is received. everywhere: instead exactly one of that many bytes between any two.
static inline mlt_goal_messages *random_parts(uint32_t ranks, uint64_t everywhere, uint64_t *state)
{
    mlt_goal_messages *parts = arrays_take(ranks, sizeof *parts);
    mlt_goal_message **send = arrays_take(ranks, sizeof *send),
                     **recv = arrays_take(ranks, sizeof *recv);
    for (uint32_t from = 0; from < ranks; from++)
        for (uint32_t to = 0; to < ranks; to++) {
            uint64_t kind = arrays_draw(state, 6), count = kind == 0 ? 2 : kind < 4;
            if (everywhere)
                count = from != to;
            for (uint64_t i = 0; i < count; i++) {
                uint64_t bytes = everywhere ? everywhere : arrays_draw(state, 12);
                int32_t tag = everywhere ? 0 : (int32_t)arrays_draw(state, 2);
                add_part(&send[from], &parts[from].sends,
                         (mlt_goal_message){to, tag, parts[from].in, bytes});
                parts[from].in += arrays_draw(state, 4) ? bytes : bytes / 2; // overlaps
                parts[to].out += everywhere ? 0 : arrays_draw(state, 3);
                add_part(&recv[to], &parts[to].recvs,
                         (mlt_goal_message){from, tag, parts[to].out, bytes});
                parts[to].out += bytes;
            }
        }
    for (uint32_t r = 0; r < ranks; r++) {
        shuffle_parts(send[r], parts[r].sends, state);
        shuffle_parts(recv[r], parts[r].recvs, state);
        parts[r].send = send[r];
        parts[r].recv = recv[r];
        parts[r].in += everywhere ? everywhere : 12; // what a last overlap leaves over
        parts[r].out += everywhere ? 0 : arrays_draw(state, 3);
    }
    free(send);
    free(recv);
    return parts;
}

// Ranks on hosts: as many ranks on each, in a row; dealt out in turn; in a row, but not as many;
// anyhow.
static inline mlt_coll_hosts *random_hosts(uint32_t ranks, uint64_t *state)
{
    uint32_t *name = arrays_take(ranks, sizeof *name), hosts = 1 + arrays_draw(state, 5);
    uint32_t each = 1u << arrays_draw(state, 3), kind = (uint32_t)arrays_draw(state, 5);
    for (uint32_t r = 0, host = 0; r < ranks; r++) {
        host += arrays_draw(state, 3) == 0;
        name[r] = kind == 0   ? r / each
                  : kind == 1 ? r % hosts
                  : kind == 2 ? host
                  : kind == 3 ? (uint32_t)arrays_draw(state, hosts)
                              : (uint32_t)((uint64_t)r * hosts / ranks);
    }
    mlt_coll_hosts *map = mlt_coll_hosts_new(ranks, name, ranks + 5);
    map->crowded = arrays_draw(state, 2);
    map->reads = arrays_draw(state, 2);
    free(name);
    return map;
}

// What the shape of that algorithm needs; uneven: its blocks differ.
static inline arrays arrays_new(mlt_coll_shape *shape, const mlt_coll_alg *alg, bool uneven,
                                uint64_t *state)
{
    arrays a = {0};
    if (alg->uses_hosts)
        shape->hosts = a.hosts = random_hosts(shape->ranks, state);
    if (uneven) {
        bool weights = alg->collective == MLT_COLL_ALLTOALL;
        shape->starts = a.starts =
            random_starts(shape->ranks, weights ? 3 : 2 * shape->count + 1, state);
    }
    if (alg->collective == MLT_COLL_EXCHANGE)
        shape->parts = a.parts = random_parts(shape->ranks, 0, state);
    if (alg->collective == MLT_COLL_REDUCE_TO) {
        shape->contributes = a.contributes = arrays_take(shape->ranks, 1);
        shape->receives = a.receives = arrays_take(shape->ranks, 1);
        uint64_t odds = 1 + arrays_draw(state, 4);
        for (uint32_t r = 0; r < shape->ranks; r++) {
            a.contributes[r] = arrays_draw(state, 4) < odds;
            a.receives[r] = arrays_draw(state, 4) < odds;
        }
        a.contributes[arrays_draw(state, shape->ranks)] = 1;
        a.receives[arrays_draw(state, shape->ranks)] = 1;
    }
    return a;
}

static inline void arrays_free(arrays *a, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks && a->parts; r++) {
        free((void *)a->parts[r].send);
        free((void *)a->parts[r].recv);
    }
    free(a->starts);
    free(a->contributes);
    free(a->receives);
    free(a->parts);
    mlt_coll_hosts_free(a->hosts);
    *a = (arrays){0};
}
