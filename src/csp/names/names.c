// SPDX-License-Identifier: BSD-3-Clause
// Which names a worker uses. Decided when it first needs them, and for good.
#include "csp/names/names.h"

#include <stdio.h>
#include <string.h>

#include "csp/names/names_int.h"
#include "csp/net/remote.h"
#include "csp/settings.h"

static struct mlt_names *choose(mlt_csp *csp)
{
    const char *told = mlt_csp_conf_now.names;
    char path[MLT_NAMES_PATH], folder[MLT_NAMES_PATH];
    bool usual = told[0] == '\0', absent = false;
    struct mlt_names *names;
    int n = snprintf(path, sizeof path, "%s", told);
    // Which hosts have a server at the usual place is chance; ranks of one job must agree.
    if (usual && csp->worker->boot->job->hosts == 1 &&
        mlt_names_usual_folder(folder, csp->why, sizeof csp->why))
        n = snprintf(path, sizeof path, "%s/names", folder);
    if (!usual && n >= (int)sizeof path) {
        mlt_csp_why(csp, "MILLET_NAMES is longer than %d bytes", MLT_NAMES_PATH);
        return NULL;
    }
    if (strcmp(told, "job") == 0 || n == 0 || n >= (int)sizeof path) {
        names = mlt_names_new(csp, "");
        names->ops = &mlt_names_job;
        return names;
    }
    names = mlt_names_new(csp, path);
    names->ops = &mlt_names_server;
    if (mlt_names_dial(names, &absent))
        return names;
    if (usual && absent) {
        names->ops = &mlt_names_job;
        csp->why[0] = '\0'; // nothing is wrong
        return names;
    }
    mlt_names_free(names);
    return NULL;
}

const mlt_names_ops *mlt_names_of(mlt_csp *csp)
{
    mlt_remote *net = mlt_remote_of(csp);
    if (!net->names)
        net->names = choose(csp);
    return net->names ? net->names->ops : NULL;
}

const char *mlt_names_hint(const mlt_csp *csp)
{
    const struct mlt_names *names = csp && csp->net ? csp->net->names : NULL;
    return names && names->ops == &mlt_names_job && names->path[0]
               ? "; no name server runs (millet names start), so only this job is looked at"
               : "";
}

const unsigned char *mlt_names_key(mlt_csp *csp, bool again)
{
    const mlt_names_ops *ops = mlt_names_of(csp);
    if (!ops)
        return NULL;
    struct mlt_names *names = mlt_remote_of(csp)->names;
    char why[sizeof csp->why];
    if (ops != &mlt_names_server) {
        mlt_csp_why(csp, "other programs are reached by a name server, and none is used here");
        return NULL;
    }
    mlt_names_file file;
    if (again && mlt_names_file_read(names->path, &file, why, sizeof why) == MLT_OK)
        names->file = file;
    return names->file.key;
}

bool mlt_names_listens(mlt_csp *csp)
{
    return mlt_names_key(csp, false) && mlt_remote_of(csp)->names->file.place.port != 0;
}

void mlt_names_leave(mlt_csp *csp)
{
    if (!csp->net || !csp->net->names)
        return;
    mlt_names_free(csp->net->names);
    csp->net->names = NULL;
}
