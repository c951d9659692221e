// SPDX-License-Identifier: BSD-3-Clause
// A sentence for each error class, for codes whose own sentence is not kept (any more).
#ifndef MLT_MPI_ERROR_TEXT_H
#define MLT_MPI_ERROR_TEXT_H

// "MPI_ERR_RANK: invalid rank"; never NULL.
const char *mlt_error_text(int class);

#endif
