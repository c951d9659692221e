// SPDX-License-Identifier: BSD-3-Clause
// Which host each rank of a schedule is on. Hosts are numbered by their lowest ranks, so all ranks
// number them alike.
//
//     ranks 0..7 on two hosts         contiguous            dealt out in turn
//     of                              0 0 0 0 1 1 1 1       0 1 0 1 0 1 0 1
//     index                           0 1 2 3 0 1 2 3       0 0 1 1 2 2 3 3
//     rank, from first[host] on       0 1 2 3 4 5 6 7       0 2 4 6 1 3 5 7
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct mlt_coll_hosts {
    uint32_t ranks, hosts;
    uint32_t most, fewest; // ranks of a host
    bool contiguous;       // the ranks of every host follow each other
    bool aligned; // contiguous, and hosts have a power of two ranks, the same one, the last one at
                  // most as many: brackets of hosts are brackets of ranks (tree.h)
    // Of this rank's own host (choose.h); another one's may differ.
    bool crowded, reads;
    uint32_t sharing, cores;
    uint64_t hash;         // of `of`
    const uint32_t *of;    // [ranks]
    const uint32_t *index; // [ranks] the rank's number on its host
    const uint32_t *first; // [hosts + 1]
    const uint32_t *rank;  // [ranks] host by host, ascending on each
} mlt_coll_hosts;

// name[rank]: a number below `names`, the same for all ranks of a host. Free it.
mlt_coll_hosts *mlt_coll_hosts_new(uint32_t ranks, const uint32_t *name, uint32_t names);
void mlt_coll_hosts_free(mlt_coll_hosts *map); // NULL is fine

// The host of one of so many, if hosts have as many of them, in blocks or dealt out in turn.
static inline uint32_t mlt_coll_dealt(uint32_t i, uint32_t count, uint32_t hosts, bool in_turn)
{
    return in_turn ? i % hosts : (uint32_t)((uint64_t)i * hosts / count);
}

// The map of ranks that are on so many hosts that way; at most as many hosts as ranks. Free it.
mlt_coll_hosts *mlt_coll_hosts_deal(uint32_t ranks, uint32_t hosts, bool in_turn);

// Ranks of a host.
static inline uint32_t mlt_coll_hosts_size(const mlt_coll_hosts *map, uint32_t host)
{
    return map->first[host + 1] - map->first[host];
}
