// SPDX-License-Identifier: BSD-3-Clause
// What the files of p2p share, and the words they speak on a ring.
//
// eager        EAGER(data) ....................... complete at once
// eager, sync  EAGER|SYNC(sender, data) .......... matched: FIN(sender)
// large        RTS(sender, address) .............. matched, and then
//   process      the receiver copies; FIN(sender)
//   larger       HELP(sender, receiver), both copy; if the sender copied the last piece:
//                TAKEN(sender, receiver); FIN(sender). dst is 1 if neither side has gaps
//   read         the receiver reads the sender's memory; FIN(sender)
//   larger       SHARE(sender, receiver, address), both copy (direct.c); FIN(sender) if the
//                receiver ended it, TAKEN(sender, receiver) if the sender did; CTS if it broke
//   chunks       CTS(sender, receiver); DATA(receiver, chunk, offset) ..., or PIECE(receiver,
//                offset, data) while other receivers have all chunks
//   host         CTS(sender, receiver); DATA(receiver, offset): from the user's memory into the
//                user's memory, if the receiver has no gaps (CTS: dst is 1); otherwise PIECE
//   host, long   EAGER(data), in a long frame: as host, without RTS and CTS; complete when the
//                system has it
//   chunks and host: bounce buffers lie between them and a side in memory of a device (bounce.h)
// cancel       CANCEL(sender) .................... CANCELLED(sender, yes or no)
// device       RTS|DEVICE(sender, spot) .......... matched, both sides in memory of a device, and then one of
//                                                  them copies for both (device.c):
//   receiver     copies; FIN(sender)
//   sender       PUT(sender, receiver, spot); DONE(receiver), or DATA ... if it cannot
//                SHOW(id) to whoever has a spot that is not open here; a packet with its key
// hold         HOLD ............................. slot.bytes of the receiver's messages wait for a
//                                                  receive there; only between hosts
// note         NOTE(what, value) ................. for the layer above
// packet       PACKET(data) ...................... for the layer above; type, context and tag are
//                                                  its kind, object and word
//
// A sender or receiver is named by the address of its request in its own process; only that process
// uses it. Between hosts it has a name that can be checked (wire/token.h).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/list.h"
#include "base/pool.h"
#include "gpu/share.h"
#include "p2p/match.h"
#include "p2p/now.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"
#include "wire/wire.h"

typedef enum slot_kind {
    SLOT_EAGER = MLT_SLOT_EAGER,
    SLOT_RTS,
    SLOT_CTS,
    SLOT_DATA,
    SLOT_FIN,
    SLOT_CANCEL,
    SLOT_CANCELLED,
    SLOT_HELP,
    SLOT_TAKEN,
    SLOT_NOTE,
    SLOT_SHARE,
    SLOT_PIECE, // as DATA, but the data lie in the ring: other receivers have all chunks
    SLOT_PACKET,
    SLOT_HOLD,
    SLOT_PUT,
    SLOT_DONE,
    SLOT_SHOW,
} slot_kind;

enum {
    SLOT_SYNC = 1,       // EAGER: payload names the sender; RTS: always answered anyway
    SLOT_CONTIGUOUS = 2, // RTS: address .. address + bytes is the message
    SLOT_DEVICE = 4,     // RTS: the payload is a slot_spot
};

// Payload of RTS, CTS, FIN, CANCEL, CANCELLED, HELP, TAKEN, NOTE, and of EAGER with SLOT_SYNC.
typedef struct slot_names {
    uint64_t sender; // NOTE: what
    uint64_t other; // RTS: address; CTS, HELP, TAKEN: receiver; CANCELLED: 1 if it was; NOTE: value
} slot_names;

typedef struct slot_share { // payload of SHARE; slot.bytes is the length
    uint64_t sender, receiver;
    uint64_t address; // of the receiver's buffer
    uint32_t index;   // of the ring's shares
    uint32_t number;
} slot_share;

typedef struct slot_spot {     // payload of RTS|DEVICE and PUT; slot.bytes of PUT is the length
    uint64_t sender, receiver; // receiver: PUT only
    mlt_gpu_spot spot;         // of the sender's data; PUT: of the receiver's buffer
} slot_spot;

typedef struct slot_chunk { // payload of DATA and PIECE; slot.bytes is the length
    uint64_t receiver, offset;
    uint32_t chunk, unused; // chunk: DATA only
} slot_chunk;

enum { PACKET_KEY = 0xffff }; // of p2p's own: an mlt_gpu_key

