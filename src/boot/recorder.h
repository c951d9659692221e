// SPDX-License-Identifier: BSD-3-Clause
// The flight recorder: the last calls of MPI of each worker, in the job's segment. Each call leaves
// four words there before it does anything, so that mpirun can tell what a process did that has
// crashed, was killed, or does not answer. It is always on (mpirun --recorder off): it costs some
// stores to one worker's own lines, and reads the clock at one call in MLT_RECORDER_STAMPED.
//
// The worker writes, and whoever is on its host reads (launch/watch/calls.h). All words are relaxed:
// a reader takes a sample, in which a call that is just being written may be torn, and checks what
// it finds. Threads of one rank may record at once; then a call of one of them may be missing.
#ifndef MLT_BOOT_RECORDER_H
#define MLT_BOOT_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
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
};

// What a call has, beside the function's number in its lower 16 bits.
enum {
    MLT_RECORD_TO = 1 << 16,   // peer: to whom it sends
    MLT_RECORD_FROM = 2 << 16, // ... from whom it receives
    MLT_RECORD_ROOT = 3 << 16, // ... the root
    MLT_RECORD_AT = 4 << 16,   // ... whose part of a window it is about
    MLT_RECORD_PEER = 7 << 16, // one of these
    MLT_RECORD_TAG = 1 << 19,
    MLT_RECORD_BYTES = 1 << 20,
    MLT_RECORD_TIMES = 1 << 21, // bytes: how often it was called in a row
};

typedef struct mlt_recorder_call {
    _Atomic uint64_t what;    // the function, MLT_RECORD_*; above them the rank
    _Atomic uint64_t whom;    // peer, a rank of the communicator; above it the tag
    _Atomic uint64_t bytes;   //
    _Atomic uint64_t context; // of the communicator; above it the number of the call
} mlt_recorder_call;
_Static_assert(sizeof(mlt_recorder_call) == 32, "written as four words");

typedef enum mlt_recorder_mode {
    MLT_RECORDER_OFF,
    MLT_RECORDER_ON,
    MLT_RECORDER_ALL
} mlt_recorder_mode;

typedef struct mlt_recorder {
    _Alignas(MLT_LINE) _Atomic uint64_t count;    // calls so far
    _Atomic uint64_t stamps[MLT_RECORDER_STAMPS]; // mlt_arch_cycles() at every 16th of them
    _Atomic uint64_t begin_ticks, begin_ns;       // the counter and the clock at the start
    _Atomic uint32_t mode;                        // mlt_recorder_mode
    _Alignas(MLT_LINE) mlt_recorder_call calls[MLT_RECORDER_CALLS];
} mlt_recorder;

// What functions are called: written by the first process of a host that records.
typedef struct mlt_recorder_names {
    _Atomic uint32_t taken;
    char names[MLT_RECORDER_NAMES][MLT_RECORDER_NAME];
} mlt_recorder_names;

// Of a worker of this host, by its number there.
static inline mlt_recorder *mlt_recorder_at(mlt_job *job, uint32_t local)
{
    return (mlt_recorder *)((char *)job + job->recorders_at) + local;
}

static inline mlt_recorder_names *mlt_recorder_names_at(mlt_job *job)
{
    return (mlt_recorder_names *)mlt_recorder_at(job, job->local_workers);
}

// The calling worker begins to record; name(i) is that of function i, for i below `names`.
mlt_recorder *mlt_recorder_begin(mlt_job *job, uint32_t worker, mlt_recorder_mode mode,
                                 const char *(*name)(uint16_t fn), uint32_t names);

static inline void mlt_recorder_put(mlt_recorder *r, uint32_t what, int32_t rank, int32_t peer,
                                    int32_t tag, uint32_t context, uint64_t bytes)
{
    uint64_t n = atomic_load_explicit(&r->count, memory_order_relaxed);
    mlt_recorder_call *call = &r->calls[n % MLT_RECORDER_CALLS];
    mlt_arch_store_4(call, what | (uint64_t)(uint32_t)rank << 32,
                     (uint32_t)peer | (uint64_t)(uint32_t)tag << 32, bytes, context | n << 32);
    atomic_store_explicit(&r->count, n + 1, memory_order_relaxed);
    // No call: it would make the callers save registers.
    if (MLT_UNLIKELY(n % MLT_RECORDER_STAMPED == 0))
        atomic_store_explicit(&r->stamps[n / MLT_RECORDER_STAMPED % MLT_RECORDER_STAMPS],
                              mlt_arch_cycles(), memory_order_relaxed);
}

// A call that programs repeat until it succeeds, such as MPI_Test: in a row they are one.
static inline void mlt_recorder_put_again(mlt_recorder *r, uint32_t what, int32_t rank)
{
    uint64_t n = atomic_load_explicit(&r->count, memory_order_relaxed);
    mlt_recorder_call *last = &r->calls[(n - 1) % MLT_RECORDER_CALLS];
    what |= MLT_RECORD_TIMES;
    if (atomic_load_explicit(&last->what, memory_order_relaxed) ==
        (what | (uint64_t)(uint32_t)rank << 32))
        atomic_store_explicit(&last->bytes,
                              atomic_load_explicit(&last->bytes, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        mlt_recorder_put(r, what, rank, 0, 0, 0, 1);
}

#endif
