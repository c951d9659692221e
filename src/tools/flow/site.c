// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/site.h"

#include "tools/flow/input.h"
#include "tools/goal/source.h"

mlt_flow_site_options mlt_flow_site_asked = {.workers = 1, .fine = 1};
mlt_arg mlt_flow_site_args[MLT_FLOW_SITE_ARGS] = {
    {"workers", 'n', MLT_ARG_NUMBER, &mlt_flow_site_asked.workers, "W",
     .help = "as mpirun -n W (1)", .least = 1, .most = 1u << 20},
    {"nfg", 0, MLT_ARG_NUMBER, &mlt_flow_site_asked.fine, "K",
     .help = "as mpirun -nfg K: ranks in each worker (1)", .least = 1, .most = 1u << 24,
     .one_dash = true},
    {"hostfile", 0, MLT_ARG_TEXT, &mlt_flow_site_asked.hostfile, "HOSTS",
     .help = "names and slots of hosts (this one alone)"},
    {"reproducible", 0, MLT_ARG_FLAG, &mlt_flow_site_asked.reproducible, NULL,
     .help = "as mpirun --reproducible: each Reduce is one part"},
    {"unbalanced", 0, MLT_ARG_FLAG, &mlt_flow_site_asked.unbalanced, NULL,
     .help = "plan each reduction without regard to the load of others"},
};

mlt_flow_site mlt_flow_site_make(const mlt_flow_graph *graph, const char *path, bool keep)
{
    const mlt_flow_site_options *o = &mlt_flow_site_asked;
    mlt_flow_site out = {.hosts = mlt_source_text(o->hostfile)};
    if (o->workers * o->fine > UINT32_MAX / 2)
        mlt_args_wrong("-n and -nfg together are more ranks than there can be");
    out.sites =
        mlt_flow_sites_new((uint32_t)o->workers, (uint32_t)o->fine, out.hosts, MLT_ARGS_WHY);
    if (!out.sites)
        mlt_args_failed("%s%s%s", o->hostfile ? o->hostfile : "", o->hostfile ? ": " : "",
                        mlt_args_why);
    out.placing = mlt_flow_place(graph, out.sites, MLT_ARGS_WHY);
    if (!out.placing)
        mlt_args_failed("%s:%s", path, mlt_args_why);
    const mlt_flow_lowering how = {
        .balance = !o->unbalanced, .reproducible = o->reproducible, .keep = keep};
    out.lowered = mlt_flow_lower(graph, out.placing, &how);
    return out;
}
