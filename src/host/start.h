// SPDX-License-Identifier: BSD-3-Clause
// Threads that ranks start, and to which rank each belongs.
#pragma once

#include "p2p/p2p.h"

// The rank that the calling thread belongs to, whether it may call MPI or not: its own, the
// process's only one, or that of the thread that started it. NULL: none is known.
mlt_rank *mlt_thread_rank(void);

// The same, if that rank shares its process and has not ended. NULL: what libc has is right.
mlt_rank *mlt_thread_sharer(void);
