// SPDX-License-Identifier: BSD-3-Clause
// A child that a rank forks has the rank's memory, but is no rank: what it would send or receive is
// the rank's own. It may ask whether MPI is initialised, print, exec and exit; any other call of
// MPI, and any of csp.h or flow.h, ends the job with a message. (A child of vfork or of a bare
// clone system call is not seen. POSIX allows it nothing but exec and _exit.)
#pragma once

#include <stdbool.h>

#include "p2p/p2p.h"

// The process is a child that was forked from a process of a job.
bool mlt_fork_is_child(void);

// The process was forked before the program joined the job: the one of the two that joins is the
// rank.
bool mlt_fork_was_early(void);

// The rank that forked this child; NULL: it is none, or no rank's.
mlt_rank *mlt_fork_rank(void);
