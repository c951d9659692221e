// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/win.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/error/error.h"
#include "mpi_bodies.h"

int mlt_bad_win(mlt_rank *me, MPI_Win handle)
{
    return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_WIN, "win", "window", (uintptr_t)handle);
}

int mlt_mpi_Win_set_name(mlt_rank *me, MPI_Win win, const char *win_name)
{
    mlt_win *w = mlt_win_of(win);
    if (!w)
        return mlt_bad_win(me, win);
    char *copy = strndup(win_name, MPI_MAX_OBJECT_NAME - 1);
    if (!copy)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_NO_MEM, MLT_NO_ROOM "a name");
    free(w->name);
    w->name = copy;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_get_name(mlt_rank *me, MPI_Win win, char *win_name, int *resultlen)
{
    const mlt_win *w = mlt_win_of(win);
    if (!w && win != MPI_WIN_NULL)
        return mlt_bad_win(me, win);
    const char *name = !w ? "MPI_WIN_NULL" : w->name ? w->name : "";
    *resultlen = (int)strlen(name);
    memcpy(win_name, name, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}
