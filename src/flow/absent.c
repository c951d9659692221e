// SPDX-License-Identifier: BSD-3-Clause
// What is being built: each of these gives way to the function of that name as soon as it is there.
#include "base/log.h"
#include "flow/link.h"
#include "flow/run.h"

#define WEAK __attribute__((weak))

WEAK void mlt_flow_links_begin(mlt_flow_program *p)
{
}
WEAK void mlt_flow_links_end(mlt_flow_program *p)
{
}
WEAK bool mlt_flow_link_put(mlt_flow_link *link, mlt_flow_element *e)
{
    mlt_fatal("no links");
}
WEAK void mlt_flow_link_end(mlt_flow_link *link)
{
    mlt_fatal("no links");
}
WEAK void mlt_flow_link_taken(mlt_flow_program *p, uint32_t line)
{
    mlt_fatal("no links");
}
WEAK void mlt_flow_link_close(mlt_flow_program *p, mlt_flow_inlet *inlet)
{
}
WEAK void mlt_flow_link_packet(mlt_flow_program *p, mlt_route *route, const mlt_packet *packet,
                               const void *data, uint64_t bytes)
{
    mlt_fatal("no links");
}
WEAK void mlt_flow_part_packet(mlt_flow_program *p, mlt_route *route, const mlt_packet *packet,
                               const void *data, uint64_t bytes)
{
    mlt_fatal("no parts");
}
WEAK int mlt_flow_part_run(flow_instance *task)
{
    mlt_fatal("no parts");
}
WEAK void mlt_flow_parts_begin(mlt_flow_program *p)
{
}
WEAK void mlt_flow_parts_end(mlt_flow_program *p)
{
}
WEAK mlt_flow_sites *mlt_flow_sites_new(uint32_t workers, uint32_t a_worker, const char *hosts,
                                        char *why, size_t why_size)
{
    mlt_fatal("no places");
}
WEAK void mlt_flow_sites_free(mlt_flow_sites *sites)
{
}
WEAK mlt_flow_placing *mlt_flow_place(const mlt_flow_graph *graph, const mlt_flow_sites *sites,
                                      char *why, size_t why_size)
{
    mlt_fatal("no places");
}
WEAK void mlt_flow_placing_free(mlt_flow_placing *placing)
{
}
WEAK mlt_flow_lowered *mlt_flow_lower(const mlt_flow_graph *graph, const mlt_flow_placing *placing,
                                      const mlt_flow_lowering *how)
{
    mlt_fatal("no tasks");
}
WEAK void mlt_flow_lowered_free(mlt_flow_lowered *lowered)
{
}
WEAK const char *mlt_flow_task_name(const mlt_flow_lowered *l, uint32_t task, char *text,
                                    size_t size)
{
    return mlt_flow_node_name(l->graph, l->tasks[task].node, text, size);
}
