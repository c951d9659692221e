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
//     WITHDRAW(op)       ------------------> late: out of the queue (or DONE is on its way)
//                        <------------------ GONE(op)
//
// An offer of an alternation may have been served elsewhere when its counterpart comes, so it is
// asked:
//
//     OFFER(op, who, value or none) -------> offer; when a counterpart is there:
//                        <------------------ ASK(op)
//     YES(op)            ------------------> the alternation is open, and now promised: nobody else
//                                            may settle it. If a counterpart is (still) there:
//                        <------------------ DONE(op, status, value)
//                                            if none is any more:
//                        <------------------ AGAIN(op): the promise is void, the offer stands
//     LATER(op)          ------------------> it is promised to another home. The offer stands, but
//                                            is not asked before
//     RENEW(op)          ------------------> that promise was void
//     NO(op)             ------------------> it was served elsewhere: the offer is out
//     WITHDRAW(op)       ------------------> the same, without having been asked
//
// Where two alternations meet and one of them is elsewhere, one must be held while the other is
// asked. All alternations have an order (job, worker, address), and a home holds the lower one
// while it asks the higher one, never the other way round: a local one is promised, a remote one
// has said YES. So whoever is held waits for a higher one, which answers at once, or has itself
// promised, as the higher one (then that pair is served) or as the lower one (then it waits for a
// still higher one). The highest waits for nobody: some pair is always served, or every promise
// that stands in its way turns out void. A plain offer is never held: if it is served meanwhile,
// that was progress.
//
// An alternation that is promised takes nothing else. Whoever comes to another of its guards
// meanwhile, at a channel of its own worker too, finds it closed and stands there: nobody will look
// at that pair again but the alternation itself. So when a promise is void it does what it did when
// it began: it tells its own homes of its offers again (mlt_home_offer serves, or asks), renews at
// all homes that were told LATER, looks at its other guards, and watches descriptors anew that have
// fired (alt.c, look_again). It does so when its process runs; until then it is open, and whoever
// comes serves it. If looking promises it anew, what is left is told when that promise is void.
// Therefore: a pair that could be served, with neither side promised, has been looked at by the
// side that came last or was freed last.
//
//     offer of an alternation elsewhere, at home
//     STANDS --ASK--> ASKED --YES--> HELD --its counterpart is served--> out, DONE
//       ^               |              |---the counterpart is gone, or says NO or LATER: AGAIN
//       |               |--LATER--> BUSY                                                   |
//       |--RENEW--------------------' |--NO--> out                                         |
//       '----------------------------------------------------------------------------------'
//
// Whoever holds ends elsewhere is counted at home; a lost route retires its holders, and if those
// were the last ones of their side, the other side finds the channel lost, or retired if the worker
// behind the route has ended in order. What becomes of the channel is told to all stand-ins (LIFE),
// which is the answer to everything they have asked.
//
// Values that are in the buffer when the channel goes (it is freed, or its worker ends in order)
// belong to those who read elsewhere: each gets its part (LEFT) before it hears of the end, keeps
// it, and reads it first.
//
// Stand-ins of the job are told who has the other end (ENDS), when they are opened and whenever
// that changes: hang reports name it. Of many holders, the first few are told and named.
//
// A share in a parcel is counted at home like any other. The home remembers it by a ticket, which
// is good for one OPEN. It gives the ticket out before the parcel exists (GIVE, GIVEN), so no OPEN
// can come before it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "csp/chan.h"
#include "csp/names/names.h"
#include "csp/net/route.h"
#include "csp/state.h"

typedef enum mlt_remote_kind {
    MLT_OBJECT_NONE,
    MLT_OBJECT_CHAN,
    MLT_OBJECT_PORT,
    MLT_OBJECT_STREAM,   // port.c: what this worker sends to a port
    MLT_OBJECT_QUESTION, // question.h
    MLT_OBJECT_STAND_IN, // chan.c: a channel of another worker
} mlt_remote_kind;

typedef struct mlt_remote_object {
    void *at;
    uint32_t number; // 0: none is here
    mlt_remote_kind kind;
} mlt_remote_object;

// The worker's things that others know by a number, which fits an int32_t. Numbers are not used
// again soon.
typedef struct mlt_remote {
    mlt_csp *csp;
    mlt_list_node routes;       // mlt_route.node
    mlt_route **to;             // [workers of the job]; NULL: not used yet
    mlt_remote_object *objects; // [slots], by the last bits of their numbers
    uint32_t slots, used, next;
    mlt_list_node named;   // remote.c: names of things of this worker
    mlt_list_node retired; // chan.c: stand-ins that were used last
    uint32_t retired_count;
    mlt_list_node streams;   // port.c: to ports
    mlt_table by_port;       // port.c: the same, by route, port and rank
    mlt_list_node port_asks; // port.c: for ports that are not there yet
    mlt_endpoint own;
    void *listener;          // socket.c
    struct mlt_names *names; // names.h
} mlt_remote;

// Makes it at the first call.
mlt_remote *mlt_remote_of(mlt_csp *csp);
void mlt_remote_end(mlt_csp *csp); // mlt_csp_end calls it

uint32_t mlt_remote_add(mlt_csp *csp, void *object, mlt_remote_kind kind);  // its number, above 0
void *mlt_remote_find(mlt_csp *csp, uint32_t number, mlt_remote_kind kind); // NULL: it is gone
void mlt_remote_drop(mlt_csp *csp, uint32_t number);

// A stand-in for channel `number` behind that route, with one reader or one writer; or the channel
// itself, if it is this worker's. *out is NULL unless it returns CSP_OK. Waits for the answer.
// ticket: the share of a holder that was packed becomes this one's (parcel.c); 0: one more holder.
csp_status mlt_remote_open(mlt_csp *csp, mlt_route *route, uint32_t number, size_t size,
                           bool writer, uint64_t ticket, csp_time deadline, csp_chan **out);

// Makes a channel one that others can have ends of; its number. Registering and packing do.
uint32_t mlt_remote_share(csp_chan *chan);

// Gives the holder's share of an end away. Returns where the channel is, its number there, and a
// ticket for the next holder. A stand-in must ask its home, so this waits, and is gone afterwards.
// If the channel itself is gone, returns its status, and nothing has happened.
csp_status mlt_remote_give(csp_chan *chan, bool writer, mlt_route **route, uint32_t *number,
                           uint64_t *ticket);

// ---- names of things, for csp_register_ and csp_find_; they wait

// A name of a length that can be had; else csp->why tells. NULL is a fault of the program.
bool mlt_remote_name_fits(mlt_csp *csp, const char *name, const char *call);

csp_status mlt_remote_put_name(mlt_csp *csp, const char *name, mlt_remote_kind kind,
                               uint32_t number, size_t size, const char *call);
csp_status mlt_remote_find_name(mlt_csp *csp, const char *name, mlt_remote_kind kind, mlt_name *out,
                                csp_time deadline, const char *call);
// The thing is being freed: drops the names that it has.
void mlt_remote_forget_names(mlt_csp *csp, uint32_t number);
