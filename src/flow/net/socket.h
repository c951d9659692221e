// SPDX-License-Identifier: BSD-3-Clause
// Sockets of the network modules. What fails ends the program with a message that names the
// instance, the address and why.
#pragma once

#include <millet/csp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "flow/net/module.h"

typedef struct mlt_flow_address {
    struct sockaddr_storage at;
    socklen_t length;
    char text[80]; // "127.0.0.1:7000"
} mlt_flow_address;

// A socket (SOCK_STREAM: listening; SOCK_DGRAM: bound) at `host` and `port`, and says which address
// that is, since port 0 is any. Several instances of a vector share a port: the system deals clients
// out to them.
int mlt_flow_net_listen(mlt_flow_net *my, int type);

// A socket that is connected with `host` and `port`. A stream tries again until the deadline.
int mlt_flow_net_connect(mlt_flow_net *my, int type, csp_time deadline);

// As text.
void mlt_flow_net_address(mlt_flow_address *address);

// A descriptor that is readable once the program was asked to end: SIGTERM or SIGINT has come. The
// second one ends it at once, as ever, and so does the first if the program handles that signal itself.
int mlt_flow_net_asked(void);
