// SPDX-License-Identifier: BSD-3-Clause
//
// Each sender has a port's room for itself, whether or not ranks share a worker: all send something
// that is longer than a share of the room would be, and only then does anybody receive.

#include <millet/csp.h>

#include "csp_check.h"

enum { BYTES = 100 << 10 }; // the room has 256 KiB

int main(void)
{
    static char data[BYTES]; // the same in all ranks, and never looked at
    int nodes = csp_nodes();
    csp_port *port = csp_port_new("in", 0);
    csp_group *all = csp_group_of_nodes("all", 1);
    int my = csp_group_first(all);
    csp_target *target, *second;
    CHECK_INT(csp_target_at(0, "in", &target, csp_after(60)), CSP_OK);
    CHECK_INT(csp_target_at(0, "in", &second, csp_after(60)), CSP_OK);
    CHECK_INT(csp_send(target, data, sizeof data), CSP_OK);
    CHECK_INT(csp_send(second, data, sizeof data), CSP_OK);
    csp_group_barrier(all, my);
    // Two targets of a rank share its room: a third message waits.
    CHECK_INT(csp_send_by(second, data, sizeof data, CSP_AT_ONCE), CSP_LATE);
    csp_group_barrier(all, my);
    for (int i = 0; csp_node() == 0 && i < 2 * nodes; i++)
        CHECK_INT(csp_receive(port, data, sizeof data, NULL, NULL), CSP_OK);
    csp_group_barrier(all, my);
    csp_target_free(target);
    csp_target_free(second);
    return 0;
}
