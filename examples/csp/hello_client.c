// SPDX-License-Identifier: BSD-3-Clause
// The other side of hello_server.c.
#include "hello.h"

#include <millet/csp.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    csp_target *server;
    csp_chan *reply = csp_chan_new("reply", sizeof(answer));
    csp_in *in = csp_chan_in(reply);
    question q;
    answer a;
    snprintf(q.name, sizeof(q.name), "%s", argc > 1 ? argv[1] : "nobody");

    // Waits for a server; ten seconds at most.
    csp_status status = csp_find_port("hello", &server, csp_after(10));
    if (status == CSP_OK)
        status = csp_pack_out(csp_chan_out(reply), &q.reply);
    if (status == CSP_OK)
        status = csp_send(server, &q, sizeof(q));
    if (status == CSP_OK)
        status = csp_read_by(in, &a, csp_after(10));
    if (status != CSP_OK) {
        fprintf(stderr, "hello: %s: %s\n", csp_status_text(status), csp_why());
        return 1;
    }
    printf("%s\n", a.text);
    csp_target_free(server);
    return 0;
}
