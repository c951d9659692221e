// SPDX-License-Identifier: BSD-3-Clause
// Listens for other processes of the job and greets whatever connects. Only a process of the job
// gets through; strangers are dropped and counted, and the job goes on.
//
// A listener has a fixed number of descriptors and bytes: its sockets, an epoll, a spare
// descriptor, and `strangers` connections that are still greeting. If one more comes, the oldest
// that has not proven the key goes. A process of the job proves it with the first bytes that it
// sends, so that a crowd of idle strangers does not keep it out. One that has proven it goes only
// if it has not finished within a second (a repeated hello of somebody else never does); until then
// newcomers wait in the system's queue.
//
// When the process has no descriptor left, strangers go for the sake of newcomers. If there are
// none, the spare descriptor is given up for a moment to take the newcomer and close it, because
// nothing else would stop the system from announcing it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "net/greet.h"
#include "net/iface.h"
#include "net/peer.h"
#include "net/poll.h"

enum {
    MLT_LISTEN_STRANGERS = 64, // a good number for the plan
    MLT_LISTEN_GREET_MS = 5000,
};

typedef struct mlt_listen_plan {
    const mlt_greet_self *self; // must outlive the listener
    mlt_iface_ports ports;
    const mlt_address *addresses; // listens at these, at most MLT_ADDRESSES, as far as the host has
                                  // them; NULL: at all of the host
    uint32_t address_count;
    uint32_t strangers; // at the same time
    uint32_t greet_ms;  // for a greeting
    uint32_t gone_ms;   // mlt_os_tcp_tune
} mlt_listen_plan;

typedef struct mlt_listen_counts {
    uint64_t good;
    uint64_t faults[MLT_GREET_FAULTS]; // greetings that failed
    uint64_t dropped_for_newer;
    uint64_t no_descriptor; // dropped because the process had none left
} mlt_listen_counts;

typedef struct mlt_listen mlt_listen;

// Wants mlt_crypt_load. On failure a message in why.
mlt_status mlt_listen_new(mlt_listen **out, const mlt_listen_plan *plan, char *why,
                          size_t why_size) MLT_MUST_CHECK;
void mlt_listen_free(mlt_listen *listen); // NULL is fine

uint16_t mlt_listen_port(const mlt_listen *listen); // the same of all its addresses

mlt_poll mlt_listen_poll(const mlt_listen *listen);

// Goes on, without blocking. MLT_OK: a process of the job is in *peer; call it again. MLT_PENDING:
// see mlt_listen_poll.
mlt_status mlt_listen_step(mlt_listen *listen, uint64_t now_ns, mlt_net_peer *peer) MLT_MUST_CHECK;

// For tests.
const mlt_listen_counts *mlt_listen_count(const mlt_listen *listen);
