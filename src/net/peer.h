// SPDX-License-Identifier: BSD-3-Clause
// A process of the job at the other end of a connection, after the greeting.
#pragma once

#include <stdint.h>

#include "net/address.h"
#include "net/greet.h"

typedef struct mlt_net_peer {
    int fd; // the caller's; it does not block, and is closed by exec
    uint32_t process;
    uint32_t own; // the process of this side that the connection is for
    mlt_greet_types types;
    mlt_crypt_keys keys; // if the job encrypts; the caller wipes them
    mlt_address address; // of the other side
    uint16_t port;
} mlt_net_peer;

// What a greeting that succeeded has found out. The greeting's own copy of the keys is wiped.
void mlt_net_peer_of(mlt_net_peer *peer, mlt_greet *greet, const mlt_address *address,
                     uint16_t port);
