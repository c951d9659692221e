// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point messages between ranks: envelopes, matching, protocols, requests, progress.
//
// A request describes one operation and is the caller's memory: on the stack for a blocking call,
// from mlt_req_new for a handle, kept for a persistent one. The caller makes it a request with
// mlt_req_init, says what to move with mlt_req_message, then starts it with mlt_p2p_send or
// mlt_p2p_recv. It completes exactly once for each start:
// `done` becomes true, the result part is valid, on_done (if any) is called once, and the waiter
// (if any) is counted down. Until then the memory must stay.
//
// All of it is owned by one worker and used by one thread at a time: the worker's, or whichever is
// inside its gate (fiber/gate.h). Which calls may suspend the fiber:
// mlt_req_wait*, mlt_p2p_probe, mlt_p2p_poll. Starting an operation never suspends.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "fiber/fiber.h"
#include "type/type.h"

typedef struct mlt_worker mlt_worker; // worker.h
typedef struct mlt_rank mlt_rank;
typedef struct mlt_req mlt_req;
typedef struct mlt_msg mlt_msg; // a message that arrived and has no receive yet

enum {
    MLT_ANY_SOURCE = MLT_WAIT_ANYONE, // the ABI's values
    MLT_ANY_TAG = MLT_WAIT_ANY_TAG,
    MLT_REQ_MAGIC = 0x5eedface,
};

typedef enum mlt_req_kind {
    MLT_REQ_SEND,
    MLT_REQ_RECV,
    MLT_REQ_OTHER, // its owner completes it with mlt_req_complete: a pair, a collective call, a
                   // generalized request
} mlt_req_kind;

typedef enum mlt_send_mode {
    MLT_MODE_STANDARD, // complete when the buffer may be reused
    MLT_MODE_SYNC,     // complete when the receive has started
    MLT_MODE_READY,    // as standard
    MLT_MODE_TOLD,     // of a receive: if only a trace listens, its call tells of it
} mlt_send_mode;

// A fiber that waits for requests: woken when `need` reaches 0.
typedef struct mlt_waiter {
    mlt_fiber *fiber;
    uint32_t need;
} mlt_waiter;

struct mlt_req {
    // Private to p2p: place in a queue, order of posting, protocol state.
    mlt_list_node node;
    mlt_list_node bucket;
    uint64_t order;

    // State: mlt_req_init. A start sets kind, done and cancelled itself.
    uint32_t magic; // MLT_REQ_MAGIC; 0: it was retired
    uint8_t kind;   // mlt_req_kind
    uint8_t mode;   // mlt_send_mode
    bool done;
    bool cancelled; // result: the operation was cancelled (done is true too)
    mlt_rank *rank; // the rank that sends or receives

    // What: mlt_req_message, before each start.
    void *buf;
    uint64_t count;
    const mlt_type *type;
    uint32_t context; // of the communicator
    int32_t peer; // send: destination, as a WORLD rank. recv: source as a rank in the communicator
                  // or MLT_ANY_SOURCE
    int32_t self; // send: the sender's rank in the communicator (what the receiver matches)
    int32_t tag;  // recv: or MLT_ANY_TAG

    mlt_waiter *waiter;
    // May complete other requests; must not suspend or start operations. NULL: nothing to do.
    void (*on_done)(mlt_req *req);

    // Result: valid when done.
    mlt_status status; // MLT_OK, MLT_ERR_TRUNCATED
    int32_t from;      // source, as a rank in the communicator
    int32_t got_tag;
    uint64_t got;       // bytes received (at most the buffer's); sends: 0
    uint64_t sent;      // bytes that the sender sent (above `got` only if truncated)
    uint16_t sent_type; // ABI code of the sender's datatype if predefined, else 0

    // For the MPI layer; p2p never looks at them.
    void *owner; // its communicator
    void *extra;
    uint32_t flags;
    uint16_t fn; // the function that made it

    // Private: protocol state between start and completion.
    uint64_t total;  // bytes of the message
    uint64_t moved;  // bytes packed or unpacked so far
    uint64_t remote; // the peer's request or buffer
    uint32_t remote_worker;
    uint8_t stage;
    union {
        struct { // of a send inside the process that both sides copy
            _Atomic uint64_t claimed, copied;
        };
        struct {              // of a receive that is fetched out of another process
            uint64_t address; // of the data
            uint32_t share;   // which of the ring's it has; SHARE_NONE
        };
        struct {             // of a send to another host
            uint64_t ticket; // of the last part of its memory that was given to the transport
            bool lands;      // the receiver has no gaps: its data go straight into its memory
        };
    };
};

