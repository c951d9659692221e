// SPDX-License-Identifier: BSD-3-Clause
// Things that other workers and programs can reach: numbered objects, and channels between
// programs.
//
// A channel lives in the worker that made it, its home. Elsewhere its ends are stand-ins
// (csp_chan.remote): an offer to read or to write is sent home, stands in the queue there, and its
// outcome comes back. A plain read or write is bound to be taken, so it costs a message and an
// answer:
//
//     stand-in                               home
//     WRITE(op, value)   ------------------> offer; when a reader has taken the value:
//                        <------------------ DONE(op, status)
//     READ(op)           ------------------> offer; when a writer is there:
//                        <------------------ DONE(op, status, value)
//
// An offer of an alternation may have been served elsewhere when its counterpart comes, so it is
// asked:
//
//     OFFER(op, value or none) ------------> offer; when a counterpart is there:
//                        <------------------ ASK(op)      the alternation, if open, is promised:
//     YES(op) or NO(op)  ------------------> YES and a counterpart is (still) there:
//                        <------------------ DONE(op, status, value)
//                                            YES, but none is any more:
//                        <------------------ AGAIN(op)    the promise is void, the offer stands
//     WITHDRAW(op)       ------------------> out of the queue (or DONE is on its way)
//                        <------------------ GONE(op)
//
// A promised alternation answers other ASKs with NO, and offers anew (OFFER) when its promise is
// void. Nobody waits for a promise while holding one: no cycle. A deadline withdraws.
#ifndef MLT_CSP_NET_H
#define MLT_CSP_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "csp/chan.h"
#include "csp/route.h"
#include "csp/state.h"

typedef enum mlt_object_kind {
    MLT_OBJECT_NONE,
    MLT_OBJECT_CHAN,
    MLT_OBJECT_PORT,
} mlt_object_kind;

// The worker's things that others know by a number. Numbers are not used again soon.
typedef struct mlt_net {
    mlt_csp *csp;
    mlt_link routes;  // mlt_route.link
    mlt_route **to;   // [workers of the job]; NULL: not used yet
    void **objects;   // [slots]
    uint32_t *checks; // [slots]: number of the object that is there; 0: none
    uint32_t slots, next;
    mlt_endpoint own;
    void *listener;          // wire_socket.c
    struct mlt_names *names; // names.h
} mlt_net;

// Makes it at the first call.
mlt_net *mlt_net_of(mlt_csp *csp);
void mlt_net_end(mlt_csp *csp); // mlt_csp_end calls it

uint32_t mlt_net_add(mlt_csp *csp, void *object, mlt_object_kind kind);  // its number, above 0
void *mlt_net_find(mlt_csp *csp, uint32_t number, mlt_object_kind kind); // NULL: it is gone
void mlt_net_drop(mlt_csp *csp, uint32_t number);

// A stand-in for channel `number` of that route, with one reader or one writer. NULL: refused, the
// status tells. Waits for the answer.
csp_status mlt_net_open(mlt_csp *csp, mlt_route *route, uint32_t number, size_t size, bool writer,
                        csp_time deadline, csp_chan **out);

#endif
