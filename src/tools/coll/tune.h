// SPDX-License-Identifier: BSD-3-Clause
// `millet tune`: a file of rules by what algorithms cost, measured here or simulated.
//
// A candidate is an algorithm with parameters. One half (tune_sim.c, tune_measure.c) fills in what
// each costs at each size; tune.c makes rules of it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/hosts/map.h"
#include "coll/choose.h"
#include "judge/sim/sim.h"
#include "tools/progress.h"

typedef struct mlt_tune_candidate {
    const mlt_coll_alg *alg;
    uint64_t segment; // 0: its own
    uint32_t radix;
    double *ns;         // [sizes]; below 0: it cannot do this size
    uint64_t *messages; // [sizes]; simulated ones only
} mlt_tune_candidate;

enum { MLT_TUNE_SIZES = 64, MLT_TUNE_CANDIDATES = 64 };

// One collective with one number of ranks.
typedef struct mlt_tune_case {
    mlt_collective collective;
    uint32_t ranks;
    const uint64_t *bytes; // [sizes] ascending
    uint32_t sizes;
    mlt_coll_hosts *hosts; // that the ranks are on; NULL: one
    bool threads, reads;   // what the ranks of a simulation are (coll/choose.h)
    int rule
        [MLT_TUNE_SIZES]; // the candidate that the built-in rules take; -1: none, or not asked for
    mlt_tune_candidate candidates[MLT_TUNE_CANDIDATES];
    uint32_t count;
    mlt_progress *progress;
    double done, share; // of the whole: before this case, and its part
} mlt_tune_case;

// The question that a call of that size asks.
mlt_coll_question mlt_tune_question(const mlt_tune_case *c, uint64_t bytes, uint8_t reach,
                                    bool crowded);

// Each fills in the candidates' ns.
// cluster: a described machine, which then counts instead of `machine`; or NULL.
void mlt_tune_simulate(mlt_tune_case *c, const mlt_loggops *machine,
                       const struct mlt_cluster *cluster);

// How ranks are started.
typedef struct mlt_tune_job {
    bool threads, crowded;
    const char *file;   // of the user's; NULL: none
    uint64_t budget_ms; // for a size, about
    const char *hosts;  // of mpirun --hosts; NULL: none
    char **mpirun;      // more options of mpirun, NULL at the end
} mlt_tune_job;
void mlt_tune_measure(mlt_tune_case *c, const mlt_tune_job *job);

// Asks a job of the case's ranks which host each of them is on: c->hosts, which stays.
void mlt_tune_locate(mlt_tune_case *c, const mlt_tune_job *job);
