// SPDX-License-Identifier: BSD-3-Clause
// Channels between workers, inside: home.c has the home's side, chan.c the stand-ins'.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "csp/chan.h"
#include "csp/net/remote.h"
#include "csp/net/route.h"

// Packets to the home: object is the channel there, src the stand-in, word the op unless it says
// otherwise. Packets to a stand-in: object is the stand-in, src the channel.
typedef enum mlt_chan_packet_kind {
    // word: the question; dst: MLT_OPEN_WRITER or 0; data: mlt_chan_opening
    MLT_CHAN_OPEN = MLT_PACKET_CHAN,
    MLT_CHAN_READ,
    MLT_CHAN_WRITE,
    MLT_CHAN_OFFER_READ,  // data: uint64_t who
    MLT_CHAN_OFFER_WRITE, // data: who, value
    MLT_CHAN_YES,
    MLT_CHAN_NO,
    MLT_CHAN_LATER,
    MLT_CHAN_RENEW,
    MLT_CHAN_WITHDRAW, // dst 1: a plain one, which wants to know
    MLT_CHAN_POISON,
    MLT_CHAN_RETIRE,
    MLT_CHAN_GIVE, // word: the question. The share goes into a parcel
    MLT_CHAN_TO_STAND_IN,
    // word: the question; dst: the status; data: uint32_t size
    MLT_CHAN_OPENED = MLT_CHAN_TO_STAND_IN,
    MLT_CHAN_DONE, // dst: the status; data: the value that was read
    MLT_CHAN_ASK,
    MLT_CHAN_AGAIN,
    MLT_CHAN_GONE,
    MLT_CHAN_LIFE,  // dst: mlt_chan_life
    MLT_CHAN_GIVEN, // word: the question; dst: the status; data: uint64_t, the parcel's ticket
    MLT_CHAN_LEFT,  // data: a value that was in the buffer when the channel went; the reader's now
    MLT_CHAN_ENDS,  // dst: how many have the other end; data: who, in words (mlt_home_ends)
} mlt_chan_packet_kind;

enum { MLT_OPEN_WRITER = 1, MLT_ENDS_TEXT = 120 };

typedef struct mlt_chan_opening {
    uint64_t ticket; // of the parcel whose share is taken over; 0: one more holder
    uint32_t size;
    uint32_t zero;
} mlt_chan_opening;

// Back to whoever sent the packet, about the same question or op.
static inline void mlt_chan_reply(mlt_route *route, const mlt_packet *packet,
                                  mlt_chan_packet_kind kind, int32_t dst, const void *data,
                                  uint64_t bytes)
{
    mlt_packet answer = {.kind = (uint16_t)kind,
                         .object = (uint32_t)packet->src,
                         .word = packet->word,
                         .src = (int32_t)packet->object,
                         .dst = dst};
    mlt_route_send(route, &answer, data, bytes);
}

// csp_chan.net begins with it.
typedef struct mlt_remote_chan {
    csp_chan *chan;
    bool home;       // else: a stand-in
    uint32_t number; // of the object here
} mlt_remote_chan;

static inline mlt_remote_chan *mlt_remote_chan_of(const csp_chan *chan)
{
    return chan->net;
}

// Of a stand-in: the way to its home.
const mlt_route *mlt_remote_chan_route(const csp_chan *chan);

// Who has that end, in words for reports: "rank 0, rank 2 and a parcel". At home, this worker
// itself is left out. Returns how many they are, or UINT32_MAX: it is not known here.
uint32_t mlt_remote_chan_ends(const csp_chan *chan, bool writer, char *text, size_t size);

// A promise of a local alternation is void: it is open again, and all homes that were told LATER
// hear of it (RENEW).
void mlt_remote_release(mlt_csp *csp, mlt_alt *alt);

// The worker ends. leave: values that are left in buffers go to those who read elsewhere. end: the
// same, then frees the homes and stand-ins.
void mlt_remote_chan_leave(mlt_csp *csp);
void mlt_remote_chan_end(mlt_csp *csp);

// home.c
void mlt_home_packet(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes);
bool mlt_home_offer(csp_chan *chan, mlt_offer *offer, bool writes);
bool mlt_home_withdraw(csp_chan *chan, mlt_offer *offer, bool writes);
void mlt_home_poison(csp_chan *chan);
void mlt_home_retire(csp_chan *chan, bool writer);
void mlt_home_forget(csp_chan *chan); // it is being freed
void mlt_home_bequeath(csp_chan *chan);
uint32_t mlt_home_ends(const csp_chan *chan, bool writer, char *text, size_t size);
void mlt_home_ends_change(csp_chan *chan, bool writer); // some have other ends of that side now

// The share of a holder goes into a parcel, which has that ticket; and out of it again. False: the
// channel has no such parcel, or it was unpacked before.
uint64_t mlt_home_ticket(csp_chan *chan, bool writer);
bool mlt_home_redeem(csp_chan *chan, uint64_t ticket, bool writer);
void mlt_home_end(csp_chan *chan); // frees what it has, nobody is told
