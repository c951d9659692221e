// SPDX-License-Identifier: BSD-3-Clause
// A message for each error class, for codes whose own message is not kept (any more), and names of
// constants.
#pragma once

// "MPI_ERR_RANK: invalid rank"; never NULL.
const char *mlt_error_text(int class);

// "MPI_TAG_UB"; NULL: it is no predefined attribute's key.
const char *mlt_attr_key_text(int keyval);
