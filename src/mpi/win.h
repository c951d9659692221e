// SPDX-License-Identifier: BSD-3-Clause
// Windows: what every kind of them has. Nothing makes one yet, so no handle is a window's.
#ifndef MLT_MPI_WIN_H
#define MLT_MPI_WIN_H

#include <mpi.h>
#include <stdint.h>

#include "mpi/attr.h"
#include "mpi/handle.h"

enum { MLT_WIN_MAGIC = 0x0001d0e5 };

typedef struct mlt_win {
    uint32_t magic; // MLT_WIN_MAGIC while it lives
    mlt_rank *rank;
    MPI_Errhandler errhandler; // predefined or a mlt_errhandler; a counted reference
    mlt_attrs attrs;
    char *name; // malloc's; NULL: none
} mlt_win;

// NULL: MPI_WIN_NULL or a bad handle, for which mlt_bad_win raises MPI_ERR_WIN.
static inline mlt_win *mlt_win_of(MPI_Win handle)
{
    uintptr_t h = (uintptr_t)handle;
    mlt_win *win = (mlt_win *)h;
    return mlt_handle_is_address(h) && win->magic == MLT_WIN_MAGIC ? win : NULL;
}

int mlt_bad_win(mlt_rank *me, MPI_Win handle) MLT_COLD;

#endif
