// SPDX-License-Identifier: BSD-3-Clause
// TcpSource: what clients send becomes elements. TcpSink: elements go to a server, which may be a
// TcpSource of another program.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/export.h"
#include "flow/net/server.h"
#include "flow/net/socket.h"
#include "flow/run.h"
#include "os/fd.h"
#include "os/tcp.h"

static int tcp_source_run(void *arg)
{
    mlt_flow_net *my = arg;
    mlt_flow_framing framing = {.frame = mlt_flow_net_frame(my),
                                .length = (size_t)mlt_flow_net_number(my, "length"),
                                .value = mlt_flow_net_value(my)};
    mlt_flow_net_serve(my, &framing, false);
    return 0;
}

static void sink_write(const mlt_flow_net *my, int fd, const void *data, size_t bytes,
                       uint64_t elements)
{
    if (csp_fd_write(fd, data, bytes) < 0)
        mlt_flow_fault(my->flow.instance,
                       "the server closed the connection after %llu elements: %s",
                       (unsigned long long)elements, strerror(errno));
}

static int tcp_sink_run(void *arg)
{
    mlt_flow_net *my = arg;
    mlt_flow_frame frame = mlt_flow_net_frame(my);
    csp_time patience = mlt_flow_net_number(my, "patience") * MLT_FLOW_SECOND;
    int fd = mlt_flow_net_connect(my, SOCK_STREAM, csp_now() + patience);
    const void *data;
    size_t bytes;
    for (uint64_t n = 0; flow_queue_dequeue(my->in, &data, FLOW_ANY, 1, &bytes, true); n++) {
        uint8_t header[MLT_FLOW_FRAME_HEADER];
        if (frame == MLT_FLOW_FRAME_ELEMENTS) {
            if (!mlt_flow_frame_begin(header, bytes))
                mlt_flow_fault(my->flow.instance, "an element of %zu bytes is too long: 4 GiB",
                               bytes);
            sink_write(my, fd, header, sizeof header, n);
        } else if (frame == MLT_FLOW_FRAME_LINES) {
            bytes = strnlen(data, bytes);
        }
        sink_write(my, fd, data, bytes, n);
        if (frame == MLT_FLOW_FRAME_LINES)
            sink_write(my, fd, "\n", 1, n);
    }
    mlt_os_tcp_finish(fd);
    mlt_os_close(fd);
    return 0;
}

static const flow_queue_decl tcp_source_queues[] = {
    {.name = "out", .offset = offsetof(mlt_flow_net, out)}};
static const flow_queue_decl tcp_sink_queues[] = {
    {.name = "in", .input = true, .offset = offsetof(mlt_flow_net, in)}};

MLT_EXPORT const flow_module flow_TcpSource = {.name = "TcpSource",
                                               .bytes = sizeof(mlt_flow_net),
                                               .queues = tcp_source_queues,
                                               .queue_count = 1,
                                               .run = tcp_source_run};
MLT_EXPORT const flow_module flow_TcpSink = {.name = "TcpSink",
                                             .bytes = sizeof(mlt_flow_net),
                                             .queues = tcp_sink_queues,
                                             .queue_count = 1,
                                             .run = tcp_sink_run};
