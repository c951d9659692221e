// SPDX-License-Identifier: BSD-3-Clause
// How a rank talks at an rpc (boot/rpc.h) and over a line, without blocking its worker.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "boot/rpc.h"
#include "mpi/comm/port.h"
#include "p2p/p2p.h"

typedef struct mlt_port_line_wait {
    int64_t deadline;   // mlt_os_now_ns; MLT_NEVER
    int stop;           // mlt_port_wait's; -1: none
    bool late, stopped; // why it ended, if it did
} mlt_port_line_wait;

typedef struct mlt_port_rpc {
    mlt_rank *me;
    int fd; // -1: closed
    mlt_rpc_in in;
    mlt_rpc_head head; // of the last answer
} mlt_port_rpc;

// What a program without an agent is told.
void mlt_port_why_alone(mlt_rank *me, char why[MLT_PORT_WHY]);

// False: why has a sentence.
bool mlt_port_rpc_open(mlt_port_rpc *rpc, mlt_rank *me, char why[MLT_PORT_WHY]);
void mlt_port_rpc_close(mlt_port_rpc *rpc);

// Asks, and waits for the answer of that type. False: why has a sentence; `wait` says if it gave up.
bool mlt_port_ask(mlt_port_rpc *rpc, mlt_rpc_type question, const void *body, size_t length,
                  mlt_rpc_type answer, mlt_port_line_wait *wait, char why[MLT_PORT_WHY]);

// A message over a line: its length, and so many bytes. MLT_ERR_CLOSED: the other side is gone.
// MLT_ERR_INVALID: it is too long. MLT_PENDING: `wait` says why it gave up.
mlt_status mlt_port_line_say(mlt_rank *me, int fd, const void *bytes, size_t count) MLT_MUST_CHECK;
// What is heard replaces the message; the caller frees it.
mlt_status mlt_port_line_hear(mlt_rank *me, int fd, mlt_text *message,
                              mlt_port_line_wait *wait) MLT_MUST_CHECK;

// Exactly so many bytes from any stream socket, which may block or not; its flags stay as they are.
mlt_status mlt_port_line_read(mlt_rank *me, int fd, void *bytes, size_t count,
                              mlt_port_line_wait *wait) MLT_MUST_CHECK;
mlt_status mlt_port_line_write(mlt_rank *me, int fd, const void *bytes,
                               size_t count) MLT_MUST_CHECK;

// All that comes until the other side's end, cut to the room; a zero byte ends it. MLT_PENDING: `wait`
// says why it gave up; what came until then is there.
mlt_status mlt_port_line_read_text(mlt_rank *me, int fd, char *text, size_t room,
                                   mlt_port_line_wait *wait) MLT_MUST_CHECK;
