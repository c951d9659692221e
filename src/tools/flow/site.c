// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/flow/input.h"

void mlt_flow_site_args(mlt_flow_site_options *o, mlt_arg out[MLT_FLOW_SITE_ARGS])
{
    const mlt_arg all[MLT_FLOW_SITE_ARGS] = {
        {"workers", 'n', MLT_ARG_NUMBER, &o->workers, "W", .help = "as mpirun -n W (1)", .least = 1,
         .most = 1u << 20},
        {"nfg", 0, MLT_ARG_NUMBER, &o->fine, "K",
         .help = "as mpirun -nfg K: ranks in each worker (1)", .least = 1, .most = 1u << 24},
        {"hostfile", 0, MLT_ARG_TEXT, &o->hostfile, "HOSTS",
         .help = "names and slots of hosts (this one alone)"},
        {"reproducible", 0, MLT_ARG_FLAG, &o->reproducible, NULL,
         .help = "as mpirun --reproducible: each Reduce is one part"},
        {"unbalanced", 0, MLT_ARG_FLAG, &o->unbalanced, NULL,
         .help = "plan each reduction without regard to the load of others"},
    };
    memcpy(out, all, sizeof all);
}

bool mlt_flow_site_given(const mlt_flow_site_options *o)
{
    return o->workers || o->fine || o->hostfile || o->reproducible || o->unbalanced;
}

int mlt_flow_site_make(const mlt_arg_command *command, const mlt_flow_site_options *o,
                       const mlt_flow_graph *graph, const char *path, bool keep, mlt_flow_site *out)
{
    char why[512] = "";
    *out = (mlt_flow_site){.sites = NULL};
    uint32_t workers = o->workers ? (uint32_t)o->workers : 1;
    uint32_t fine = o->fine ? (uint32_t)o->fine : 1;
    if ((uint64_t)workers * fine > UINT32_MAX / 2)
        return mlt_args_wrong(command, "-n and -nfg together are more ranks than there can be");
    int code = mlt_flow_input_text(command, o->hostfile, &out->hosts);
    if (code != MLT_ARGS_GO)
        return code;
    out->sites = mlt_flow_sites_new(workers, fine, out->hosts, why, sizeof why);
    if (!out->sites)
        return mlt_args_failed(command, "%s%s%s", o->hostfile ? o->hostfile : "",
                               o->hostfile ? ": " : "", why);
    out->placing = mlt_flow_place(graph, out->sites, why, sizeof why);
    if (!out->placing)
        return mlt_args_failed(command, "%s:%s", path, why);
    const mlt_flow_lowering how = {
        .balance = !o->unbalanced, .reproducible = o->reproducible, .keep = keep};
    out->lowered = mlt_flow_lower(graph, out->placing, &how);
    return MLT_ARGS_GO;
}

void mlt_flow_site_free(mlt_flow_site *site)
{
    if (site->lowered)
        mlt_flow_lowered_free(site->lowered);
    if (site->placing)
        mlt_flow_placing_free(site->placing);
    if (site->sites)
        mlt_flow_sites_free(site->sites);
    free(site->hosts);
    *site = (mlt_flow_site){.sites = NULL};
}
