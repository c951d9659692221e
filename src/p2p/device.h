// SPDX-License-Identifier: BSD-3-Clause
// Messages inside a host of which sides are memory of a device: their copies are started together in the
// next progress step, and the messages are complete in a later one, while ranks run.
//
// Between two processes, one copies for both: a device takes turns between processes that use it, which
// takes ten times as long as a small copy. It is the one with the lower number, so that of two that
// exchange messages the other one leaves the device alone. It opens the other's memory (gpu/share.h),
// and keeps it open. Where that is not possible, or a side has gaps or is memory of the host, the data go
// in chunks (bounce.h), as those of types with gaps do.
//
// A small message that nobody receives yet leaves its device memory in the next progress step, too, as
// one of host memory does at once. Until then a receive may come, and save that copy.
#pragma once

#include "gpu/batch.h"
#include "p2p/p2p_int.h"

typedef struct mlt_p2p_device mlt_p2p_device;

// Moves the data of a message that has met its receive, which was accepted. Afterwards completes
// `send`, a request of this worker, if it is not NULL; tells `sender` of that peer that it is over, if
// peer is not NULL; and completes the receive. A NULL type is contiguous bytes.
void mlt_p2p_device_move(mlt_worker *w, mlt_req *recv, const void *buf, const mlt_type *type,
                         mlt_req *send, mlt_peer *peer, uint64_t sender);

// A message to that rank is held whose sender, of this process, waits with data in memory of a device.
void mlt_p2p_device_held(mlt_worker *w, mlt_rank *to);

// Finds out whose memory it is. The job ends with a message if it is no device's: the program has freed it
// meanwhile.
void mlt_p2p_device_look(mlt_gpu_transfer *transfer);

// ---- between processes

// Bytes of a device that lie one after the other.
bool mlt_p2p_device_is_plain(const mlt_type *type);

// Whether the peer, or this process for it, can copy the message out of where it lies.
bool mlt_p2p_device_shows(const mlt_peer *peer, const mlt_req *send, mlt_gpu_spot *spot);

// Fetches a message that has met its receive, which was accepted, from that spot of the peer's.
void mlt_p2p_device_fetch(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender,
                          const mlt_gpu_spot *spot);

// PUT has come: the sender copies. DONE: it has. SHOW: the peer wants a key.
void mlt_p2p_device_put(mlt_worker *w, mlt_peer *peer, mlt_req *send, const mlt_slot *slot);
void mlt_p2p_device_done(const mlt_slot *slot);
void mlt_p2p_device_show(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot);
void mlt_p2p_device_key_came(mlt_worker *w, const mlt_peer *peer, const void *data);

// A receive has met a message that is on its way to the host.
void mlt_p2p_device_take_coming(mlt_req *recv, mlt_msg *msg);

void mlt_p2p_device_free(mlt_worker *w);