// What a message is matched by, and what it is.
typedef struct mlt_envelope {
    uint64_t bytes;
    uint32_t context;
    int32_t src; // the sender's rank in the communicator
    int32_t tag;
    uint16_t type; // ABI code of the sender's datatype if predefined, else 0
} mlt_envelope;

// What a probe finds.
typedef struct mlt_msg_info {
    int32_t from, tag;
    uint64_t bytes;
    uint16_t type; // ABI code of the sender's datatype if predefined
} mlt_msg_info;

// The matching half of a rank; see match.h.
typedef struct mlt_match_queue {
    mlt_list_node all;      // in order of arrival (unexpected) or posting (posted with a wildcard)
    mlt_list_node *buckets; // hashed by context, source, tag; NULL while few
    uint32_t mask;          // buckets - 1
    uint32_t size;
} mlt_match_queue;

struct mlt_rank {
    mlt_worker *worker;
    mlt_fiber *fiber; // of the rank's main; of several threads, the one that is in MPI now
    int32_t world;    // rank in MPI_COMM_WORLD
    union {
        uint16_t fn; // the MPI function it is in or was in last; 0: none
        _Atomic uint16_t
            fns[2]; // calls of a rank with several threads write the second before they
                    // are inside its gate; nobody reads it
    };
    _Atomic uint8_t life; // the MPI layer's: before init, initialised, finalised
    bool ended;
    bool drains;             // parked until sends_open is 0
    _Atomic uint8_t threads; // the MPI layer's: whether other threads of the rank may call MPI
    uint32_t sends_open;     // started sends that are not done: finalize waits for them
    mlt_match_queue posted, unexpected;
    mlt_list_node probers; // fibers in mlt_p2p_probe, woken by every new unexpected message
    void *mpi;             // the MPI layer's state of this rank
    void *own;             // the host layer's: output lines, libc state; NULL until it is used
};
_Static_assert(sizeof(mlt_rank) <= 128, "a million ranks have one each");

// The running rank; NULL on threads that are none.
static inline mlt_rank *mlt_rank_self(void)
{
    return (mlt_rank *)mlt_fiber_user;
}

// ---- work for later

// Something that a completion makes possible but on_done must not do itself: start operations, call
// back into upper layers. `run` is called once, on the worker's thread, in the next progress step,
// outside of any operation; it must not suspend. The memory is the caller's, who may free it from
// the call of `run` on.
typedef struct mlt_work {
    mlt_list_node node;
    void (*run)(struct mlt_work *work);
} mlt_work;

void mlt_worker_later(mlt_worker *worker, mlt_work *work);

// From work that runs: run it again in the step after this one. The worker does not sleep
// meanwhile.
void mlt_worker_again(mlt_worker *worker, mlt_work *work);

// ---- requests

// The one way to make memory a request, whatever it held before: of that rank, not done, with no
// waiter and no on_done; a send's mode is standard. The fields of the MPI layer stay as they are.
// Do not start it before mlt_req_message has said what to move.
static inline void mlt_req_init(mlt_req *req, mlt_rank *rank, mlt_req_kind kind)
{
    req->magic = MLT_REQ_MAGIC;
    req->kind = (uint8_t)kind;
    req->mode = MLT_MODE_STANDARD;
    req->done = false;
    req->cancelled = false;
    req->rank = rank;
    req->waiter = NULL;
    req->on_done = NULL;
    req->status = MLT_OK;
}

// What the request sends or receives. peer and self: as mlt_req says; a receive's self is unused.
static inline void mlt_req_message(mlt_req *req, const void *buf, uint64_t count,
                                   const mlt_type *type, uint32_t context, int32_t self,
                                   int32_t peer, int32_t tag)
{
    req->buf = (void *)(uintptr_t)buf;
    req->count = count;
    req->type = type;
    req->context = context;
    req->peer = peer;
    req->self = self;
    req->tag = tag;
}

// No handle names this request from now on, until mlt_req_init.
static inline void mlt_req_retire(mlt_req *req)
{
    req->magic = 0;
}

// A request from the worker's pool: initialised as a send, everything else zero. mlt_req_free gives
// it back; it must be done or never started.
mlt_req *mlt_req_new(mlt_rank *rank);
void mlt_req_free(mlt_req *req);

// Completes a MLT_REQ_OTHER request, or any request from inside p2p.
void mlt_req_complete(mlt_req *req);

// Wait until done; `call` is the user's function, for reports ("MPI_Wait"). The array may hold
// NULLs (they count as nothing). wait_any returns when at least one is done (at once if all are
// NULL).
void mlt_req_wait(mlt_req *req, const char *call);
// False: somebody has changed the list meanwhile. Requests may then still point at a waiter that is
// gone, so the job must end.
bool mlt_req_wait_all(mlt_rank *rank, mlt_req *const *reqs, uint64_t count,
                      const char *call) MLT_MUST_CHECK;
