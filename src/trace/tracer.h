// SPDX-License-Identifier: BSD-3-Clause
// How a process writes its part of a trace. Each worker codes what happens (note.h) into buffers of
// its own, without locks. A thread of the process appends them to the file, which all processes of
// the job share: buffers that are full, and four times a second what is new in the others. So a
// process that is killed loses a quarter of a second. Memory is bounded: a worker whose buffers are
// all full waits for the thread.
//
//     mlt_trace_begin("/home/me/run.mlt", why, sizeof why);    once a process
//     mlt_tracer *tracer = mlt_tracer_new(worker);             each worker
//     mlt_trace_note_like(tracer, &like, end, span);           on the worker's thread
//     mlt_tracer_end(tracer);
//     mlt_trace_end();                                         all is in the file
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/status.h"
#include "os/barrier.h"
#include "trace/chunk.h"
#include "trace/event.h"
#include "trace/note.h"

enum {
    MLT_TRACE_GUESSES = 3,
    MLT_TRACE_AHEAD = 32, // words: notes are written to lines that are there by then
};

typedef struct mlt_tracer {
    _Atomic(uint64_t *) at; // in the buffer that is filled now; the thread reads up to it
    uint64_t *end;          // from here on a whole note does not fit
    uint64_t last;          // when the last note ended
    uint8_t guesses[MLT_TRACE_GUESSES]; // slots in which such calls were found last
    uint32_t sends;      // short ones so far: some of them are timed (mpi/p2p/traced.c)
    uint64_t send_ticks; // what they take
    bool crowded;        // ranks share cores: sends wake others, so each is timed
    mlt_trace_like slots[MLT_NOTE_SLOTS];
    // Under the writer's lock.
    struct mlt_trace_buffer *buffer;
    const uint64_t *seen,
        *before;             // `at` at the thread's last look at this buffer, and the one before
    struct mlt_tracer *next; // of the process
    uint32_t worker;
    uint32_t held; // buffers of this worker that are not free
} mlt_tracer;

// Opens the file, which exists; it may be a pipe of its own for this process.
// On failure a message in `why`.
mlt_status mlt_trace_begin(const char *path, char *why, size_t why_size) MLT_MUST_CHECK;
bool mlt_trace_runs(void);

// Lines of facts.h. Any thread.
void mlt_trace_facts(uint32_t worker, const char *text, size_t bytes);

mlt_tracer *mlt_tracer_new(uint32_t worker);
void mlt_tracer_end(mlt_tracer *tracer);   // its events are on their way; frees it
void mlt_tracer_write(mlt_tracer *tracer); // its events so far are in the file, and it stays

// Waits until everything is in the file, and closes it. `lost`: events that could not be written.
void mlt_trace_end(void);

// So many ticks of the counter are that many nanoseconds, about.
uint64_t mlt_trace_ticks(uint64_t ns);

// In a child that was forked: the trace is the parent's alone.
void mlt_trace_forget(void);

void mlt_tracer_turn(mlt_tracer *tracer) MLT_COLD; // the buffer is full: takes another one

// All up to there is written. The thread makes a barrier after it has read `at`: a release would hold up
// the message that is sent next (8 ns of 157 for a half round trip on a Neoverse-V1).
static inline void mlt_tracer_publish(mlt_tracer *tracer, uint64_t *at)
{
    atomic_signal_fence(memory_order_release); // the compiler keeps the order
    atomic_store_explicit(&tracer->at, at, MLT_OS_BARRIER_STORE);
}

static inline void mlt_trace_note_like(mlt_tracer *tracer, const mlt_trace_like *like, uint64_t end,
                                       uint64_t span)
{
    uint64_t *at = atomic_load_explicit(&tracer->at, memory_order_relaxed);
    at += mlt_trace_put(at, tracer->slots, tracer->last, like, end, span);
    tracer->last = end;
    mlt_tracer_publish(tracer, at);
    if (MLT_UNLIKELY(at >= tracer->end))
        mlt_tracer_turn(tracer);
}

// The same for calls that are likely to be like their last one. which: below MLT_TRACE_GUESSES.
static inline void mlt_trace_note_again(mlt_tracer *tracer, uint32_t which,
                                        const mlt_trace_like *like, uint64_t end, uint64_t span)
{
    uint64_t *at = atomic_load_explicit(&tracer->at, memory_order_relaxed);
    uint32_t s = tracer->guesses[which];
    uint64_t since = end - tracer->last;
    if (MLT_UNLIKELY(!mlt_trace_alike(&tracer->slots[s], like) || (since | span) >> MLT_NOTE_BITS ||
                     at + 1 >= tracer->end)) {
        tracer->guesses[which] = (uint8_t)mlt_trace_slot(like);
        mlt_trace_note_like(tracer, like, end, span);
        return;
    }
    *at = mlt_trace_word(s, since, span);
    tracer->last = end;
    mlt_tracer_publish(tracer, at + 1);
    __builtin_prefetch(at + MLT_TRACE_AHEAD, 1);
}
