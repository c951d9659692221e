// SPDX-License-Identifier: BSD-3-Clause
// Groups of processes: collective operations by the teams (coll/team.h) that serve MPI's, too.
//
//     csp_group    a node's (rank's) view: its members, how many calls each has made
//     mlt_csp_body     what the ranks of a worker have in common: the team, whose "ranks" are members
//
// Members are numbered rank by rank, so those of a worker follow each other, and combine in memory
// in that order; schedules run between the workers that have members. A group of one node is a team
// of one worker: no schedule, no message.
//
// Founding a group of all nodes. The ranks of a worker leave their numbers of members; the last one
// to come tells the other workers how many they are together, by an allgather of a team with one
// member for each worker, and wakes the others. So every worker knows O(workers) numbers, and a
// rank its own.
#pragma once

#include <millet/csp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "coll/choose.h"
#include "coll/team.h"
#include "csp/state.h"

// Contexts (p2p/context.h): the first is for founding and for groups of one node, then each group
// of all nodes has one, in the order of founding, which is the same on all nodes. They are not used
// again: a job may found nearly 2^28 groups.

// Shared by the ranks of a worker.
typedef struct mlt_csp_body {
    mlt_list_node node;  // in mlt_csp_groups.bodies
    mlt_list_node views; // csp_group.of_body
    uint32_t refs;       // ranks that have not freed it, or have not heard of it yet
    mlt_team *team;      // NULL: this worker has no members
    mlt_coll_sources sources;
    mlt_coll_rule *forced; // sources.forced, owned
} mlt_csp_body;

struct csp_group {
    mlt_csp *csp;          // NULL: it was freed
    mlt_list_node node;    // in mlt_csp_groups.views
    mlt_list_node of_body; // in mlt_csp_body.views
    mlt_csp_body *body;    // NULL: being founded
    struct founding *founding;
    char *name;
    uint32_t size;           // members on all nodes
    uint32_t first, members; // on this one
    uint32_t inside;         // of them in a call
    bool wrapped;            // it has an interceptor (intercept.h), or its team paths (coll/path.h)
    uint64_t *calls;         // [members] made so far
};

struct mlt_csp_groups; // group_found.c

// The group is NULL, was freed, or is another worker's: ends the program with a message.
_Noreturn void mlt_csp_group_fault(const csp_group *group, const char *call) MLT_COLD;

// Frees what the worker's groups have; mlt_csp_end calls it. What a process is still inside of
// stays.
void mlt_csp_groups_end(mlt_csp *csp);

// All groups of the worker, by csp_group.node; for reports and tests.
const mlt_list_node *mlt_csp_groups_views(mlt_csp *csp);