bool mlt_req_wait_any(mlt_rank *rank, mlt_req *const *reqs, uint64_t count,
                      const char *call) MLT_MUST_CHECK;

// ---- operations

void mlt_p2p_send(mlt_req *req);
void mlt_p2p_recv(mlt_req *req);

// The short way for a standard send of a contiguous buffer to a WORLD rank that can leave at once.
// False: nothing was done; use a request.
bool mlt_p2p_send_now(mlt_rank *rank, const void *buf, int32_t dest, const mlt_envelope *envelope);

// The same on a worker to which only a trace listens (MLT_WATCH_TRACE), for a call that tells of the
// message itself: returns how far it goes, an mlt_distance, or -1.
int mlt_p2p_send_told(mlt_rank *rank, const void *buf, int32_t dest, const mlt_envelope *envelope);

// Writes what waits to be written to other hosts: later messages of a burst, and first ones, which
// wait for their connection. For a call that returns to a program that may not call again for long.
// Blocks the worker until connections are there, a few milliseconds as a rule.
void mlt_p2p_let_go(mlt_worker *worker);

// The same for a caller that is sure to call again: the second and later ones of several messages
// to other hosts may be written together, at the latest when the rank waits or tests.
bool mlt_p2p_send_soon(mlt_rank *rank, const void *buf, int32_t dest, const mlt_envelope *envelope);

// Looks for a message that has arrived. take: removes it from matching and gives it to the caller
// (MPI_Mprobe), who must receive it with mlt_p2p_recv_msg. iprobe neither suspends nor polls: call
// mlt_p2p_poll when it finds nothing. probe waits until there is one.
bool mlt_p2p_iprobe(mlt_rank *rank, int32_t source, int32_t tag, uint32_t context, bool take,
                    mlt_msg_info *info, mlt_msg **msg);
void mlt_p2p_probe(mlt_rank *rank, int32_t source, int32_t tag, uint32_t context, bool take,
                   mlt_msg_info *info, mlt_msg **msg, const char *call);
// Starts a receive of that message; req's source, tag and context are not used for matching.
void mlt_p2p_recv_msg(mlt_req *req, mlt_msg *msg);

// Tries to cancel. A receive that has not matched is cancelled at once. A send is cancelled if the
// receiver has not matched it. That may need the receiver's answer; then the request completes
// later, cancelled or not. Does nothing to a request that is done.
void mlt_p2p_cancel(mlt_req *req);

// A note of two words to another worker, or to this one; mlt_upcalls.note gets it. For upper layers
// that must tell a worker something though none of its ranks waits for it. Never suspends; notes
// between two workers keep their order.
void mlt_p2p_note(mlt_worker *worker, uint32_t to, uint64_t what, uint64_t value);

// A packet: a message to another worker, or to this one, for which no receive is posted;
// mlt_upcalls.packet gets it there, in the order of sending between two workers. The layer above says
// what the fields mean. The data are copied before the call returns. A packet that finds no room in
// the ring is kept until there is room, so a caller that sends many must bound them itself. Never
// suspends.
typedef struct mlt_packet {
    uint16_t kind;
    uint32_t object;
    int32_t word;
    int32_t src, dst;
} mlt_packet;
void mlt_p2p_packet(mlt_worker *worker, uint32_t to, const mlt_packet *packet, const void *data,
                    uint64_t bytes);
uint64_t mlt_p2p_packet_most(const mlt_worker *worker, uint32_t to); // bytes of data

// Up to so many bytes, a packet to that worker, which is another one, costs less than a message
// that the receiver fetches.
uint64_t mlt_p2p_eager_most(const mlt_worker *worker, uint32_t to);

// Tries to send the packets to that worker, another one, that found no room. True: all have left,
// and it finds them when it looks.
bool mlt_p2p_packets_left(mlt_worker *worker, uint32_t to);

// The process of that worker, which is one of another host, has ended in order.
// mlt_upcalls.processes_ended tells when to ask.
bool mlt_p2p_has_ended(mlt_worker *worker, uint32_t other);

// One step of progress for a rank that polls (a failed test or probe): looks at the transports and
// lets the other fibers of the worker run. May suspend.
void mlt_p2p_poll(mlt_rank *rank);

// Takes what has arrived, when the ranks of the worker have ended. Does not suspend.
void mlt_p2p_last_look(mlt_worker *worker);

// From now on signal handlers may nudge the worker (sched->nudged): then its idle function calls this,
// perhaps on another thread than the worker's, before anything else.
void mlt_p2p_take_nudges(mlt_worker *worker, void (*nudge)(void *worker));
