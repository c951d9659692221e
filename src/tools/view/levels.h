// SPDX-License-Identifier: BSD-3-Clause
// Levels of detail: what most of the time went to, for groups of ranks and slices of the run. A page that shows a
// million ranks on a thousand lines of pixels reads as many cells as it has pixels.
//
// A level has rows of 2^shift ranks each and a pyramid over them: 2^log slices of the whole run for each row, then
// half as many, down to one. A cell has two bytes, the lower one first:
//
//     the state that took most of it | the second one << 5 | the share of the first, of 63, << 10
//
// States are those of causes.h; MLT_LEVEL_OUTSIDE: ranks had not begun, or had ended.
#pragma once

#include "base/text.h"
#include "tools/trace/causes.h"

enum {
    MLT_LEVEL_OUTSIDE = MLT_DOES_COUNT,
    MLT_LEVELS_MOST = 16,
    MLT_LEVEL_STEP = 2, // rows of a level have four times the ranks of the one before
};
_Static_assert(MLT_LEVEL_OUTSIDE < 32, "a cell has five bits for a state");

typedef struct mlt_zoom_level {
    uint32_t shift, rows, log;
    uint64_t at; // in the data: row after row of the finest slices, then of the next
} mlt_zoom_level;

// Adds the levels of a run to the data. Returns how many; the one with the smallest groups comes first.
int mlt_levels_write(const mlt_causes *causes, mlt_text *data,
                     mlt_zoom_level levels[MLT_LEVELS_MOST]);
