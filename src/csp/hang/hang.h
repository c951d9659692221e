// SPDX-License-Identifier: BSD-3-Clause
// What a worker's processes wait for, in lines for hang reports: each process with its channel,
// alternation or barrier, who could serve it as far as that is known, and a cycle if there is one.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "csp/state.h"
#include "p2p/worker.h"

// mlt_upcalls.procs.
size_t mlt_csp_procs(const mlt_worker *worker, char *text, size_t size);

// Whole lines that begin with two spaces, at most `size` bytes (a 0 at the end is not counted);
// returns how many. Bounded in length and nearly linear in processes, whatever their number.
size_t mlt_csp_hang_lines(const mlt_csp *csp, char *text, size_t size);

// For how much processor time lines of many processes are made. The others are counted.
// Tests set it.
extern uint64_t mlt_csp_hang_patience_ns;
