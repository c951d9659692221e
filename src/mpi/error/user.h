// SPDX-License-Identifier: BSD-3-Clause
// Error classes, codes and strings that the program adds.
//
// Their numbers are above MPI_ERR_LASTCODE, so they never meet Millet's own codes. The table is the
// process's, with a lock: ranks of one process add to the same one, each gets numbers of its own,
// and threads may call at any time. A number is used again after its removal, the lowest first.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "p2p/p2p.h"

// The class of a class or code of the program's; false: it has none of that number.
bool mlt_error_user_class(int code, int *class);

// Copies the string of a class or code of the program's, "" without one. False: no such number.
bool mlt_error_user_text(int code, char text[MPI_MAX_ERROR_STRING]);

// For error messages; never NULL. The memory stays readable, but shows another text if the string
// is removed or changed.
const char *mlt_error_user_sentence(int code);

// MPI_Remove_error_class and MPI_Remove_error_code.
int mlt_error_user_remove(mlt_rank *me, uint16_t fn, bool class, int code);
