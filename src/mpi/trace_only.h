// SPDX-License-Identifier: BSD-3-Clause
// mpirun --trace-only: which ranks and which calls a trace keeps. A list with commas: ranks (3, 0-7),
// functions (MPI_Send), and kinds of them: p2p, coll, rma. Without a rank all ranks are kept, without a
// function or kind all calls. What happens inside a call is kept if the call is.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Reads such a list; "": keeps everything. On failure what is wrong in `why`.
mlt_status mlt_trace_only_read(const char *list, char *why, size_t why_size) MLT_MUST_CHECK;

extern bool mlt_trace_only_some; // false: everything is kept

bool mlt_trace_only_rank(uint32_t rank);
bool mlt_trace_only_call(uint16_t fn);
