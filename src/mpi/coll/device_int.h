// SPDX-License-Identifier: BSD-3-Clause
// What the files of collective calls by a device share: who takes that way, inside a process (device.c)
// and among several (device_process.c), and what a device is given then (device_copies.c).
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "gpu/batch.h"
#include "mpi/coll/device.h"

// ---- device_copies.c

enum { MLT_DEVICE_WHY = 160 };

// The copies and combinations of one call. Whoever has all jobs fills them in.
typedef struct mlt_device_copies {
    uint32_t size;                                   // ranks
    const mlt_coll_job **jobs;                       // [size]
    mlt_gpu_transfer *known;                         // [2 * size] in, out: mlt_device_look_within
    bool gives_up;                                   // if the device cannot combine, nobody does
    void (*ended)(struct mlt_device_copies *copies); // may free them
    // The result.
    mlt_status status; // MLT_OK or MLT_ERR_TRUNCATED, and then
    char why[MLT_DEVICE_WHY];
    // Private.
    mlt_gpu_batch *batch;
    mlt_work work;
    mlt_worker *worker; // that started it
} mlt_device_copies;

void mlt_device_copies_init(mlt_device_copies *copies, uint32_t size);
void mlt_device_copies_fini(mlt_device_copies *copies);

// Gives the device everything; `ended` is called when it is over, perhaps before this returns. False:
// nothing was done, as it gives up.
bool mlt_device_copies_start(mlt_device_copies *copies, mlt_worker *worker) MLT_MUST_CHECK;

// Looks whose memory a side is, if one look tells.
void mlt_device_look_within(mlt_gpu_transfer *known, const mlt_coll_side *side);

uint64_t mlt_device_side_bytes(const mlt_coll_side *side);

// ---- device.c

struct mlt_device_call {
    bool asks;                    // several processes: device_process.c has the rest
    struct mlt_device_call *next; // of the place
    struct mlt_device_place *place;
    uint32_t number;
    bool taken;             // by a device
    uint32_t looked, come;  // ranks, under the place's lock
    _Atomic uint32_t stays; // ranks that have not left
    mlt_req **reqs;
    mlt_device_copies copies;
};

// A rank of a communicator of several processes; its worker's alone.
typedef struct mlt_device_member {
    // NULL: it has used no memory of a device there. Its worker writes it; others may compare it with
    // themselves, for which relaxed is enough.
    _Atomic(mlt_worker *) worker;
    bool asks;     // the copier wants to hear of all its calls
    uint32_t next; // the number of its next call, at least
    // Calls of which it does not know yet who takes them, and ordinary ones behind them, in order.
    struct mlt_device_asked *first, **last; // last: only if there is a first
} mlt_device_member;

// A communicator, as this process knows it.
typedef struct mlt_device_place {
    struct mlt_device_place *next;
    uint32_t context, size;
    // Its first rank, in WORLD: communicators of one MPI_Comm_split share the context.
    int32_t first;
    uint32_t refs;  // workers; under `all`'s lock
    bool is_shared; // the process has all its ranks
    pthread_mutex_t lock;
    uint32_t *since;    // [size] the first call that the rank has looked at; NEVER
    uint32_t strangers; // ranks that have not looked yet
    mlt_device_call *calls;
    // Several processes.
    bool is_here;               // of this host
    uint32_t copier;            // the worker that copies for all
    mlt_device_member *members; // [size]
} mlt_device_place;

// Whether a side is said to be in memory of a device.
bool mlt_device_side_is_there(const mlt_coll_side *side);

// What is the same on all ranks: whether a device can do it at all.
bool mlt_device_can_take(const mlt_coll_job *job);

// A rank of the worker that has used memory of a device on that communicator; NULL: it has not.
mlt_device_member *mlt_device_member_find(mlt_worker *worker, uint32_t context, int32_t first,
                                          uint32_t rank);

// ---- device_process.c: as their namesakes in device.h

// Whether the ranks of the communicator are on this host, and who copies for them.
bool mlt_device_ask_finds(const mlt_comm *comm, uint32_t *copier);
mlt_device_call *mlt_device_ask(mlt_device_place *place, const mlt_coll_job *job, uint32_t number);
void mlt_device_ask_join(mlt_device_call *call, mlt_coll_job *job, mlt_req *req);
void mlt_device_ask_free(mlt_device_call *call);
uint32_t mlt_device_ask_missing(const mlt_device_call *call, int32_t *awaits);

// The worker has no such communicator any more.
void mlt_device_ask_bye(mlt_device_place *place, mlt_worker *worker);
