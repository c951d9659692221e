// SPDX-License-Identifier: BSD-3-Clause
// dlopen, dlsym and their like for ranks that have their own globals: a rank gets its own image of
// what it loads, and its own addresses (image/late.h).
//
// Handles are the system's. The system loads a library once, for whichever rank asks first; that is
// the original, which belongs to the process's first rank. For each other rank its image is made when
// the rank calls dlopen, and its constructors run then. When a rank has closed it as often as it
// opened it, its destructors run; what was mapped stays.
//
// We must keep the system from running constructors of the original for another rank than the first:
// a library is loaded by a prelude (image/prelude.h), whose own constructor comes before them.
//
// A rank's threads may call all of these, too. A caller that is no rank's, and every caller in a
// process of one rank, gets the system's functions as if this library were not there.
#pragma once

#include "p2p/p2p.h"

// On a thread that the rank has started: its thread-local variables of what the rank has loaded.
void mlt_dl_thread(const mlt_rank *me);

// The rank ends: runs destructors of what it has not closed, if they are to run at all.
void mlt_dl_rank_ends(const mlt_rank *me, bool destruct);
