// SPDX-License-Identifier: BSD-3-Clause
// --gpus: which GPUs of its host each rank gets.
//
//     --gpus N       N for each rank
//     --gpus LIST    one of these for each: 0,2,3 or 0-3; one alone is 2,
//     --gpus auto    the host's, divided among its ranks; at least one for each
//     --gpus none    none for anybody
//
// GPUs are dealt like cards: a host's ranks take N each, in the order of their numbers, and from the
// first one again when there are not enough left. A section goes on where the one before has stopped.
// So each host deals its own, and its agent does it: nobody else knows how many it has.
//
// A host has as many as this process may open (/dev/nvidia0 and so on; without such files, as the
// driver has a folder for in /proc): no library of CUDA's is loaded. If the ranks would have
// CUDA_VISIBLE_DEVICES, those that it names are dealt, and a LIST counts among them, as CUDA does.
//
// A process is told by CUDA_VISIBLE_DEVICES which GPUs its ranks have, its first rank's first; and a
// rank by MILLET_GPU_DEVICE which of these are its own: numbers for cudaSetDevice. Where several ranks
// share a process, MILLET_GPU_DEAL, "KINDS,EACH", tells the library how to find those of each
// (host/libc/environ.h): rank i of the process has EACH, from number (i mod KINDS) * EACH on.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "launch/plan/env.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"

enum { MLT_DEAL_MOST = 64 }; // GPUs of a host

// Whether the text is one that --gpus may have; if not, a message in why that could follow "--gpus ".
bool mlt_deal_known(const char *text, char *why, size_t why_size);

// What one process gets.
typedef struct mlt_deal_part {
    bool said;             // --gpus says something about its section
    const mlt_texts *all;  // names of GPUs, as CUDA_VISIBLE_DEVICES has them
    size_t first;          // ... where those begin that are dealt
    uint32_t groups, each; // so many groups of so many are dealt; 0: no GPU for anybody
    uint32_t group;        // of the first rank; that of the next one is the next, round and round
} mlt_deal_part;

typedef struct mlt_deal {
    mlt_deal_part *parts; // of the host's processes, in their order
    uint32_t count;
    mlt_texts names;
} mlt_deal;

// Deals for one host of the plan, this one; the deal stays where it is. False: there are not enough, and a message in why.
bool mlt_deal_make(mlt_deal *deal, const mlt_options *options, const mlt_placement *plan,
                   uint32_t host, char *why, size_t why_size);
void mlt_deal_free(mlt_deal *deal);

// Tells a process of so many ranks by its environment. `texts` are the caller's: all NULL at first,
// then those that the environment of the process before has, which are freed.
enum { MLT_DEAL_VARIABLES = 3 };
void mlt_deal_put(const mlt_deal_part *part, uint32_t ranks, mlt_env *env,
                  char *texts[MLT_DEAL_VARIABLES]);

// "GPU 1", "GPUs 2, 3", "no GPU": what rank i of the process has.
void mlt_deal_rank_text(const mlt_deal_part *part, uint32_t i, mlt_text *text);

// The same of all of its ranks together.
void mlt_deal_text(const mlt_deal_part *part, uint32_t ranks, mlt_text *text);
