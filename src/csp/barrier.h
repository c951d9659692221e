// SPDX-License-Identifier: BSD-3-Clause
// A barrier: the offers of those who wait, and how many are waited for.
#pragma once

#include <millet/csp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "csp/alt.h"
#include "csp/state.h"

struct csp_barrier {
    uint32_t magic; // MLT_BARRIER_MAGIC
    size_t enrolled;
    size_t present;        // offers in the queue, be they of alternations that are settled already
    mlt_list_node waiting; // offers
    mlt_csp *csp;
    mlt_list_node all; // in csp->barriers
    uint64_t number;
    char name[40];     // "": by its number
    mlt_csp_wait wait; // of all that wait here and nowhere else
};

enum { MLT_BARRIER_MAGIC = 0x62617272 };

// Ends the program with a message if it is none of this worker's, or nobody is enrolled.
void mlt_barrier_check(const mlt_csp *csp, const csp_barrier *barrier, const char *call);

// Completes the barrier if everybody except the caller has come: settles all others, and returns
// true. `self` is the caller's offer; NULL: it has none in the queue.
bool mlt_barrier_try(csp_barrier *barrier, const mlt_offer *self);

void mlt_barrier_wait(csp_barrier *barrier, mlt_offer *offer);     // into the queue
void mlt_barrier_withdraw(csp_barrier *barrier, mlt_offer *offer); // out of it, if it is there

// Frees those that are left when the worker's ranks have ended.
void mlt_barriers_end(mlt_csp *csp);

// "start" or "barrier 7". Returns text.
const char *mlt_barrier_name(const csp_barrier *barrier, char *text, size_t size);
