// SPDX-License-Identifier: BSD-3-Clause
// UdpSource: a datagram is an element. UdpSink: an element is a datagram. As ever with UDP, some may be
// lost, and come in another order.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "flow/net/socket.h"
#include "flow/run.h"
#include "os/fd.h"

enum { DATAGRAM = 65536 }; // no datagram is longer

// Sends one element. False: nobody takes them any more.
static bool take_datagram(mlt_flow_net *my, const void *data, size_t bytes)
{
    void *copy = flow_queue_new(my->out, 1, bytes);
    memcpy(copy, data, bytes);
    return flow_queue_give(my->out, copy, FLOW_ANY, 1, bytes);
}

static int udp_source_run(void *arg)
{
    mlt_flow_net *my = arg;
    size_t value = mlt_flow_net_value(my);
    long serve = mlt_flow_net_number(my, "serve"), idle = mlt_flow_net_number(my, "idle");
    int asked = mlt_flow_net_asked(), fd = mlt_flow_net_listen(my, SOCK_DGRAM);
    char *data = mlt_xcalloc(DATAGRAM, 1);
    bool told = false, wanted = true;
    for (long count = 0; wanted && (!serve || count < serve);) {
        csp_guard guards[] = {csp_on_readable(fd), csp_on_readable(asked),
                              csp_on_time(idle ? csp_now() + idle * MLT_FLOW_SECOND : CSP_NEVER)};
        guards[1].off = asked < 0;
        if (csp_pri_alt(guards, 3) != 0)
            break;
        ssize_t n = mlt_os_try_read(fd, data, DATAGRAM);
        if (n >= 0 && (size_t)n % value == 0) {
            wanted = take_datagram(my, data, (size_t)n);
            count++;
        } else if (n >= 0 && !told) {
            MLT_FLOW_NET_LOG(my,
                             "drops a datagram of %zd bytes, for values have %zu (others like it "
                             "are not told)",
                             n, value);
            told = true;
        }
    }
    free(data);
    mlt_os_close(fd);
    return 0;
}

static int udp_sink_run(void *arg)
{
    mlt_flow_net *my = arg;
    int fd = mlt_flow_net_connect(my, SOCK_DGRAM, CSP_AT_ONCE);
    const void *data;
    size_t bytes;
    while (flow_queue_dequeue(my->in, &data, FLOW_ANY, 1, &bytes, true)) {
        // That nobody has received one is told by the next; it is no reason to stop.
        for (int tries = 0; tries < 2 && csp_fd_write(fd, data, bytes) < 0; tries++)
            if (errno != ECONNREFUSED)
                mlt_flow_fault(my->flow.instance, "an element of %zu bytes cannot be sent: %s",
                               bytes, strerror(errno));
    }
    mlt_os_close(fd);
    return 0;
}

static const flow_queue_decl udp_source_queues[] = {
    {.name = "out", .offset = offsetof(mlt_flow_net, out)}};
static const flow_queue_decl udp_sink_queues[] = {
    {.name = "in", .input = true, .offset = offsetof(mlt_flow_net, in)}};

MLT_EXPORT const flow_module flow_UdpSource = {.name = "UdpSource",
                                               .bytes = sizeof(mlt_flow_net),
                                               .queues = udp_source_queues,
                                               .queue_count = 1,
                                               .run = udp_source_run};
MLT_EXPORT const flow_module flow_UdpSink = {.name = "UdpSink",
                                             .bytes = sizeof(mlt_flow_net),
                                             .queues = udp_sink_queues,
                                             .queue_count = 1,
                                             .run = udp_sink_run};