typedef enum req_stage {
    STAGE_NONE = MLT_STAGE_NONE,
    STAGE_QUEUED,                    // waits for room in the ring
    STAGE_LOCAL,                     // open at a rank of this worker: req->remote is the mlt_msg
    STAGE_ASKED,                     // the envelope has left, the answer will come
    STAGE_STREAM,                    // being sent in chunks
    STAGE_POSTED = MLT_STAGE_POSTED, // receives: in the match queue
    STAGE_MOVING,                    // receives: matched, data is under way
} req_stage;

// A message that found no room in its ring.
typedef struct out_node {
    mlt_list_node node;
    mlt_req *req;    // a send that has not left; NULL: the slot below
    void *body;      // of a packet whose data are not in the slot; NULL: none
    uint8_t in_slot; // bytes of the slot's payload
    mlt_slot slot;
} out_node;

typedef struct mlt_p2p_state {
    mlt_list_node waiting; // peers with a queue
    mlt_list_node streams; // sends in STAGE_STREAM, by req->node
    mlt_list_node
        fetches;         // receives whose data wait to be read out of another process, by req->node
    mlt_list_node later; // mlt_work
    mlt_list_node again; // mlt_work of the next step, while this one's runs
    mlt_pool outs;
    struct mlt_p2p_device *device; // device.c; NULL until the first copy
    struct mlt_p2p_told *told;     // copied.c
    struct mlt_p2p_bounce *bounce; // bounce.c; likewise
    uint64_t long_most; // largest eager message to another host, if its data need no copy
    uint64_t spin_ns;
    bool crowded;    // more workers than cores
    bool read_peers; // large messages between processes are read, and nobody refused that yet
    bool chose_read; // what it was at first
    bool write_refused;
    uint32_t barren;   // polls in a row without progress
    uint32_t patience; // so many of them before others are let run
    uint32_t io_known; // with a gate: mlt_io_changes when the driver went to sleep
    uint32_t shy;      // waits in which it does not let others run before it sleeps
    uint32_t ticks;
    uint32_t hurries;   // progress steps in a row that ended early
    uint32_t near;      // steps for which sockets are looked at less often: a ring had something
    uint32_t passed;    // steps since they were looked at
    uint64_t pushed_ns; // when a message of a burst was written last
    uint64_t patrol_ns; // when connections are looked at next
    uint64_t started_ns;
    int doorbell; // by which others wake the worker while it waits for descriptors; NO_BELL
} mlt_p2p_state;

// Polls in vain before a worker lets others run: where cores are shared, and where they are not.
enum { MLT_POLLS_FEW = 8, MLT_POLLS_MANY = 4096 };

enum { NO_BELL = -1, NO_BELL_EVER = -2 }; // not yet; the system has none

static inline mlt_envelope slot_envelope(const mlt_slot *slot)
{
    return (mlt_envelope){.bytes = slot->bytes,
                          .context = slot->context,
                          .src = slot->src,
                          .tag = slot->tag,
                          .type = slot->type};
}

// Of a send.
static inline mlt_envelope req_envelope(const mlt_req *req)
{
    return (mlt_envelope){.bytes = req->total,
                          .context = req->context,
                          .src = req->self,
                          .tag = req->tag,
                          .type = req->type->code};
}

// Whether the data are copied by a device.
static inline bool is_by_device(const mlt_type *to, const mlt_type *from)
{
    return MLT_UNLIKELY(!(to->contiguous && from->contiguous)) && (to->device || from->device);
}

// What a wait for this request is called in reports.
static inline mlt_wait_kind wait_kind(const mlt_req *req)
{
    return req->kind == MLT_REQ_SEND   ? MLT_WAIT_SEND
           : req->kind == MLT_REQ_RECV ? MLT_WAIT_RECV
                                       : MLT_WAIT_OTHER;
}

// What came for the layers above.
void mlt_p2p_note_came(mlt_worker *worker, uint32_t from, uint64_t what, uint64_t value);
void mlt_p2p_packet_came(mlt_worker *worker, uint32_t from, const mlt_packet *packet,
                         const void *data, uint64_t bytes);

// What was posted to other hosts leaves, as far as there is room. True: something has left.
static inline bool mlt_p2p_push(mlt_worker *w)
{
    return MLT_UNLIKELY(w->wire->over != NULL) && w->wire->over->push(w->wire);
}

// send.c
void mlt_p2p_control(mlt_worker *w, mlt_peer *peer, slot_kind kind, uint64_t sender, uint64_t other,
                     int32_t dst, uint64_t bytes);
void mlt_p2p_control_with(mlt_worker *w, mlt_peer *peer, slot_kind kind, const void *payload,
                          size_t size, int32_t dst, uint64_t bytes);
