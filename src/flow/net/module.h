// SPDX-License-Identifier: BSD-3-Clause
// The network modules: LineServer, TcpSource, TcpSink, UdpSource, UdpSink. They are modules like those of
// a program (an instance is a process), but the library's, with parameters (graph/parameter.h). So
// graph, places and drawings know nothing special of them.
//
//     frame.h    elements in a stream of bytes: pure, so that it can be fuzzed
//     socket.h   listening, connecting, addresses; when the program was asked to end
//     server.h   many clients at one process: LineServer and TcpSource
//     tcp.c udp.c line.c   the modules
//
// Who listens does so at 127.0.0.1 unless `host` says otherwise, and takes at most `clients` at
// once and `length` bytes at a time: what strangers send may cost a connection, never the program.
#pragma once

#include <millet/flow.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/net/frame.h"

// In the unit of csp_time.
#define MLT_FLOW_SECOND INT64_C(1000000000)

// The struct of an instance.
typedef struct mlt_flow_net {
    flow_self flow;
    flow_queue *in, *out; // NULL: it has none
} mlt_flow_net;

// Its parameters.
long mlt_flow_net_number(const mlt_flow_net *my, const char *name);
const char *mlt_flow_net_text(const mlt_flow_net *my, const char *name);
mlt_flow_frame mlt_flow_net_frame(const mlt_flow_net *my); // `frame`

// The bytes of a value that the receivers of its output take: elements that come have whole values.
// 1: nothing is known of them, or any bytes will do.
size_t mlt_flow_net_value(const mlt_flow_net *my);

// Its output ends now: receivers hear of the end of input while the instance lives on.
void mlt_flow_net_end_output(mlt_flow_net *my);

// "server", "server[2]": for messages.
#define MLT_FLOW_NET_LOG(my, format, ...) mlt_log("%s " format, (my)->flow.name, __VA_ARGS__)
