// SPDX-License-Identifier: BSD-3-Clause
// Rank 0, which keeps the names at first, ends at once, and has met nobody. Later the others look
// for a port there and hear of its end, and names still work: the last one registers a port, which
// all others find.
#include <millet/csp.h>
#include <stdio.h>

#include "check.h"

int main(void)
{
    int me = csp_node(), nodes = csp_nodes();
    csp_target *target;
    long value = me, sum = 0;
    if (me == 0)
        return 0;
    csp_sleep(csp_after(0.3));
    CHECK(csp_target_at(0, "nothing", &target, csp_after(30)) == CSP_RETIRED);
    CHECK(csp_find_port("nothing", &target, CSP_AT_ONCE) == CSP_NO_NAME);
    if (me < nodes - 1) {
        CHECK(csp_find_port("last", &target, csp_after(30)) == CSP_OK);
        CHECK(csp_send(target, &value, sizeof value) == CSP_OK);
        csp_target_free(target);
        return 0;
    }
    csp_port *port = csp_port_new("last", 0);
    CHECK(csp_register_port("last", port) == CSP_OK);
    for (int i = 1; i < nodes - 1; i++) {
        CHECK(csp_receive(port, &value, sizeof value, NULL, NULL) == CSP_OK);
        sum += value;
    }
    csp_port_free(port);
    printf("the sum is %s\n", sum == (long)(nodes - 1) * (nodes - 2) / 2 ? "right" : "wrong");
    return 0;
}
