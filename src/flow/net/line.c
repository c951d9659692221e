// SPDX-License-Identifier: BSD-3-Clause
// LineServer: lines of clients become elements of type flow_line, which say whose they are, and
// elements of that type that come back become lines to these clients.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/export.h"
#include "flow/net/server.h"

static int server_run(void *arg)
{
    mlt_flow_net *my = arg;
    mlt_flow_framing framing = {.frame = MLT_FLOW_FRAME_LINES,
                                .length = (size_t)mlt_flow_net_number(my, "length"),
                                .value = 1};
    mlt_flow_net_serve(my, &framing, true);
    return 0;
}

static const flow_queue_decl queues[] = {
    {.name = "in",
     .input = true,
     .optional = true,
     FLOW_CARRIES(flow_line),
     .offset = offsetof(mlt_flow_net, in)},
    {.name = "out", FLOW_CARRIES(flow_line), .offset = offsetof(mlt_flow_net, out)}};

MLT_EXPORT const flow_module flow_LineServer = {.name = "LineServer",
                                                .bytes = sizeof(mlt_flow_net),
                                                .queues = queues,
                                                .queue_count = 2,
                                                .run = server_run};

// ---- what modules that answer call

MLT_EXPORT bool flow_queue_hang_up(flow_queue *queue, uint64_t client)
{
    flow_line line = {.client = client};
    return flow_queue_send(queue, &line, FLOW_ANY, sizeof line, 1);
}

MLT_EXPORT bool flow_queue_reply(flow_queue *queue, uint64_t client, const char *format, ...)
{
    char text[400]; // most are shorter
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t bytes = n > 0 ? (size_t)n : 0;
    size_t values = bytes / sizeof(flow_line) + 2; // the client, the text and its NUL
    flow_line *line = flow_queue_new(queue, sizeof *line, values);
    memset(line, 0, values * sizeof *line);
    line->client = client;
    if (bytes < sizeof text)
        memcpy(line->text, text, bytes);
    else
        vsnprintf(line->text, bytes + 1, format, again);
    va_end(again);
    return flow_queue_give(queue, line, FLOW_ANY, sizeof *line, values);
}
