// SPDX-License-Identifier: BSD-3-Clause
// A message for each error class, for codes whose own message is not kept (any more).
#pragma once

// "MPI_ERR_RANK: invalid rank"; never NULL.
const char *mlt_error_text(int class);
