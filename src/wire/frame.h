// SPDX-License-Identifier: BSD-3-Clause
// A frame: a message as it travels to another host. Both hosts have the same byte order and the
// same sizes of types: the greeting of their connection has made sure of that.
//
//     head (40 bytes) | so many bytes of the slot's payload | data
//
// Each of the two parts that follow is filled up with zeros to a multiple of 8 bytes, so that a
// frame can be read where it lies.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/ring.h"

typedef enum mlt_wire_frame_kind {
    MLT_WIRE_FRAME_MESSAGE = 1, // a slot and its data
    MLT_WIRE_FRAME_DATA, // the data go into memory that its receiver has named (mlt_wire_frame_place)
    MLT_WIRE_FRAME_CREDIT, // slot.bytes: so many bytes of the receiver's frames were consumed so far
    MLT_WIRE_FRAME_END, // nothing follows: the process has ended in order. slot.flags: 1: whatever it
    // has sent came by this connection; a second one may have had its end before
    MLT_WIRE_FRAME_LONG, // a slot, whose receiver says where the data go (mlt_wire_place); only to a
    // process with one worker
    MLT_WIRE_FRAME_OFFER,  // between processes: an endpoint of a fabric (ofi/switchover.h)
    MLT_WIRE_FRAME_SWITCH, // ... what follows comes by the fabric
    MLT_WIRE_FRAME_FETCH, // as DATA, by a fabric: the receiver is to read them; in place of the data
                          // there is an mlt_wire_frame_fetch
} mlt_wire_frame_kind;

typedef struct mlt_wire_frame {
    uint32_t length; // bytes of data
    uint8_t in_slot; // bytes of the slot's payload
    uint8_t kind;    // mlt_wire_frame_kind
    uint16_t from;   // the sender's number among the workers of its process
    mlt_slot slot;   // its stamp is the receiver's number among the workers of its process
} mlt_wire_frame;

// The slot's payload in DATA: a name of the receiver's (wire/token.h), and where the data belong in
// the memory that it stands for. The user of the wire may let more follow.
typedef struct mlt_wire_frame_place {
    uint64_t name, offset;
} mlt_wire_frame_place;

typedef struct mlt_wire_frame_fetch {
    uint64_t address, key; // wire/ofi/fabric.h
} mlt_wire_frame_fetch;

enum {
    MLT_WIRE_FRAME_OFFER_MOST = 512, // bytes of data in OFFER
    MLT_WIRE_FRAME_HEAD = offsetof(mlt_wire_frame, slot.payload),
    MLT_WIRE_FRAME_MOST = 8 << 10,      // bytes of data in MESSAGE
    MLT_WIRE_FRAME_DATA_MOST = 1 << 20, // ... in DATA and LONG
    MLT_WIRE_FRAME_LARGEST = sizeof(mlt_wire_frame) + MLT_WIRE_FRAME_MOST,
};
_Static_assert(MLT_WIRE_FRAME_HEAD == 40 && sizeof(mlt_wire_frame) == 72,
               "what follows is aligned");

static inline uint64_t mlt_wire_frame_pad(uint64_t bytes)
{
    return (bytes + 7) & ~UINT64_C(7);
}

// Where its data begin, from the start of the frame; and its whole length.
static inline uint32_t mlt_wire_frame_data_at(const mlt_wire_frame *frame)
{
    return MLT_WIRE_FRAME_HEAD + (uint32_t)mlt_wire_frame_pad(frame->in_slot);
}

static inline uint64_t mlt_wire_frame_bytes(const mlt_wire_frame *frame)
{
    return mlt_wire_frame_data_at(frame) + mlt_wire_frame_pad(frame->length);
}

static inline const unsigned char *mlt_wire_frame_data(const mlt_wire_frame *frame)
{
    return (const unsigned char *)frame + mlt_wire_frame_data_at(frame);
}

static inline uint32_t mlt_wire_frame_to(const mlt_wire_frame *frame)
{
    return atomic_load_explicit(&frame->slot.stamp, memory_order_relaxed);
}

// What is wrong with the head of a frame from a process of `from` workers to one of `to`; NULL: it
// may be read on.
const char *mlt_wire_frame_fault(const mlt_wire_frame *frame, uint32_t from, uint32_t to);
