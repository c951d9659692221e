// SPDX-License-Identifier: BSD-3-Clause
// Hints of communicators. Millet keeps those that it knows and tells them back; none of them
// changes what it does so far.
#include "mpi/comm_int.h"
#include "mpi/error.h"
#include "mpi/info.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

// The names, and what holds if the user says nothing.
static const struct {
    const char *key, *otherwise;
} known[] = {
    {"mpi_assert_no_any_tag", "false"},
    {"mpi_assert_no_any_source", "false"},
    {"mpi_assert_exact_length", "false"},
    {"mpi_assert_allow_overtaking", "false"},
    {"mpi_assert_strict_start_ordering", "false"},
};

enum { KNOWN = sizeof known / sizeof *known };

struct mlt_info *mlt_comm_hints(const struct mlt_info *info)
{
    mlt_info *hints = NULL;
    for (int i = 0; i < KNOWN; i++) {
        const char *value = mlt_info_get(info, known[i].key);
        if (!value)
            continue;
        if (!hints)
            hints = mlt_info_new();
        mlt_info_set(hints, known[i].key, value);
    }
    return hints;
}

int mlt_mpi_Comm_set_info(mlt_rank *me, mlt_comm *comm, MPI_Info info)
{
    const mlt_info *given = mlt_info_of(info);
    if (!given)
        return mlt_bad_info(me, comm, me->fn, info);
    for (int i = 0; i < KNOWN; i++) {
        const char *value = mlt_info_get(given, known[i].key);
        if (!value)
            continue;
        mlt_comm_extra *extra = mlt_comm_extra_of(comm);
        if (!extra->info)
            extra->info = mlt_info_new();
        mlt_info_set(extra->info, known[i].key, value);
    }
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_get_info(mlt_rank *me, mlt_comm *comm, MPI_Info *info_used)
{
    mlt_info *info = mlt_info_new();
    for (int i = 0; i < KNOWN; i++) {
        const char *value = comm->extra ? mlt_info_get(comm->extra->info, known[i].key) : NULL;
        mlt_info_set(info, known[i].key, value ? value : known[i].otherwise);
    }
    *info_used = mlt_info_handle(info);
    return MPI_SUCCESS;
}
