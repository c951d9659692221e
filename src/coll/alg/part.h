// SPDX-License-Identifier: BSD-3-Clause
// An algorithm as a part of a larger schedule: it runs among some of the ranks, on any memory,
// after something else.
//
// The algorithm emits as if it were alone; then what it emitted is moved: its ranks become those of
// the schedule, its buffers `in`, `out` and `buf` become spans, its temporary ones stay. Parts that
// two ranks have in common must be emitted by both in the same order, since messages between two
// ranks are told apart by that.
#pragma once

#include <stdint.h>

#include "coll/alg/alg.h"
#include "goal/program.h"

// Rank v of the part is rank map[v]; without a map rank first + v. With a head, rank 0 is the head,
// and rank v > 0 is first + v - 1.
typedef struct mlt_coll_part {
    const uint32_t *map; // NULL: none
    uint32_t head;       // MLT_GOAL_NONE: it has none
    uint32_t first;
    uint32_t self;         // the rank's number in the part
    mlt_goal_span in, out; // out: buf, too
    uint32_t after;        // it begins after this action; MLT_GOAL_NONE: at once
} mlt_coll_part;

// Adds what the rank in that slot of the program (mlt_coll_slot) does in the part. Returns an action
// that comes after all of it; if there is nothing to do, part->after.
uint32_t mlt_coll_part_emit(mlt_goal_program *program, uint32_t slot, const mlt_coll_part *part,
                            const mlt_coll_alg *alg, const mlt_coll_shape *shape);
