// SPDX-License-Identifier: BSD-3-Clause
// Connects to one process of the job, at several of its addresses at the same time, and greets on
// each that connects. The first that proves to be the right process wins; the others are closed
// before they confirm anything, so that the peer gets one connection, too.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "net/address.h"
#include "net/greet.h"
#include "net/peer.h"
#include "net/poll.h"

enum {
    MLT_DIAL_AT_ONCE = 8, // further addresses are tried as soon as one of these has failed
    MLT_DIAL_MS = 2000,   // a good time for the plan
};

typedef struct mlt_dial_plan {
    const mlt_greet_self *self; // must outlive the dial
    uint32_t wanted;            // the process
    const mlt_address *addresses;
    uint32_t count; // the likely ones first (mlt_address_likely)
    uint16_t port;
    uint32_t each_ms; // for each address, greeting included
    uint32_t gone_ms; // mlt_os_tcp_tune
} mlt_dial_plan;

typedef struct mlt_dial mlt_dial;

// Wants mlt_crypt_load. Nothing is dialled before the first step. On failure a message in why.
mlt_status mlt_dial_new(mlt_dial **out, const mlt_dial_plan *plan, char *why,
                        size_t why_size) MLT_MUST_CHECK;
void mlt_dial_free(mlt_dial *dial); // closes what is open; NULL is fine

mlt_poll mlt_dial_poll(const mlt_dial *dial);

// Goes on, without blocking. MLT_OK, once: the process is in *peer. MLT_PENDING: see mlt_dial_poll.
// MLT_ERR_CLOSED: nothing answered as it should; mlt_dial_tell has the table.
mlt_status mlt_dial_step(mlt_dial *dial, uint64_t now_ns, mlt_net_peer *peer) MLT_MUST_CHECK;

// Why nothing answered as it should, as far as it matters for another dial.
typedef enum mlt_dial_cause {
    MLT_DIAL_VAIN,          // nothing is known that would be the same next time
    MLT_DIAL_REFUSED,       // a process of the job answered, and the two cannot talk
    MLT_DIAL_NO_DESCRIPTOR, // this process had none left
} mlt_dial_cause;
mlt_dial_cause mlt_dial_why(const mlt_dial *dial); // after MLT_ERR_CLOSED

// What was tried, a line each: "  from 10.0.0.1 to 10.0.0.2:40000: Connection refused".
void mlt_dial_tell(const mlt_dial *dial, mlt_text *text);
