// SPDX-License-Identifier: BSD-3-Clause
// One buffer's contents as symbols: pieces in order, without overlap; what no piece covers is as it
// was before.
#pragma once

#include <stdint.h>

#include "judge/check/value.h"

typedef struct mlt_cells_piece {
    uint64_t from, to; // bytes of the buffer
    uint64_t offset;   // of the value at `from`
    uint32_t value;
    uint32_t writer; // action of this rank; MLT_GOAL_NONE: there before
} mlt_cells_piece;

typedef struct mlt_cells {
    mlt_cells_piece *piece;
    uint64_t count, room;
} mlt_cells;

// A row of values: what was read, what is under way, what is to be written.
typedef struct mlt_value_run {
    uint64_t length, offset;
    uint32_t value;
} mlt_value_run;

typedef struct mlt_value_runs {
    mlt_value_run *run;
    uint64_t count, room;
} mlt_value_runs;

// Appends; joins what continues the last run.
void mlt_value_runs_add(mlt_value_runs *runs, uint64_t length, uint32_t value, uint64_t offset);

// Appends bytes from..to-1 to runs; bytes that were never written have the value `before`, by their
// place. used[writer] becomes 1 for each piece that was met; NULL: it is not asked.
void mlt_cells_read(const mlt_cells *cells, uint64_t from, uint64_t to, uint32_t before,
                    uint8_t *used, mlt_value_runs *runs);
void mlt_cells_write(mlt_cells *cells, uint64_t from, const mlt_value_runs *runs, uint32_t writer);
