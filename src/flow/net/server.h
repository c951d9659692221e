// SPDX-License-Identifier: BSD-3-Clause
// Many clients at one process. The instance has an epoll of its own, and waits for that at the IO
// scheduler; so a client costs a socket and, while something of it is on its way, its bytes, but no
// process and no thread.
//
//     clients ══> the instance's process: accepts, reads, cuts into elements ──> output
//     clients <══ another process of the instance: takes replies, writes     <── input (LineServer)
//
// Back-pressure: while the output is full, the instance reads from nobody. What a client does not read
// of its replies waits here; from 64 KiB on the client is read from no more, and with 16 MiB it is
// disconnected. The second process never waits for a client, so a circle of a server and its workers
// cannot lock up.
//
//     reads ── its end of input ──> ended ── as many replies as lines, or `linger` ──> gone
//       └───── a fault, or the program hangs up ──> finished (reads nothing, writes the rest) ──> gone
#pragma once

#include <stdbool.h>

#include "flow/net/module.h"

// Serves until the program is asked to end, `serve` connections are over, nobody was connected for
// `idle` seconds, or nobody takes elements any more. Then reads no more, ends its output, sends the
// replies that still come, and returns. replies: it is a LineServer, whose elements are flow_line.
void mlt_flow_net_serve(mlt_flow_net *my, const mlt_flow_framing *framing, bool replies);
