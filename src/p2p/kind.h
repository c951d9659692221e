// SPDX-License-Identifier: BSD-3-Clause
// Data that are received as another kind than they were sent as: MPI_DOUBLE as MPI_INT, MPI_LONG as
// MPI_INT64_T. The bytes arrive, and programs that run with other MPIs rely on that. So Millet only
// prints a note, once in the job; the setting type_mismatch makes it an error.
#pragma once

#include <stdbool.h>

#include "base/status.h"
#include "p2p/p2p.h"
#include "p2p/settings.h"

static inline bool mlt_kind_is_error(void)
{
    return mlt_conf.type_mismatch == MLT_MISMATCH_ERROR;
}

// True if nobody in the job has printed the note yet: the caller does now. Never with `ignore`.
bool mlt_kind_may_note(const mlt_worker *worker) MLT_COLD;
