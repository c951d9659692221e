// SPDX-License-Identifier: BSD-3-Clause
// Counts of what ranks do besides sending messages, for --report and for tools. Operations on
// windows are counted by the surface's detour, partitioned messages by a start whose worker is
// watched or whose job wants a report. So neither costs anything where nobody asks.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "p2p/p2p.h"
#include "type/type.h"

struct mlt_win;

// A call has put, got or accumulated (`op`: MLT_CTL_PUTS, ...) so much at a rank of the window.
void mlt_count_one_sided(mlt_rank *me, int op, const struct mlt_win *win, int target,
                         MPI_Count count, const mlt_type *type) MLT_COLD;

// A partitioned message to or from that worker, the rank's own perhaps, was started.
void mlt_count_partitioned(mlt_rank *me, bool sends, uint32_t other, uint32_t partitions,
                           uint64_t bytes) MLT_COLD;
