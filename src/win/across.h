// SPDX-License-Identifier: BSD-3-Clause
// Operations on memory of another process of this host that cannot be mapped: what the user gave to
// MPI_Win_create. The kernel copies it from process to process (process_vm_readv and the like). The
// target's descriptor is mapped, with its guard, so accumulates are read, changed and written back by the
// origin; the target takes no part.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "win/op.h"
#include "win/part.h"

// No side has gaps. `at`: the address in the target's process; done: bytes of an accumulate that
// are done already. MLT_ERR_UNSUPPORTED: the system
// refuses, and nothing was done. MLT_ERR_SYSTEM: not all of that memory is there.
mlt_status mlt_win_do_across(mlt_win_part *part, const mlt_win_peer *peer,
                             mlt_win_descriptor *descriptor, const mlt_win_call *call, uint64_t at,
                             uint64_t done) MLT_MUST_CHECK;

pid_t mlt_win_process_of(const mlt_win_part *part, const mlt_win_peer *peer);
