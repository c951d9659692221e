// SPDX-License-Identifier: BSD-3-Clause
// The flight recorder: the last calls of MPI of each worker, in the job's segment. Each call leaves
// its arguments there before it does anything, so that mpirun can tell what a process did that has
// crashed, was killed, or does not answer. It is always on (mpirun --recorder off), so it has to
// cost little: a call stores what it holds in registers anyway, into a line of the worker's own, and
// leaves all computing to the reader. It reads the clock at one call in MLT_RECORDER_STAMPED.
//
// The worker writes, and whoever is on its host reads (launch/watch/calls.h). All words are relaxed:
// a reader takes a sample, in which a call that is just being written may be torn, and checks what
// it finds. Threads of one rank may record at once; then a call of one of them may be missing.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/status.h"
#include "boot/job.h"

enum {
    MLT_RECORDER_CALLS = 32,   // that are kept; a power of two
    MLT_RECORDER_STAMPED = 16, // one in so many has a time; a power of two
    MLT_RECORDER_STAMPS = MLT_RECORDER_CALLS / MLT_RECORDER_STAMPED,
    MLT_RECORDER_NAMES = 1024, // functions have numbers below this
    MLT_RECORDER_NAME = 40,
    MLT_RECORDER_CALL_BYTES = 64,
    MLT_RECORDER_RING = MLT_RECORDER_CALLS * MLT_RECORDER_CALL_BYTES,
    MLT_RECORDER_STAMP_BYTES = MLT_RECORDER_STAMPED * MLT_RECORDER_CALL_BYTES,
};

// What calls of a function have, beside their communicator.
enum {
    MLT_RECORD_TO = 1,   // peer: to whom it sends
    MLT_RECORD_FROM = 2, // ... from whom it receives
    MLT_RECORD_ROOT = 3, // ... the root
    MLT_RECORD_AT = 4,   // ... whose part of a window it is about
    MLT_RECORD_PEER = 7, // one of these
    MLT_RECORD_TAG = 8,
    MLT_RECORD_BYTES = 16, // count elements of size bytes
    MLT_RECORD_TIMES = 32, // count: how often it was called in a row
};

typedef struct mlt_recorder_call {
    _Alignas(MLT_RECORDER_CALL_BYTES) _Atomic uint32_t fn; // 0: none so far
    _Atomic int32_t rank;
    _Atomic int32_t peer; // a rank of the communicator
    _Atomic int32_t tag;
    _Atomic uint64_t count, size;
    _Atomic uint32_t context; // of the communicator
} mlt_recorder_call;
_Static_assert(sizeof(mlt_recorder_call) == MLT_RECORDER_CALL_BYTES &&
                   offsetof(mlt_recorder_call, context) == 32,
               "as mlt_arch_store_call writes it");

typedef enum mlt_recorder_mode {
    MLT_RECORDER_OFF,
    MLT_RECORDER_ON,
    MLT_RECORDER_ALL
} mlt_recorder_mode;

// What a worker holds of its recorder.
typedef struct mlt_recorder_head {
    _Atomic uint64_t next;                        // where the next call goes, for the worker
    _Atomic uint64_t stamps[MLT_RECORDER_STAMPS]; // mlt_arch_cycles() at every 16th of the ring
    _Atomic uint64_t begin_ticks, begin_ns;       // the counter and the clock at the start
    _Atomic uint32_t mode;                        // mlt_recorder_mode
} mlt_recorder_head;

// The ring's addresses have the bit MLT_RECORDER_RING clear, and that behind its end has it set.
typedef struct mlt_recorder {
    _Alignas(2 * MLT_RECORDER_RING) mlt_recorder_call calls[MLT_RECORDER_CALLS];
    mlt_recorder_head head;
} mlt_recorder;

// What functions are called, and what their calls have: written by the first process of a host that
// records.
typedef struct mlt_recorder_names {
    _Atomic uint32_t taken;
    uint8_t holds[MLT_RECORDER_NAMES]; // MLT_RECORD_*
    char names[MLT_RECORDER_NAMES][MLT_RECORDER_NAME];
} mlt_recorder_names;

// The name of a function; what its calls have, into *holds.
typedef const char *mlt_recorder_namer(uint16_t fn, uint8_t *holds);

// Of a worker of this host, by its number there.
static inline mlt_recorder *mlt_recorder_at(mlt_job *job, uint32_t local)
{
    return (mlt_recorder *)((char *)job + job->recorders_at) + local;
}

static inline mlt_recorder_names *mlt_recorder_names_at(mlt_job *job)
{
    return (mlt_recorder_names *)mlt_recorder_at(job, job->local_workers);
}

// Makes a recorder ready, which may lie in any memory: that of a worker that does not record is its
// own, so that a call need not ask.
mlt_recorder_head *mlt_recorder_init(mlt_recorder *recorder);

// The calling worker begins to record; namer names functions 1 to names - 1.
mlt_recorder_head *mlt_recorder_begin(mlt_job *job, uint32_t worker, mlt_recorder_mode mode,
                                      mlt_recorder_namer *namer, uint32_t names);

// Two looks at a worker that has called meanwhile give different numbers.
uint64_t mlt_recorder_mark(const mlt_recorder *recorder);

static inline void mlt_recorder_put(mlt_recorder_head *head, uint16_t fn, int32_t rank,
                                    int32_t peer, int32_t tag, uint32_t context, uint64_t count,
                                    uint64_t size)
{
    uint64_t at = atomic_load_explicit(&head->next, memory_order_relaxed);
    mlt_arch_store_call((void *)at, fn, rank, peer, tag, count, size, context);
    at += MLT_RECORDER_CALL_BYTES;
    // No call: it would make the callers save registers.
    if (MLT_UNLIKELY(at % MLT_RECORDER_STAMP_BYTES == 0)) {
        uint64_t which = at / MLT_RECORDER_STAMP_BYTES % MLT_RECORDER_STAMPS;
        atomic_store_explicit(&head->stamps[which], mlt_arch_cycles(), memory_order_relaxed);
        at &= ~(uint64_t)MLT_RECORDER_RING;
    }
    atomic_store_explicit(&head->next, at, memory_order_relaxed);
}

// A call that programs repeat until it succeeds, such as MPI_Test: in a row they are one.
static inline void mlt_recorder_put_again(mlt_recorder_head *head, uint16_t fn, int32_t rank)
{
    uint64_t at = atomic_load_explicit(&head->next, memory_order_relaxed);
    uint64_t before = (at - MLT_RECORDER_CALL_BYTES) % MLT_RECORDER_RING;
    mlt_recorder_call *last =
        (mlt_recorder_call *)(at / MLT_RECORDER_RING * MLT_RECORDER_RING + before);
    if (atomic_load_explicit(&last->fn, memory_order_relaxed) == fn &&
        atomic_load_explicit(&last->rank, memory_order_relaxed) == rank)
        atomic_store_explicit(&last->count,
                              atomic_load_explicit(&last->count, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        mlt_recorder_put(head, fn, rank, 0, 0, 0, 1, 0);
}
