// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms for lists of messages share: the rank's messages to and from others in the
// order of their distance, nearest first. A message of distance d is sent to the rank d further on
// and comes from the one d further back, so it has the same distance at both ends: messages that
// wait only for nearer ones cannot wait in a circle.
//
// Several messages of one distance may stand in another order in the other rank's list (their tags
// differ), so they must not wait for each other.
#pragma once

#include <stdint.h>

#include "coll/alg/emit.h"

typedef struct mlt_exchange_entry {
    uint32_t distance, index; // in the rank's list
    uint32_t first;           // the first entry here of that distance
    uint32_t action;          // when it is emitted
} mlt_exchange_entry;

typedef struct mlt_exchange {
    mlt_goal_span in, out;
    uint32_t sends, recvs;
    mlt_exchange_entry *send, *recv;
} mlt_exchange;

// Declares the buffers, emits what the rank sends to itself as copies, and sorts the rest. A list
// that sends to itself what it does not receive ends the process: the caller makes no such list.
mlt_exchange mlt_exchange_begin(const mlt_emit *e);
void mlt_exchange_end(mlt_exchange *x);

// Emits entry i of what is sent, or received.
uint32_t mlt_exchange_send(const mlt_emit *e, mlt_exchange *x, uint32_t i, uint32_t after);
uint32_t mlt_exchange_recv(const mlt_emit *e, mlt_exchange *x, uint32_t i, uint32_t after);
