// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/hosts/map.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/table.h"

// Hosts by their lowest ranks; returns how many there are.
static uint32_t number_hosts(uint32_t ranks, const uint32_t *name, uint32_t names, uint32_t *of)
{
    uint32_t *number = mlt_xcalloc(names, sizeof *number), hosts = 0; // 0: not seen
    for (uint32_t r = 0; r < ranks; r++) {
        if (!number[name[r]])
            number[name[r]] = ++hosts;
        of[r] = number[name[r]] - 1;
    }
    free(number);
    return hosts;
}

static void look(mlt_coll_hosts *map)
{
    map->fewest = UINT32_MAX;
    for (uint32_t h = 0; h < map->hosts; h++) {
        uint32_t size = mlt_coll_hosts_size(map, h);
        map->most = size > map->most ? size : map->most;
        map->fewest = size < map->fewest ? size : map->fewest;
    }
    for (uint32_t r = 0; r < map->ranks; r++)
        map->hash = mlt_hash_mix(map->hash, map->of[r]);
    map->contiguous = true;
    for (uint32_t r = 0; r < map->ranks && map->contiguous; r++)
        map->contiguous = map->rank[r] == r;
    uint32_t each = mlt_coll_hosts_size(map, 0);
    map->aligned = map->contiguous && (each & (each - 1)) == 0 && map->most == each;
    for (uint32_t h = 0; h + 1 < map->hosts && map->aligned; h++)
        map->aligned = mlt_coll_hosts_size(map, h) == each;
}

mlt_coll_hosts *mlt_coll_hosts_new(uint32_t ranks, const uint32_t *name, uint32_t names)
{
    mlt_coll_hosts *map = mlt_xcalloc(1, sizeof *map);
    uint32_t *of = mlt_xcalloc(ranks, sizeof *of), *index = mlt_xcalloc(ranks, sizeof *index);
    uint32_t hosts = number_hosts(ranks, name, names, of);
    uint32_t *first = mlt_xcalloc(hosts + 1ull, sizeof *first),
             *rank = mlt_xcalloc(ranks, sizeof *rank);
    for (uint32_t r = 0; r < ranks; r++)
        index[r] = first[of[r] + 1]++;
    for (uint32_t h = 0; h < hosts; h++)
        first[h + 1] += first[h];
    for (uint32_t r = 0; r < ranks; r++)
        rank[first[of[r]] + index[r]] = r;
    *map = (mlt_coll_hosts){.ranks = ranks,
                            .hosts = hosts,
                            .sharing = 1,
                            .of = of,
                            .index = index,
                            .first = first,
                            .rank = rank};
    look(map);
    return map;
}

void mlt_coll_hosts_free(mlt_coll_hosts *map)
{
    if (!map)
        return;
    free((void *)(uintptr_t)map->of);
    free((void *)(uintptr_t)map->index);
    free((void *)(uintptr_t)map->first);
    free((void *)(uintptr_t)map->rank);
    free(map);
}

mlt_coll_hosts *mlt_coll_hosts_deal(uint32_t ranks, uint32_t hosts, bool in_turn)
{
    uint32_t *name = mlt_xcalloc(ranks, sizeof *name);
    for (uint32_t r = 0; r < ranks; r++)
        name[r] = mlt_coll_dealt(r, ranks, hosts, in_turn);
    mlt_coll_hosts *map = mlt_coll_hosts_new(ranks, name, hosts);
    free(name);
    return map;
}
