// SPDX-License-Identifier: BSD-3-Clause
// Two programs that find each other by names (with hello_client.c). The server has a port, at which
// a client of any program says who it is and hands over the end of a channel of its own; the server
// answers through that end.
//
//     mpicc hello_server.c -o hello_server
//     mpicc hello_client.c -o hello_client
//     millet names start
//     ./hello_server 2 &          ends after two clients
//     ./hello_client Ada
//     ./hello_client Tony
#include "hello.h"

#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int clients = argc > 1 ? atoi(argv[1]) : 1;
    csp_port *port = csp_port_new("hello", 0);
    csp_status status = csp_register_port("hello", port);
    if (status != CSP_OK) {
        fprintf(stderr, "hello: %s: %s\n", csp_status_text(status), csp_why());
        return 1;
    }
    for (int i = 0; i < clients; i++) {
        question q;
        answer a;
        csp_out *out;
        if (csp_receive(port, &q, sizeof(q), NULL, NULL) != CSP_OK ||
            csp_unpack_out(&q.reply, &out) != CSP_OK)
            continue;
        printf("%s called\n", q.name);
        snprintf(a.text, sizeof(a.text), "Hello %s, you are number %d", q.name, i + 1);
        if (csp_write(out, &a) != CSP_OK) // waits until it has been read
            printf("%s is gone: %s\n", q.name, csp_why());
        csp_retire(out);
    }
    csp_port_free(port);
    return 0;
}
