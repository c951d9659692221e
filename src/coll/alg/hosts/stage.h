// SPDX-License-Identifier: BSD-3-Clause
// Algorithms over hosts: a stage on every host, a stage between the leaders of hosts, a stage on
// every host. A stage is an algorithm of alg.h as a part of the schedule (part.h), which the
// built-in rules choose: on a host by its ranks, bytes and cores; between hosts for the network.
//
//     allreduce        host 0                     host 1
//
//                   0   1   2   3              4   5   6   7
//     reduce        o<--+---+---'              o<--+---+---'       in reach of a host
//     allreduce     o<------------------------>o                   in reach of the network
//     bcast         '-->+-->+-->o              '-->+-->+-->o       in reach of a host
//
// Stages between two ranks are emitted in the same order by both (part.h). Stages that move blocks
// have them host by host; where the ranks of hosts do not follow each other, blocks are put into
// that order and back.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll/alg/emit.h"
#include "coll/alg/hosts/map.h"

typedef enum mlt_leader {
    MLT_LEADER_FIRST, // the lowest rank of a host
    MLT_LEADER_ROOT,  // on the root's host the root, else the lowest rank
    MLT_LEADER_LAST,  // the highest rank
} mlt_leader;

typedef struct mlt_hierarchy { // as one rank sees them
    const mlt_emit *e;
    const mlt_coll_hosts *map;
    uint32_t host, own; // the rank's host and its number there
    uint32_t here;      // ranks of its host
    uint32_t leader;    // the number of its host's leader
    uint32_t *leaders;  // [hosts] ranks
} mlt_hierarchy;

mlt_hierarchy mlt_hierarchy_begin(const mlt_emit *e, mlt_leader leader);
void mlt_hierarchy_end(mlt_hierarchy *levels);

static inline bool mlt_hierarchy_leads(const mlt_hierarchy *l)
{
    return l->own == l->leader;
}

typedef struct mlt_hierarchy_stage {
    mlt_collective collective;
    uint64_t count;         // elements of a block
    const uint64_t *starts; // blocks that differ, as in a shape; NULL: they are alike
    uint32_t root;          // number of a rank on the host, or of a host
    bool in_place;
    mlt_goal_span in, out; // out: buf, too
    uint32_t after;        // NONE: at once
} mlt_hierarchy_stage;

// Adds what the rank does in the stage, on its host or between the leaders, of which it is one.
// Returns an action that comes after all of it.
uint32_t mlt_hierarchy_here(const mlt_hierarchy *levels, const mlt_hierarchy_stage *stage);
uint32_t mlt_hierarchy_between(const mlt_hierarchy *levels, const mlt_hierarchy_stage *stage);

// ---- blocks

// Where the blocks of hosts begin, in elements: [hosts + 1]; of the ranks of the own host: [here +
// 1]. Free them.
uint64_t *mlt_hierarchy_starts(const mlt_hierarchy *levels);
uint64_t *mlt_hierarchy_starts_here(const mlt_hierarchy *levels);

// Copies blocks from the order of ranks to that of hosts, or back, all but that of rank `but`
// (NONE: all). Returns an action that comes after all of it.
uint32_t mlt_hierarchy_to_hosts(const mlt_hierarchy *levels, mlt_goal_span to, mlt_goal_span from,
                                uint32_t after);
uint32_t mlt_hierarchy_to_ranks(const mlt_hierarchy *levels, mlt_goal_span to, mlt_goal_span from,
                                uint32_t but, uint32_t after);

// ---- the table's

// mlt_coll_alg.refuses: there must be two hosts, and two ranks on one of them; and what the shape
// wants to keep must be kept.
const char *mlt_hierarchy_refuses(const mlt_coll_shape *shape);

// What the stages of a shape are: "reduce.linear on a host, allreduce.ring between hosts, ...".
// False: the algorithm has none, or the shape none of it.
bool mlt_hierarchy_tell(const mlt_coll_alg *alg, const mlt_coll_shape *shape, char *text,
                        size_t size);
