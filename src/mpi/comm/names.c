// SPDX-License-Identifier: BSD-3-Clause
// MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name: names of texts, at the name server if one
// is used, so that other jobs find them, else within the job. Their names are apart from those of
// ports and channels: they begin with "mpi:".
//
// A published name goes when its worker ends, if it was not unpublished before.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "base/upcalls.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "mpi_fn.h"

_Static_assert(MPI_MAX_PORT_NAME <= MLT_PUBLISH_TEXT, "a port's name is a text");

static const char names_prefix[] = "mpi:";
enum { SERVICE_MOST = MLT_PUBLISH_NAME - (sizeof names_prefix - 1) };

// What all three begin with: the arguments are fine, and there are names. Fills in the name.
static int names_begin(mlt_rank *me, const char *service, MPI_Info info,
                       char name[MLT_PUBLISH_NAME + 1])
{
    size_t bytes = strnlen(service, SERVICE_MOST + 1);
    if (info != MPI_INFO_NULL && !mlt_info_of(info))
        return mlt_bad_info(me, NULL, me->fn, info);
    if (bytes == 0 || bytes > SERVICE_MOST)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_SERVICE,
                             "argument service_name has %s%d characters, but should have 1 to %d",
                             bytes ? "more than " : "", bytes ? (int)SERVICE_MOST : 0,
                             (int)SERVICE_MOST);
    if (!mlt_upcalls.publish)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "this Millet was built without its name service, which is part of csp "
                             "(MILLET_WITH)");
    snprintf(name, MLT_PUBLISH_NAME + 1, "%s%s", names_prefix, service);
    return MPI_SUCCESS;
}

int mlt_mpi_Publish_name(mlt_rank *me, const char *service_name, MPI_Info info,
                         const char *port_name)
{
    char name[MLT_PUBLISH_NAME + 1], why[MLT_PUBLISH_WHY];
    if (strnlen(port_name, MPI_MAX_PORT_NAME) == MPI_MAX_PORT_NAME)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_PORT,
                             "argument port_name has more than %d characters",
                             MPI_MAX_PORT_NAME - 1);
    int code = names_begin(me, service_name, info, name);
    if (code != MPI_SUCCESS)
        return code;
    uint16_t fn = me->fn;
    mlt_publish_status status =
        mlt_upcalls.publish(me, mlt_fn_table[fn].name, name, port_name, why);
    me->fn = fn; // what ran meanwhile may have called, too
    if (status == MLT_PUBLISH_OK)
        return MPI_SUCCESS;
    if (status == MLT_PUBLISH_TAKEN)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_SERVICE, "'%s' is published already",
                             service_name);
    return mlt_mpi_raise(
        me, NULL, fn, status == MLT_PUBLISH_REFUSED ? MPI_ERR_SERVICE : MPI_ERR_OTHER, "%s", why);
}

int mlt_mpi_Lookup_name(mlt_rank *me, const char *service_name, MPI_Info info, char *port_name)
{
    char name[MLT_PUBLISH_NAME + 1], text[MLT_PUBLISH_TEXT], why[MLT_PUBLISH_WHY];
    int code = names_begin(me, service_name, info, name);
    if (code != MPI_SUCCESS)
        return code;
    mlt_mpi_yield_if_due(me); // for those that try until another rank has published the name
    uint16_t fn = me->fn;
    mlt_publish_status status = mlt_upcalls.look_up(me, mlt_fn_table[fn].name, name, text, why);
    me->fn = fn;
    if (status == MLT_PUBLISH_NONE)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_NAME, "'%s' is not published", service_name);
    if (status != MLT_PUBLISH_OK)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER, "%s", why);
    snprintf(port_name, MPI_MAX_PORT_NAME, "%s", text);
    return MPI_SUCCESS;
}

int mlt_mpi_Unpublish_name(mlt_rank *me, const char *service_name, MPI_Info info,
                           const char *port_name)
{
    char name[MLT_PUBLISH_NAME + 1], why[MLT_PUBLISH_WHY];
    int code = names_begin(me, service_name, info, name);
    if (code != MPI_SUCCESS)
        return code;
    uint16_t fn = me->fn;
    mlt_publish_status status = mlt_upcalls.unpublish(me, mlt_fn_table[fn].name, name, why);
    me->fn = fn;
    if (status == MLT_PUBLISH_OK)
        return MPI_SUCCESS;
    if (status == MLT_PUBLISH_NONE || status == MLT_PUBLISH_TAKEN)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_SERVICE, "'%s' is not published by this %s",
                             service_name, status == MLT_PUBLISH_TAKEN ? "process" : "program");
    return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER, "%s", why);
}
