// SPDX-License-Identifier: BSD-3-Clause
// What a failed call returns to the program. An error handler of the program's may change the code
// that it is given, and the call then returns that, MPI_SUCCESS included. Inside, the error stays an
// error: a body that has raised one must not go on. So the answer is kept beside the message of the
// error, by its slot (error.h), and the surface exchanges the code for it at the very end: in the
// detour, by which all calls go once the program has made an error handler; in functions that null a
// handle, after that; and in the checks before the body, by
// mlt_refuse_X, which the generator makes of each mlt_bad_X.
//
// Everything here is cold.
#pragma once

#include <mpi.h>

#include "base/status.h"
#include "p2p/p2p.h"

// A handler was given `code` and has made `answer` of it. Returns the code to go on with inside.
int mlt_mpi_set_answer(mlt_rank *me, int code, int answer) MLT_COLD;

// What the program gets for a code, once; me may be NULL.
int mlt_mpi_answer(mlt_rank *me, int code) MLT_COLD;
