// SPDX-License-Identifier: BSD-3-Clause
// A rank's walk along the path of a collective call (path.h): it passes the wrappers, the outermost
// first, joins the team, and comes back. Nothing here suspends.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/path.h"
#include "coll/team.h"

typedef struct mlt_walk_args {
    mlt_team *team;  // that is joined, with a path for the call
    mlt_team *level; // all ranks of the communicator, for checks; NULL: it is not checked, as
                     // those of intercommunicators
    uint64_t number, check_number; // of the call and of its check
    bool fixed;
    uint32_t local, level_local; // mlt_team_join's, in team and in level
    uint32_t rank;               // in the communicator
    uint64_t signature;          // a hash of the types of the data; 0: nothing to compare
    const char *call;            // "MPI_Bcast"
} mlt_walk_args;

// As mlt_team_join, along the team's path for the call. If ranks disagree, done->status is
// MLT_ERR_DISAGREE on all ranks and team->why tells what two of them say.
void mlt_path_join(const mlt_walk_args *args, const mlt_coll_what *what, const void *in, void *out,
                   mlt_req *done);
