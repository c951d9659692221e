// SPDX-License-Identifier: BSD-3-Clause
// MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name: names of texts, at the name server if one
// is used, so that other jobs find them, else within the job. Their names are apart from those of
// ports and channels: they begin with "mpi:".
//
// A published name goes when its worker ends, if it was not unpublished before.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "csp/names/names.h"
#include "csp/net/remote.h"
#include "csp/state.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "mpi_fn.h"
#include "p2p/worker.h"

_Static_assert(MPI_MAX_PORT_NAME <= MLT_NAME_TEXT, "a port's name is a text");

static const char names_prefix[] = "mpi:";
enum { SERVICE_MOST = MLT_NAME_MOST - (sizeof names_prefix - 1) };

// What all three begin with: the arguments are fine, and there are names. Fills in the name.
static int names_begin(mlt_rank *me, const char *service, MPI_Info info, mlt_name *name,
                       mlt_csp **csp, const mlt_names_ops **ops)
{
    size_t bytes = strnlen(service, SERVICE_MOST + 1);
    if (info != MPI_INFO_NULL && !mlt_info_of(info))
        return mlt_bad_info(me, NULL, me->fn, info);
    if (bytes == 0 || bytes > SERVICE_MOST)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_SERVICE,
                             "argument service_name has %s%d characters, but should have 1 to %d",
                             bytes ? "more than " : "", bytes ? (int)SERVICE_MOST : 0,
                             (int)SERVICE_MOST);
    memset(name, 0, sizeof *name);
    snprintf(name->name, sizeof name->name, "%s%s", names_prefix, service);
    *csp = me->worker->sched->gate ? mlt_csp_for_threads(me->worker)
                                   : mlt_csp_enter(mlt_fn_table[me->fn].name);
    *ops = mlt_names_of(*csp);
    if (!*ops)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_OTHER, "%s", (*csp)->why);
    return MPI_SUCCESS;
}

int mlt_mpi_Publish_name(mlt_rank *me, const char *service_name, MPI_Info info,
                         const char *port_name)
{
    mlt_csp *csp;
    const mlt_names_ops *ops;
    mlt_name name;
    size_t bytes = strnlen(port_name, MPI_MAX_PORT_NAME);
    if (bytes == MPI_MAX_PORT_NAME)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_PORT,
                             "argument port_name has more than %d characters",
                             MPI_MAX_PORT_NAME - 1);
    int code = names_begin(me, service_name, info, &name, &csp, &ops);
    if (code != MPI_SUCCESS)
        return code;
    name.kind = MLT_OBJECT_NONE;
    name.node = me->world;
    name.at = *mlt_route_own(csp, false);
    memcpy(name.text, port_name, bytes + 1);
    uint16_t fn = me->fn;
    csp_status status = ops->put(csp, &name);
    me->fn = fn; // what ran meanwhile may have called, too
    if (status == CSP_OK)
        return MPI_SUCCESS;
    if (status == CSP_TAKEN)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_SERVICE, "'%s' is published already",
                             service_name);
    return mlt_mpi_raise(me, NULL, fn, status == CSP_REFUSED ? MPI_ERR_SERVICE : MPI_ERR_OTHER,
                         "%s", csp->why);
}

int mlt_mpi_Lookup_name(mlt_rank *me, const char *service_name, MPI_Info info, char *port_name)
{
    mlt_csp *csp;
    const mlt_names_ops *ops;
    mlt_name name, found;
    int code = names_begin(me, service_name, info, &name, &csp, &ops);
    if (code != MPI_SUCCESS)
        return code;
    mlt_mpi_yield_if_due(me); // for those that try until another rank has published the name
    uint16_t fn = me->fn;
    csp_status status = ops->find(csp, name.name, &found, CSP_AT_ONCE);
    me->fn = fn;
    if (status == CSP_NO_NAME)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_NAME, "'%s' is not published", service_name);
    if (status != CSP_OK)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER, "%s", csp->why);
    snprintf(port_name, MPI_MAX_PORT_NAME, "%s", found.text);
    return MPI_SUCCESS;
}

int mlt_mpi_Unpublish_name(mlt_rank *me, const char *service_name, MPI_Info info,
                           const char *port_name)
{
    mlt_csp *csp;
    const mlt_names_ops *ops;
    mlt_name name;
    int code = names_begin(me, service_name, info, &name, &csp, &ops);
    if (code != MPI_SUCCESS)
        return code;
    uint16_t fn = me->fn;
    csp_status status = ops->drop(csp, name.name);
    me->fn = fn;
    if (status == CSP_OK)
        return MPI_SUCCESS;
    if (status == CSP_NO_NAME || status == CSP_TAKEN)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_SERVICE, "'%s' is not published by this %s",
                             service_name, status == CSP_TAKEN ? "process" : "program");
    return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER, "%s", csp->why);
}
