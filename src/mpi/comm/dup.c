// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_dup and the like, MPI_Comm_free.
//
// Attributes are copied before the ranks meet, by each rank for itself. A copy function that fails
// makes the call fail on that rank only; it meets the others all the same, for they wait for it,
// but gets no communicator, and no request either. Hints are not copied (since MPI 4.0).
#include <stdlib.h>

#include "base/memory.h"
#include "mpi/coll/change.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/p2p/request.h"
#include "mpi/topo/topo.h"
#include "mpi_bodies.h"

typedef struct dup_participant {
    mlt_participant participant;
    mlt_comm *old, *new;
    mlt_comm_extra *extra; // of the new one; NULL: none
    MPI_Comm *place;       // nonblocking: where the handle goes
    bool failed;           // the rank comes for the others' sake
} dup_participant;

static void finish_dup(mlt_agreement *agreement)
{
    mlt_comm_shared *old = ((dup_participant *)agreement->participants)->old->shared, *new = NULL;
    if (agreement->context) {
        new = mlt_comm_shared_new(mlt_context_join(agreement->worker, agreement->context),
                                  mlt_map_hold(old->group[0]),
                                  old->group[1] ? mlt_map_hold(old->group[1]) : NULL);
        new->members = mlt_members_hold(agreement->place.members);
        new->topo = mlt_topo_hold(old->topo);
        new->refs++; // until the end: all ranks may have failed
    }
    for (mlt_participant *g = agreement->participants; g; g = g->next) {
        dup_participant *d = (dup_participant *)g;
        if (new && !d->failed) {
            d->new = mlt_comm_new(g->rank, new, d->old->side, d->old->rank, d->old);
            d->new->topo = mlt_topo_hold(d->old->topo);
            if (d->extra) {
                if (d->new->extra)
                    d->extra->session = d->new->extra->session;
                free(d->new->extra);
                d->new->extra = d->extra;
            }
        }
        if (d->place && d->new)
            *d->place = (MPI_Comm)d->new;
        else if (d->place) { // of the user's functions none can be called here
            mlt_comm_extra_free(g->rank, d->extra);
            g->req->status = MLT_ERR_NOT_FOUND;
        }
        mlt_comm_drop(d->old);
    }
    mlt_comm_shared_drop(new);
}

// What the new communicator has of its own: attributes, and the hints of `info`.
static int copy_extra(mlt_rank *me, mlt_comm *old, const mlt_info *info, mlt_comm_extra **out)
{
    const mlt_comm_extra *from = old->extra;
    *out = NULL;
    if (!info && !(from && from->attrs.first))
        return MPI_SUCCESS;
    mlt_comm_extra *extra = mlt_xcalloc(1, sizeof *extra);
    extra->info = info ? mlt_comm_hints(info) : NULL;
    int code = MPI_SUCCESS;
    if (from && from->attrs.first)
        code = mlt_attrs_copy(me, MLT_ATTR_COMM, mlt_comm_handle(me, old), &from->attrs,
                              &extra->attrs);
    if (code == MPI_SUCCESS)
        *out = extra;
    else
        mlt_comm_extra_free(me, extra);
    return code;
}

static int check_hints(mlt_rank *me, mlt_comm *comm, MPI_Info info)
{
    const mlt_info *hints = mlt_info_of(info);
    if (info != MPI_INFO_NULL && !hints)
        return mlt_bad_info(me, comm, me->fn, info);
    return mlt_coll_info_check(me, comm, hints);
}

int mlt_mpi_Comm_dup_with_info(mlt_rank *me, mlt_comm *comm, MPI_Info info, MPI_Comm *newcomm)
{
    dup_participant d = {.old = comm};
    int code = check_hints(me, comm, info);
    if (code != MPI_SUCCESS)
        return code;
    code = copy_extra(me, comm, mlt_info_of(info), &d.extra);
    d.failed = code != MPI_SUCCESS;
    mlt_comm_hold(comm);
    mlt_comm_meet(comm, &d.participant, true, finish_dup, NULL, 0);
    if (code != MPI_SUCCESS)
        return mlt_attrs_raise(me, comm, code);
    if (!d.new) {
        mlt_comm_extra_free(me, d.extra);
        return mlt_comm_no_context(me, comm);
    }
    *newcomm = (MPI_Comm)d.new;
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_idup_with_info(mlt_rank *me, mlt_comm *comm, MPI_Info info, MPI_Comm *newcomm,
                                MPI_Request *request)
{
    int code = check_hints(me, comm, info);
    if (code != MPI_SUCCESS)
        return code;
    dup_participant *d = mlt_xcalloc(1, sizeof *d);
    code = copy_extra(me, comm, mlt_info_of(info), &d->extra);
    *newcomm = MPI_COMM_NULL;
    *request = MPI_REQUEST_NULL;
    d->participant.heap = true;
    d->old = comm;
    d->failed = code != MPI_SUCCESS;
    if (!d->failed) {
        mlt_req *req = mlt_req_new(me);
        mlt_req_fill_other(req, me, comm);
        mlt_req_hold(req);
        d->participant.req = req;
        d->place = newcomm;
        *request = mlt_req_handle(req);
    }
    mlt_comm_hold(comm);
    mlt_comm_meet(comm, &d->participant, true, finish_dup, NULL, 0);
    return code == MPI_SUCCESS ? code : mlt_attrs_raise(me, comm, code);
}

int mlt_mpi_Comm_free(mlt_rank *me, MPI_Comm *handle)
{
    mlt_comm *comm = mlt_comm_of(me, *handle);
    if (!comm)
        return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_COMM, "comm", "communicator",
                              (uintptr_t)*handle);
    if (*handle == MPI_COMM_WORLD || *handle == MPI_COMM_SELF)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                             "argument comm is %s, which is predefined and cannot be freed",
                             mlt_comm_name(me, comm));
    int code = mlt_comm_free(me, comm);
    if (code != MPI_SUCCESS)
        return mlt_attrs_raise(me, comm, code);
    *handle = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
