// SPDX-License-Identifier: BSD-3-Clause
// Bounce buffers: pinned memory of the host, through which messages in chunks go whose data are memory of
// a device. To another host, and between processes of a host where no side opens the other's memory.
//
//   sender    device ==copy==> buffer --memcpy--> chunks of a ring, frames of a connection
//   receiver  chunks, frames --memcpy--> buffer ==copy==> device
//
// The device copies up to MLT_BOUNCE_BYTES at a time, takes gaps out and puts them in, and the worker
// goes on meanwhile: ranks run, and what lies in other buffers leaves. A message has up to
// MLT_BOUNCE_EACH buffers, of which some are being filled while another one is emptied. Between two
// processes a GPU takes turns of 150 us; in one of them it fills all buffers of a message, and 4 MiB
// in two turns are 14 GB/s, more than the two memcpys are worth.
//
// A message that fits one chunk, or one frame, has no buffer: it is packed and unpacked at once. Neither
// has a message whose side is memory of the host: nothing here is called for it.
//
// Order. A buffer has one stretch of one message, and they are filled and emptied in the order of the
// message, though their copies end in any. A send is complete when its last byte is in a chunk, which
// is later than its last copy; a receive when its last copy has ended.
//
// Memory. A worker has MLT_BOUNCE_BUFFERS buffers for sends and as many for receives, each made and
// pinned when it is needed first, and kept until the worker's end. They are apart, as two workers that
// send to each other must both be able to receive. What if there is none:
//
//   receive  waits for the end of a copy. If none is under way, others have all buffers and wait for
//            chunks: this chunk is unpacked at once. It cannot be left where it is, since what others wait
//            for may come behind it
//   send     waits for one, as long as others are given back. If that has not happened for a
//            millisecond, their receivers do not look, and it packs its chunks at once
//
// Where the driver does not pin memory, buffers are ordinary memory: right, but its copies wait.
//
// A send is in STAGE_STREAM and in the list of streams all the while, a receive in STAGE_MOVING. A
// worker that has copies under way, or a send that waits for a buffer, does not sleep. All of it is
// used by the worker's thread. Refused copies end the job (gpu/gpu.h).
#pragma once

#include "p2p/p2p_int.h"

enum {
    MLT_BOUNCE_BYTES = 1 << 20,
    MLT_BOUNCE_EACH = 4,
    MLT_BOUNCE_BUFFERS = 8, // twice that: of sends, and of receives
};

typedef struct mlt_p2p_bounce mlt_p2p_bounce;

// ---- a send in chunks from memory of a device

// How far the data can be sent now: they can from send->moved up to there. Starts copies; whether
// they have ended is looked at in each step. Never further than the stretch of one buffer.
uint64_t mlt_p2p_bounce_reach(mlt_worker *w, const mlt_peer *peer, mlt_req *send);

// Gives the next bytes, as far as they reach at most. The caller moves send->moved on.
void mlt_p2p_bounce_take(mlt_worker *w, const mlt_req *send, void *to, uint64_t bytes);

// ---- a receive in chunks into memory of a device

// The next bytes have come; moves recv->moved on. True: all that came are in their place. False: a device
// copies; if nothing more comes, the receive is completed when it has.
bool mlt_p2p_bounce_put(mlt_worker *w, mlt_req *recv, const void *data,
                        uint64_t bytes) MLT_MUST_CHECK;

// ----

void mlt_p2p_bounce_free(mlt_worker *w);
