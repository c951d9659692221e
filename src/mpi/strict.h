// SPDX-License-Identifier: BSD-3-Clause
// mpirun --strict: what a program leaves behind, and what is too dear to look at in every call. Every function that makes a handle comes by the
// surface's detour, which notes here the function and the place that called it. MPI_Finalize looks
// which of these handles still live, and which messages nobody has received, and tells the launcher;
// that one adds up the ranks (launch/watch/leaks.h). Without --strict nothing here is called.
//
// Where a message was sent, its sender knows and its receiver tells. So the first send from a place to
// a rank with a tag is followed by a packet that says where that was, and the receiver keeps the last
// of these: messages of a tag are received in order, so those that are left are the last ones.
//
// A handle that was freed needs no word: its object is dead when it is looked at, and whatever takes
// its memory later is noted under the same address.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

typedef enum mlt_strict_kind {
    MLT_STRICT_COMM,
    MLT_STRICT_REQUEST,
    MLT_STRICT_DATATYPE,
    MLT_STRICT_GROUP,
    MLT_STRICT_OP,
    MLT_STRICT_ERRHANDLER,
    MLT_STRICT_INFO,
    MLT_STRICT_SESSION,
    MLT_STRICT_MESSAGE,
    MLT_STRICT_WIN,
    MLT_STRICT_FILE,
    MLT_STRICT_KEYVAL,
    MLT_STRICT_KINDS,
} mlt_strict_kind;

struct mlt_strict;

extern bool mlt_strict_on __attribute__((visibility("hidden"))); // before any rank runs

// The call `fn` has made this handle and returns to `caller`. me may be NULL: then nobody is told.
void mlt_strict_made(mlt_rank *me, uint16_t fn, mlt_strict_kind kind, uintptr_t handle,
                     const void *caller) MLT_COLD;

// mlt_strict_made of a request. One that was complete at once is shared by all, and nobody could tell whether
// it was waited for: *request becomes one of its own.
void mlt_strict_request(mlt_rank *me, uint16_t fn, MPI_Request *request,
                        const void *caller) MLT_COLD;

// The requests of a call, which must not stem from different sessions. Bad handles are passed over.
int mlt_strict_requests(mlt_rank *me, int count, const MPI_Request requests[]) MLT_COLD;

// The program has freed it.
void mlt_strict_freed(mlt_rank *me, mlt_strict_kind kind, uintptr_t handle) MLT_COLD;

// The call `fn` has sent a message, or made a request that will. Ranks of other jobs are not told.
void mlt_strict_sent(mlt_rank *me, uint16_t fn, int dest, int tag, const mlt_comm *comm,
                     const void *caller) MLT_COLD;

enum { MLT_PACKET_STRICT = 0x800 }; // object: context, word: tag, src: rank there, dst: world rank
void mlt_strict_packet(mlt_worker *worker, const mlt_packet *packet, const void *data,
                       uint64_t bytes) MLT_COLD;

// MPI_Finalize, before the library frees what the user did not; and after all workers have come.
void mlt_strict_look(mlt_rank *me) MLT_COLD;
void mlt_strict_tell(mlt_worker *worker) MLT_COLD;

void mlt_strict_free(struct mlt_strict *strict); // of a worker that ends; NULL is fine
