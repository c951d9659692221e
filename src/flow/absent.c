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