void mlt_p2p_answered(mlt_worker *w, mlt_peer *peer,
                      const mlt_slot *slot); // CTS, FIN, CANCELLED, HELP, SHARE, PUT
void mlt_p2p_send_in_chunks(mlt_worker *w, mlt_req *send, uint64_t receiver, uint64_t bytes);
// CTS, FIN, CANCELLED of another host; false: they answer nothing.
bool mlt_p2p_answered_far(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot) MLT_MUST_CHECK;
bool mlt_p2p_flush(mlt_worker *w);  // queued messages; true if any left
void mlt_p2p_forget(mlt_worker *w); // what will never leave, or come
bool mlt_p2p_pump(mlt_worker *w);   // streams; true if any moved
void mlt_p2p_mark_starved(mlt_worker *w, bool starved);

// A message inside one process that sender and receiver copy together, piece by piece. Blocks with
// gaps between take several times as long as plain bytes, so sharing pays earlier.
enum {
    SHARED_LEAST = 256 << 10,
    SHARED_PIECE = 64 << 10,
    SHARED_LEAST_GAPS = 32 << 10,
    SHARED_PIECE_GAPS = 8 << 10,
};

// Copies pieces that nobody has claimed. True if the last of all pieces was copied here. Looks at
// `recv` only after it has claimed a piece: until then the receive may be gone. `plain`: no gaps on
// either side.
static inline bool copy_shared(mlt_req *send, const mlt_req *recv, uint64_t total, bool plain)
{
    uint64_t piece = plain ? SHARED_PIECE : SHARED_PIECE_GAPS;
    for (;;) {
        uint64_t at = atomic_fetch_add_explicit(&send->claimed, piece, memory_order_relaxed);
        if (at >= total)
            return false;
        uint64_t n = total - at < piece ? total - at : piece;
        if (plain)
            memcpy((char *)recv->buf + at, (const char *)send->buf + at, n);
        else
            mlt_type_move(recv->type, recv->buf, send->type, send->buf, at, n);
        // acq_rel: whoever reaches the total has seen all copies.
        if (atomic_fetch_add_explicit(&send->copied, n, memory_order_acq_rel) + n == total)
            return true;
    }
}

// direct.c

// Fetches a plain message out of the sender's process. MLT_OK: it is there. MLT_PENDING: not yet;
// the receive will be completed. An error: it cannot be fetched, and the sender still waits. late:
// the message came before its receive, for which nobody may wait yet.
mlt_status mlt_p2p_fetch_directly(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender,
                                  uint64_t address, bool late) MLT_MUST_CHECK;
bool mlt_p2p_fetch_some(mlt_worker *w); // a piece of what waits; true if there was one
void mlt_p2p_share_taken(mlt_worker *w, mlt_peer *peer, mlt_req *recv); // TAKEN has come
// SHARE has come; true if the message has left.
bool mlt_p2p_share_help(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot) MLT_MUST_CHECK;

// recv.c
void mlt_p2p_ask_for_chunks(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender);
void mlt_p2p_arrived(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot); // any slot of a ring
// Any frame of another host. A fault of it goes into *fault.
void mlt_p2p_arrived_far(mlt_worker *w, mlt_peer *peer, const mlt_wire_frame *frame,
                         const char **fault);
// Where the data of a long frame go, and how many of them. A fault of the frame goes into *fault.
unsigned char *mlt_p2p_place_far(mlt_worker *w, mlt_peer *peer, const mlt_wire_frame *frame,
                                 uint64_t *bytes, const char **fault);
void mlt_p2p_hold_local(mlt_worker *w, mlt_rank *to, mlt_req *send); // a send that found no receive
// Of a message in a user's buffer; type NULL: contiguous bytes. take: one copy, straight; completes recv.
void mlt_p2p_hold_copy(mlt_worker *w, mlt_rank *to, const void *buf, const mlt_type *type,
                       const mlt_envelope *e);
void mlt_p2p_take_local(mlt_req *recv, const void *buf, const mlt_type *type,
                        const mlt_envelope *e);
void mlt_p2p_take_from_device(mlt_req *recv, mlt_req *send, const mlt_envelope *e);
void mlt_p2p_drop(mlt_worker *w, mlt_msg *msg);
// A held message whose sender waits with its data: they are in `data` from now on, which is the
// message's, and the sender may go on.
void mlt_p2p_keep(mlt_worker *w, mlt_msg *msg, void *data);

// progress.c
bool mlt_p2p_progress(mlt_worker *w);
bool mlt_p2p_look_at_cold(mlt_worker *w); // connections that rang are among those of the next look
void mlt_p2p_idle(void *worker);
void mlt_p2p_breathe(void *worker);
