// SPDX-License-Identifier: BSD-3-Clause
// Hints of windows.
#include <string.h>

#include "mpi/info/info.h"
#include "mpi/info/memkind.h"
#include "mpi/win/win.h"
#include "mpi_bodies.h"

static const char *const win_info_known[] = {
    "no_locks",
    "accumulate_ordering",
    "accumulate_ops",
    "same_size",
    "same_disp_unit",
    "mpi_accumulate_granularity",
    "alloc_shared_noncontig",
    "mpi_minimum_memory_alignment",
};

mlt_info *mlt_win_hints(const mlt_info *info)
{
    mlt_info *hints = NULL;
    for (size_t i = 0; info && i < sizeof win_info_known / sizeof *win_info_known; i++) {
        const char *value = mlt_info_get(info, win_info_known[i]);
        if (!value)
            continue;
        hints = hints ? hints : mlt_info_new();
        mlt_info_set(hints, win_info_known[i], value);
    }
    return hints;
}

int mlt_mpi_Win_set_info(mlt_rank *me, mlt_win *win, MPI_Info info)
{
    const mlt_info *hints = mlt_info_of(info);
    if (!hints)
        return mlt_win_raise(me, win, MPI_ERR_INFO,
                             "argument info is %p, but should be a valid info object",
                             (void *)info);
    mlt_win_notes *notes = mlt_win_notes_of(win);
    mlt_info *later = mlt_win_hints(hints);
    if (mlt_memkind_asserts(hints, mlt_info_get(notes->info, MLT_MEMKIND_KEY))) {
        later = later ? later : mlt_info_new();
        mlt_info_set(later, MLT_MEMKIND_ASSERT, mlt_info_get(hints, MLT_MEMKIND_ASSERT));
    }
    if (!notes->info)
        notes->info = later;
    else {
        for (int i = 0; later && i < mlt_info_count(later); i++) {
            const char *key = mlt_info_key(later, i);
            mlt_info_set(notes->info, key, mlt_info_get(later, key));
        }
        mlt_info_free(later);
    }
    return MPI_SUCCESS;
}

// What a hint is that nobody has given.
static const char *usual(const char *key)
{
    if (strcmp(key, "accumulate_ordering") == 0)
        return "rar,raw,war,waw";
    if (strcmp(key, "accumulate_ops") == 0)
        return "same_op_no_op";
    if (strcmp(key, "mpi_accumulate_granularity") == 0)
        return "0";
    return strcmp(key, "mpi_minimum_memory_alignment") == 0 ? NULL : "false";
}

// What holds whatever the program says: accumulates keep their order, may be of any operations, and
// take one guard for each piece that they work on.
static bool is_constant(const char *key)
{
    return strcmp(key, "accumulate_ordering") == 0 || strcmp(key, "accumulate_ops") == 0 ||
           strcmp(key, "mpi_accumulate_granularity") == 0;
}

// no_locks and the layout of shared memory hold as they were when the window was made.
static bool is_fixed(const char *key)
{
    return strcmp(key, "no_locks") == 0 || strcmp(key, "alloc_shared_noncontig") == 0;
}

int mlt_mpi_Win_get_info(mlt_rank *me, mlt_win *win, MPI_Info *info_used)
{
    mlt_info *info = mlt_info_new();
    const mlt_info *first = mlt_win_shared_of(win)->info,
                   *later = win->notes ? win->notes->info : NULL;
    for (size_t i = 0; i < sizeof win_info_known / sizeof *win_info_known; i++) {
        bool constant = is_constant(win_info_known[i]),
             fixed = constant || is_fixed(win_info_known[i]);
        const char *value = fixed ? NULL : mlt_info_get(later, win_info_known[i]);
        if (!value && !constant)
            value = mlt_info_get(first, win_info_known[i]);
        if (!value)
            value = usual(win_info_known[i]);
        if (value)
            mlt_info_set(info, win_info_known[i], value);
    }
    mlt_memkind_tell(info, mlt_info_get(later, MLT_MEMKIND_KEY), later);
    *info_used = mlt_info_handle(info);
    return MPI_SUCCESS;
}
