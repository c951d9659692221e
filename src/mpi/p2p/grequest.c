// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/p2p/grequest.h"

#include <stdint.h>

#include "mpi/error/error.h"
#include "mpi/fortran.h"
#include "mpi/p2p/status.h"
#include "mpi/registry.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"

// mlt_req.extra.
typedef struct grequest {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *state;  // Fortran's: where the program has it
    bool fortran; // the functions get everything by its address
} grequest;

typedef void fortran_query(void *state, MPI_Status *status, MPI_Fint *ierror);
typedef void fortran_free(void *state, MPI_Fint *ierror);
typedef void fortran_cancel(void *state, int *complete, MPI_Fint *ierror);

// Called in the language of the program.
static int call_query(grequest *g, MPI_Status *status)
{
    MPI_Fint code = MPI_SUCCESS;
    if (!g->fortran)
        return g->query(g->state, status);
    ((fortran_query *)(uintptr_t)g->query)(g->state, status, &code);
    return code;
}

static int call_free(grequest *g)
{
    MPI_Fint code = MPI_SUCCESS;
    if (!g->fortran)
        return g->free(g->state);
    ((fortran_free *)(uintptr_t)g->free)(g->state, &code);
    return code;
}

static int call_cancel(grequest *g, int complete)
{
    MPI_Fint code = MPI_SUCCESS;
    if (!g->fortran)
        return g->cancel(g->state, complete);
    ((fortran_cancel *)(uintptr_t)g->cancel)(g->state, &complete, &code);
    return code;
}

static mlt_registry grequests = MLT_REGISTRY_INIT(grequest);

int mlt_grequest_query(mlt_rank *me, mlt_req *req, MPI_Status *status)
{
    grequest *g = req->extra;
    MPI_Status ignored = {.MPI_ERROR = MPI_SUCCESS};
    if (status == MPI_STATUS_IGNORE)
        status = &ignored;
    mlt_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false); // unless the function says more
    mlt_outside outside = mlt_thread_step_out(me);
    int code = call_query(g, status);
    mlt_thread_step_in(me, outside);
    return code;
}

int mlt_grequest_free(mlt_rank *me, mlt_req *req)
{
    grequest *g = req->extra;
    mlt_outside outside = mlt_thread_step_out(me);
    int code = call_free(g);
    mlt_thread_step_in(me, outside);
    req->extra = NULL;
    mlt_registry_give(&grequests, g);
    return code;
}

int mlt_grequest_finish(mlt_rank *me, mlt_req *req, MPI_Status *status)
{
    int queried = mlt_grequest_query(me, req, status), freed = mlt_grequest_free(me, req);
    return freed != MPI_SUCCESS ? freed : queried;
}

int mlt_grequest_cancel(mlt_rank *me, mlt_req *req)
{
    grequest *g = req->extra;
    int complete = req->done; // another thread may complete it meanwhile
    mlt_outside outside = mlt_thread_step_out(me);
    int code = call_cancel(g, complete);
    mlt_thread_step_in(me, outside);
    return code;
}

int mlt_mpi_Grequest_start(mlt_rank *me, MPI_Grequest_query_function *query_fn,
                           MPI_Grequest_free_function *free_fn,
                           MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
                           MPI_Request *request)
{
    if (!query_fn || !free_fn || !cancel_fn)
        return mlt_bad_null(me, NULL, me->fn, MPI_ERR_ARG,
                            !query_fn  ? "query_fn"
                            : !free_fn ? "free_fn"
                                       : "cancel_fn",
                            "a function");
    grequest *g = mlt_registry_take(&grequests);
    *g = (grequest){query_fn, free_fn, cancel_fn, extra_state, false};
    mlt_req *req = mlt_req_new(me);
    mlt_req_fill_other(req, me, mlt_comm_self(me));
    req->flags = MLT_REQF_GENERALIZED;
    req->extra = g;
    *request = mlt_req_handle(req);
    return MPI_SUCCESS;
}

void mlt_fortran_mark_grequest(MPI_Request request)
{
    mlt_req *req = mlt_req_of(request);
    if (req && req->flags & MLT_REQF_GENERALIZED)
        ((grequest *)req->extra)->fortran = true;
}

// Any rank of the worker may complete it, as any thread of a process may elsewhere; the one that
// waits is woken.
int mlt_mpi_Grequest_complete(mlt_rank *me, MPI_Request request)
{
    mlt_req *req = mlt_req_of(request);
    if (!req)
        return mlt_req_bad(me, -1, request);
    if (!(req->flags & MLT_REQF_GENERALIZED))
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_REQUEST,
                             "argument request is a request of %s, but should be one of "
                             "MPI_Grequest_start",
                             mlt_fn_name(req->fn));
    if (req->rank->worker != me->worker)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_REQUEST,
                             "argument request is a request of rank %d, which another thread runs, "
                             "but should be one of rank %d or of a rank that shares its thread",
                             (int)req->rank->world, (int)me->world);
    if (req->done)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_REQUEST,
                             "argument request is complete already; a generalized request is "
                             "completed once");
    bool freed = req->flags & MLT_REQF_FREED;
    mlt_req_complete(req);
    if (!freed)
        return MPI_SUCCESS;
    int code = mlt_grequest_free(me, req);
    mlt_req_free(req);
    return code == MPI_SUCCESS ? code : mlt_mpi_raise_code(me, NULL, me->fn, code);
}
