// SPDX-License-Identifier: BSD-3-Clause
#include "csp/names/publish.h"

#include <stdio.h>
#include <string.h>

#include "csp/names/names.h"
#include "csp/net/remote.h"
#include "csp/state.h"
#include "p2p/worker.h"

_Static_assert((int)MLT_PUBLISH_TEXT == MLT_NAME_TEXT && (int)MLT_PUBLISH_NAME <= MLT_NAME_MOST,
               "a published text fits");

// The names that the rank uses; NULL: (*csp)->why tells.
static const mlt_names_ops *publish_begin(const mlt_rank *rank, const char *call, mlt_csp **csp)
{
    *csp = rank->worker->sched->gate ? mlt_csp_for_threads(rank->worker) : mlt_csp_enter(call);
    return mlt_names_of(*csp);
}

static mlt_publish_status publish_outcome(const mlt_csp *csp, csp_status status,
                                          char why[MLT_PUBLISH_WHY])
{
    snprintf(why, MLT_PUBLISH_WHY, "%s", csp->why);
    return status == CSP_OK        ? MLT_PUBLISH_OK
           : status == CSP_TAKEN   ? MLT_PUBLISH_TAKEN
           : status == CSP_NO_NAME ? MLT_PUBLISH_NONE
           : status == CSP_REFUSED ? MLT_PUBLISH_REFUSED
                                   : MLT_PUBLISH_FAILED;
}

mlt_publish_status mlt_publish_put(mlt_rank *rank, const char *call, const char *name,
                                   const char *text, char why[MLT_PUBLISH_WHY])
{
    mlt_csp *csp;
    const mlt_names_ops *ops = publish_begin(rank, call, &csp);
    if (!ops)
        return publish_outcome(csp, CSP_LOST, why);
    mlt_name entry = {
        .kind = MLT_OBJECT_NONE, .node = rank->world, .at = *mlt_route_own(csp, false)};
    snprintf(entry.name, sizeof entry.name, "%s", name);
    snprintf(entry.text, sizeof entry.text, "%s", text);
    return publish_outcome(csp, ops->put(csp, &entry), why);
}

mlt_publish_status mlt_publish_find(mlt_rank *rank, const char *call, const char *name,
                                    char text[MLT_PUBLISH_TEXT], char why[MLT_PUBLISH_WHY])
{
    mlt_csp *csp;
    mlt_name found;
    const mlt_names_ops *ops = publish_begin(rank, call, &csp);
    csp_status status = ops ? ops->find(csp, name, &found, CSP_AT_ONCE) : CSP_LOST;
    if (status == CSP_OK)
        memcpy(text, found.text, sizeof found.text);
    return publish_outcome(csp, status, why);
}

mlt_publish_status mlt_publish_drop(mlt_rank *rank, const char *call, const char *name,
                                    char why[MLT_PUBLISH_WHY])
{
    mlt_csp *csp;
    const mlt_names_ops *ops = publish_begin(rank, call, &csp);
    return publish_outcome(csp, ops ? ops->drop(csp, name) : CSP_LOST, why);
}
