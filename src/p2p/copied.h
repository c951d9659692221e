// SPDX-License-Identifier: BSD-3-Clause
// What devices copy is counted (mlt_ctl_copies), and told to whoever watches the worker. Each of these
// is called where a copy was seen to be done, but for messages in chunks, which are counted when their
// data begin to move.
#pragma once

#include "gpu/batch.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"
#include "wire/wire.h"

static inline uint8_t mlt_p2p_copy_kind(const mlt_gpu_transfer *transfer)
{
    bool from = transfer->from_device || transfer->from_other;
    return transfer->to_device && from ? MLT_COPY_INSIDE : from ? MLT_COPY_OUT : MLT_COPY_IN;
}

// since: mlt_arch_cycles() when the device was asked to.
void mlt_p2p_copied(mlt_worker *w, mlt_rank *rank, uint8_t way, uint64_t bytes, uint64_t since);

// A batch that is done was all of a collective call. It counts for the worker's first rank.
void mlt_p2p_copied_call(mlt_worker *w, const mlt_gpu_batch *batch);

// mlt_upcalls.device_copied. It counts for the rank that runs.
void mlt_p2p_copied_now(bool to_device, bool from_device, uint64_t bytes, uint64_t since);

// So many bytes of a message begin to go in chunks, of which this side is memory of a device.
void mlt_p2p_copied_chunks(mlt_worker *w, mlt_peer *peer, mlt_req *req, uint64_t bytes) MLT_COLD;

// The same of the peer's side, which believes that this one copies for both.
void mlt_p2p_copied_chunks_there(mlt_worker *w, uint64_t bytes) MLT_COLD;

// As mlt_type_pack and mlt_type_unpack, of a piece of such a message: it was counted.
void mlt_p2p_pack_piece(const mlt_req *send, uint64_t at, void *to, uint64_t bytes);
void mlt_p2p_unpack_piece(mlt_req *recv, uint64_t at, const void *data, uint64_t bytes);

// The worker ends.
void mlt_p2p_copied_free(mlt_worker *w);
