// SPDX-License-Identifier: BSD-3-Clause
// Matching of one rank: posted receives against arrived messages, by context, source and tag.
//
// While a queue is short it is one list in order. When it grows, exact receives (no wildcard) and
// messages are also hashed, so an exact match is found in constant time whatever else is queued:
//
//     posted      exact ones in buckets, those with a wildcard in `all`; `order` says which of two
//                 candidates is older
//     unexpected  every message in `all` (arrival order, for wildcards) and in its bucket (for
//                 exact receives)
//
// Either way MPI's rule holds: of all that match, the oldest.
#pragma once

#include <stdint.h>

#include "p2p/p2p.h"

enum {
    MLT_MSG_MAGIC = 0x4d657373,
    MLT_MATCH_SHORT = 16, // a queue of so many is one list
    MLT_MATCH_CROWD = 4,  // of so many a bucket, it has enough buckets
    MLT_MSG_SMALL = 64,   // bytes of a held message from the worker's pool
};

typedef enum mlt_msg_kind {
    MLT_MSG_EAGER,  // the data lies in the message
    MLT_MSG_REMOTE, // the sender, on another worker, waits with its buffer until we fetch the data
    MLT_MSG_LOCAL,  // the sender is a rank of this worker; its request is still open
    MLT_MSG_KEPT,   // it was one of the two; the data were copied, and the sender has gone on
    MLT_MSG_COMING, // it will be one: the data are on their way
} mlt_msg_kind;

struct mlt_msg {
    mlt_list_node all, bucket;
    uint32_t magic;
    uint8_t kind;  // mlt_msg_kind
    uint8_t flags; // of the slot it came in
    uint16_t type;
    uint32_t context;
    int32_t src, tag;
    uint64_t cost; // bytes of memory that it holds
    uint64_t bytes;
    struct mlt_peer *peer; // NULL: from this worker
    uint64_t sender;       // the sender's request, in its own process
    uint64_t address;      // its buffer; KEPT: the copy, of malloc
    unsigned char data[];
};

static inline void mlt_msg_set(mlt_msg *msg, mlt_msg_kind kind, const mlt_envelope e)
{
    msg->kind = (uint8_t)kind;
    msg->type = e.type;
    msg->context = e.context;
    msg->src = e.src;
    msg->tag = e.tag;
    msg->bytes = e.bytes;
}

static inline mlt_envelope mlt_msg_envelope(const mlt_msg *msg)
{
    return (mlt_envelope){.bytes = msg->bytes,
                          .context = msg->context,
                          .src = msg->src,
                          .tag = msg->tag,
                          .type = msg->type};
}

// Of a queue that has buckets, the one of such messages.
static inline mlt_list_node *mlt_match_bucket(const mlt_match_queue *queue, uint32_t context,
                                              int32_t src, int32_t tag)
{
    uint64_t h = ((uint64_t)(uint32_t)src << 32 | (uint32_t)tag) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= (h >> 32) + context * UINT64_C(0xff51afd7ed558ccd);
    return &queue->buckets[(uint32_t)(h >> 20) & queue->mask];
}

void mlt_match_init(mlt_match_queue *queue);
void mlt_match_fini(mlt_match_queue *queue);

// Adds a receive; removes one that has not matched.
void mlt_match_post(mlt_rank *rank, mlt_req *req, uint64_t order);
void mlt_match_unpost(mlt_rank *rank, mlt_req *req);

// The receive that this envelope matches, removed; NULL if there is none.
mlt_req *mlt_match_take_posted(mlt_rank *rank, uint32_t context, int32_t src, int32_t tag);

// Adds a message that has arrived without a receive; removes it.
void mlt_match_hold(mlt_rank *rank, mlt_msg *msg);
void mlt_match_unhold(mlt_rank *rank, mlt_msg *msg);

// The message that such a receive matches, which stays held until mlt_match_unhold; NULL if there
// is none.
mlt_msg *mlt_match_find_held(mlt_rank *rank, uint32_t context, int32_t src, int32_t tag);
