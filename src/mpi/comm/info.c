// SPDX-License-Identifier: BSD-3-Clause
// Hints of communicators. Millet keeps those that it knows and tells them back. Those of
// collectives (mpi/coll/change.h) are rules; no other one changes what it does so far.
#include <string.h>

#include "mpi/coll/change.h"
#include "mpi/comm/shared.h"
#include "mpi/info/info.h"
#include "mpi/info/memkind.h"
#include "mpi_bodies.h"

// The names, and what holds if the user says nothing.
static const struct {
    const char *key, *otherwise;
} comm_info_known[] = {
    {"mpi_assert_no_any_tag", "false"},
    {"mpi_assert_no_any_source", "false"},
    {"mpi_assert_exact_length", "false"},
    {"mpi_assert_allow_overtaking", "false"},
    {"mpi_assert_strict_start_ordering", "false"},
};

enum { COMM_INFO_KNOWN = sizeof comm_info_known / sizeof *comm_info_known };

// The keys of `from` that communicators know, into *to, which is made if it is NULL.
static void take_known(mlt_info **to, const mlt_info *from)
{
    for (int i = 0; i < mlt_info_count(from); i++) {
        const char *key = mlt_info_key(from, i);
        bool is_known = mlt_coll_key(key) != MLT_COLLECTIVES;
        is_known |= strcmp(key, MLT_MEMKIND_ASSERT) == 0;
        for (int k = 0; k < COMM_INFO_KNOWN && !is_known; k++)
            is_known = strcmp(key, comm_info_known[k].key) == 0;
        if (!is_known)
            continue;
        if (!*to)
            *to = mlt_info_new();
        mlt_info_set(*to, key, mlt_info_get(from, key));
    }
}

struct mlt_info *mlt_comm_hints(const struct mlt_info *info)
{
    mlt_info *hints = NULL;
    take_known(&hints, info);
    return hints;
}

int mlt_mpi_Comm_set_info(mlt_rank *me, mlt_comm *comm, MPI_Info info)
{
    const mlt_info *given = mlt_info_of(info);
    if (!given)
        return mlt_bad_info(me, comm, me->fn, info);
    int code = mlt_coll_info_set(me, comm, given);
    if (code != MPI_SUCCESS)
        return code;
    mlt_info *hints = mlt_comm_hints(given);
    if (hints && !mlt_memkind_asserts(hints, mlt_memkind_of_comm(comm)))
        mlt_info_delete(hints, MLT_MEMKIND_ASSERT); // what was asserted before stays
    if (hints)
        take_known(&mlt_comm_extra_of(comm)->info, hints);
    mlt_info_free(hints);
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_get_info(mlt_rank *me, mlt_comm *comm, MPI_Info *info_used)
{
    mlt_info *info = mlt_info_new();
    for (int i = 0; i < COMM_INFO_KNOWN; i++)
        mlt_info_set(info, comm_info_known[i].key, comm_info_known[i].otherwise);
    const mlt_info *hints = comm->extra ? comm->extra->info : NULL;
    if (hints)
        take_known(&info, hints);
    mlt_info_delete(info, MLT_MEMKIND_ASSERT); // unless it is in the answer
    mlt_memkind_tell(info, mlt_memkind_of_comm(comm), hints);
    *info_used = mlt_info_handle(info);
    return MPI_SUCCESS;
}
