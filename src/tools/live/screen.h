// SPDX-License-Identifier: BSD-3-Clause
// The screen of `millet top`. It is made of the snapshots of one interval: rates from the first and the
// last, and from all of them how often ranks were found waiting, and where.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "launch/live/snap.h"

typedef struct mlt_screen_view { // of one moment
    mlt_live_job job;
    mlt_live_snap snap;
    mlt_live_sum sum;
} mlt_screen_view;

// What mpirun answers to GET /snapshot. Its `snap` is freed by
// mlt_live_snap_fini. False: it is none, and there is nothing to free.
bool mlt_screen_read(mlt_screen_view *view, const void *bytes, size_t length) MLT_MUST_CHECK;

// Where ranks were found in an interval. All zero: nowhere so far.
typedef struct mlt_screen_tally {
    mlt_live_snap names; // only its calls
    uint64_t *waits;     // [call_room of names]
    uint64_t looked;     // ranks, in all looks
} mlt_screen_tally;

void mlt_screen_count(mlt_screen_tally *tally, const mlt_screen_view *view);
void mlt_screen_tally_fini(mlt_screen_tally *tally);

void mlt_screen_print(const mlt_screen_view *now, const mlt_screen_view *before,
                      const mlt_screen_tally *tally, FILE *out);

// The part of it that a terminal shows: lines that wrap, or scroll the first ones away, show less.
void mlt_screen_cut(const char *text, size_t size, uint32_t columns, uint32_t rows, FILE *out);
