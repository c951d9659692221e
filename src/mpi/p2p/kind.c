// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/p2p/kind.h"

#include <mpi.h>
#include <stdio.h>

#include "base/log.h"
#include "boot/ctl.h"
#include "mpi/comm/comm.h"
#include "mpi/error/error.h"
#include "mpi/type/dtype.h"
#include "p2p/kind.h"

// "rank 0 sends MPI_DOUBLE (tag 3, MPI_COMM_WORLD), but the receive of rank 1 is of MPI_INT"
static void words_of(mlt_rank *me, const mlt_req *recv, const char *of, char *text, size_t size)
{
    const mlt_comm *comm = recv->owner;
    snprintf(text, size, "rank %d sends %s (tag %d, %s), but the receive%s of rank %d is of %s",
             (int)recv->from, mlt_type_coded(recv->sent_type)->name, (int)recv->got_tag,
             mlt_comm_name(me, comm), of, (int)comm->rank,
             mlt_type_coded(mlt_type_kind(recv->type))->name);
}

// Contexts of communicators are eight each, the first for the user's messages (comm.h); from here
// on there are others'.
static bool is_users(const mlt_req *recv)
{
    return recv->context % MLT_CONTEXTS == 0 && recv->context <= MLT_CONTEXT_ABROAD_LAST;
}

// The bytes that came are no whole number of what is received: they have no meaning at all there.
static bool is_torn(const mlt_req *recv)
{
    return recv->sent % mlt_type_coded(mlt_type_kind(recv->type))->size != 0;
}

void mlt_mpi_kind_differs(mlt_req *recv)
{
    char text[320];
    if (!recv->sent_type || !recv->sent || recv->status != MLT_OK || !is_users(recv))
        return;
    uint16_t sent = mlt_type_kind(mlt_type_coded(recv->sent_type)), own = mlt_type_kind(recv->type);
    if (!sent || !own || sent == own)
        return;
    if (mlt_kind_is_error() || is_torn(recv)) {
        recv->status = MLT_ERR_DISAGREE;
    } else if (mlt_kind_may_note(recv->rank->worker)) {
        words_of(recv->rank, recv, "", text, sizeof text);
        mlt_log(
            "note: %s; the bytes are the same, so it goes on. mpirun --strict makes that an error",
            text);
    }
}

int mlt_mpi_kind_code(mlt_rank *me, const mlt_req *recv, const char *of)
{
    char text[320];
    words_of(me, recv, of, text, sizeof text);
    if (is_torn(recv))
        return mlt_mpi_code(me, me->fn, MPI_ERR_TYPE,
                            "%s, and %llu byte%s that came are no whole number of these", text,
                            (unsigned long long)recv->sent, recv->sent == 1 ? "" : "s");
    return mlt_mpi_code(me, me->fn, MPI_ERR_TYPE, "%s; without mpirun --strict that is a note",
                        text);
}
