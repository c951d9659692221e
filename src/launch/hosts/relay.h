// SPDX-License-Identifier: BSD-3-Clause
// The standard streams of a host's processes, on their way to mpirun on another host: pipes here,
// frames on the agents' channels. launch/stdio.c has mpirun's side.
//
//     process -- pipe --> relay -- OUTPUT --> mpirun            process <-- pipe -- relay <-- INPUT
//                         relay <-- ROOM ---- mpirun                               relay -- ROOM -->
//
// A stream may have mlt_relay_window bytes on the way that its reader has not taken. So whatever
// does not read, mpirun's reader or a process, stops the writer at the other end, and the memory of
// all agents between is bounded. Streams do not hold each other up.
//
// ROOM: so many bytes (a uint64_t) more may come; without a body: the reader is gone, and nothing
// more is taken.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "launch/hosts/frame.h"

// Bytes of a stream that may be on their way, in a job of so many processes.
static inline uint64_t mlt_relay_window(uint32_t procs)
{
    enum { ALL = 16 << 20, LEAST = 4 << 10, MOST = 256 << 10 };
    uint64_t share = ALL / (procs ? procs : 1);
    return share < LEAST ? LEAST : share > MOST ? MOST : share;
}

typedef struct mlt_relay_conf {
    uint32_t procs; // of the job
    uint32_t host;  // this one
    // Sends a frame to the head.
    void (*send)(void *user, const mlt_frame *frame, char *body);
    void *user;
} mlt_relay_conf;

typedef struct mlt_relay mlt_relay;

mlt_relay *mlt_relay_new(const mlt_relay_conf *conf);
void mlt_relay_free(mlt_relay *relay); // closes what is open; NULL is fine

// Beside a process's standard streams: what it writes of a trace, in chunks (trace/chunk.h).
enum { MLT_RELAY_TRACE = 3 };

// This side's end of the pipe to (stream 0) or from (1, 2, MLT_RELAY_TRACE) a process. It becomes the relay's.
void mlt_relay_add(mlt_relay *relay, uint32_t proc, uint32_t stream, int fd);

// INPUT and ROOM frames. Input of a process that has not been added yet is kept, as far as mpirun
// has room to send it; that of one that has closed its stream is refused.
void mlt_relay_take(mlt_relay *relay, const mlt_frame *frame, const char *body);

// Sends what a process has written so far, as far as there is room.
void mlt_relay_hear(mlt_relay *relay, uint32_t proc);

// All processes have ended: what their pipes hold is sent, and then the end of each stream, also if
// something that they left behind keeps a pipe open. drained: all is sent.
void mlt_relay_drain(mlt_relay *relay);
bool mlt_relay_drained(const mlt_relay *relay);
