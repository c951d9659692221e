// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as what the other side of a port says of itself: refused, or written again as the same
// side. Numbers are given to its jobs as a rank would.
#include "mpi/comm/bridge.h"

#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1 << 16 }; // of groups that are made: others take long

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mlt_bridge_side side, again;
    const char *fault = mlt_bridge_read(&side, data, size);
    if (fault) {
        fuzz_check_sentence(fault, 200);
        FUZZ_CHECK(!side.jobs && !side.runs);
        return 0;
    }
    uint64_t ranks = 0;
    for (uint32_t i = 0; i < side.run_count; i++)
        ranks += side.runs[i].count;
    FUZZ_CHECK(side.job_count > 0 && ranks == side.size);
    mlt_text written = mlt_bridge_write(&side);
    FUZZ_CHECK(written.length == size && !mlt_bridge_read(&again, written.text, written.length));
    FUZZ_CHECK(again.size == side.size && again.job_count == side.job_count);
    static mlt_job job = {.hosts = 1, .procs = 1, .workers = 1, .ranks = 1, .identity = 1};
    job.identity++; // another one each time, so that the numbers begin again
    mlt_worlds *worlds = mlt_worlds_of(&job, -1);
    bool known = true;
    for (uint32_t i = 0; i < side.job_count; i++)
        known &= side.jobs[i].identity != job.identity && mlt_worlds_meet(worlds, &side.jobs[i]);
    if (known && side.size <= MOST_RANKS) {
        mlt_map *map = mlt_bridge_map(&side, worlds);
        for (int32_t r = 0; map && r < map->size; r++) {
            uint32_t worker = mlt_worlds_worker(worlds, mlt_map_world(map, r));
            mlt_world_place place = mlt_worlds_place(worlds, worker);
            uint32_t rank = (uint32_t)mlt_map_world(map, r) - place.world->first_rank;
            FUZZ_CHECK(rank - place.first_rank < place.ranks);
        }
        mlt_map_drop(map);
    }
    mlt_bridge_free(&again);
    mlt_bridge_free(&side);
    mlt_text_free(&written);
    return 0;
}
