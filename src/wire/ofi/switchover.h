// SPDX-License-Identifier: BSD-3-Clause
// The switch-over of a pair: frames go as packets of a fabric (wire/ofi/fabric.h) instead of bytes of
// the connection. The connection stays: it is how both sides know that the other one lives, has
// ended or is lost, and how they have learnt of each other.
//
//     A                          connection                        B
//       OFFER: endpoint, nonce for B's packets    -->
//                                                 <--   OFFER: endpoint, nonce for A's packets
//                                 fabric
//       HELLO                                     -->
//                                                 <--   CONTROL: one packet of yours was taken
//                                connection
//       SWITCH: the last frame that comes here    -->
//                                 fabric
//       frames                                    -->
//
// Each direction switches on its own, when the fabric was proven: whatever fails before leaves the pair
// with its connection. After it, a failure of the fabric is a lost connection. Packets that come
// before SWITCH was read wait for it, so the order is kept.
//
// Every packet begins with an ofi_packet: the nonce that its receiver has chosen for this pair, which
// only the other end of the greeted connection knows, the sender's process, and how many packets the
// sender has taken. At most 32 are under way. Frames are not cut, but for data that come
// from the user's memory (LONG), which may go on in the next packet.
//
// Data that their receiver has named (DATA) are read by it from the sender's memory (FETCH), if both
// fabrics can: the frame has their address, and when they are there CONTROL counts them, which
// is counted as messages are (wire->sent), since it wakes whoever waits for them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "boot/job.h"
#include "wire/frame.h"
#include "wire/tcp/pair.h"
#include "wire/transport.h"

// ---- the endpoint's

// Opens the fabric that the setting asks for. NULL: it asks for none, or there is none.
ofi_endpoint *mlt_switchover_enter(tcp_endpoint *endpoint, mlt_job *job, uint32_t proc, int ctl);
void mlt_switchover_leave(ofi_endpoint *o);

// Takes what came by the fabric. True: there was something.
bool mlt_switchover_poll(tcp_worker *me, const mlt_wire_taker *taker, bool *enough);

// As mlt_switchover_poll, but what came waits for the next look, and the worker is woken for it.
void mlt_switchover_patrol(tcp_worker *me);

// The descriptor to sleep on, or -1; and whether that is allowed.
int mlt_switchover_fd(const ofi_endpoint *o);
bool mlt_switchover_may_sleep(tcp_worker *me);
// Packets have come that nobody has taken.
bool mlt_switchover_has_held(const ofi_endpoint *o);

// Nothing is read into the worker's memory any more.
void mlt_switchover_withdraw(tcp_worker *me);

// ---- the pair's

ofi_switchover *mlt_switchover_new(ofi_endpoint *o); // NULL: there is no fabric
void mlt_switchover_free(ofi_switchover *s);

// It has its first connection, which does not encrypt: an offer is to be written.
void mlt_switchover_offer(tcp_pair *pair);

// What is to be written to the connection before anything else. False: there was no room for all.
bool mlt_switchover_write_control(tcp_pair *pair, tcp_link *link);

// At the end of a frame: switches if the fabric is proven. True: from now on mlt_switchover_write writes.
bool mlt_switchover_switch(tcp_pair *pair, tcp_link *link);
bool mlt_switchover_is_out(const tcp_pair *pair); // that has happened
bool mlt_switchover_is_in(const tcp_pair *pair);  // the other side has done so
bool mlt_switchover_write(tcp_pair *pair); // inside the pair's lock; true: something has left
// Around dropping what a pair that is gone was to send.
void mlt_switchover_begin_drop(tcp_pair *pair);
void mlt_switchover_end_drop(tcp_pair *pair);

// What came by the connection.
void mlt_switchover_heard_offer(tcp_pair *pair, const mlt_wire_frame *frame);
void mlt_switchover_heard_switch(tcp_pair *pair);

// What came by the fabric: data that are to be read into that memory (NULL: nobody wants them).
void mlt_switchover_fetch(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame,
                          unsigned char *land);

// Whether it and the other side read each other's memory.
bool mlt_switchover_reads(const tcp_pair *pair);

// The end mark. Whether it, and everything before it, was taken by the other side.
void mlt_switchover_write_mark(tcp_pair *pair);
bool mlt_switchover_is_settled(const tcp_pair *pair);
