// SPDX-License-Identifier: BSD-3-Clause
// How MPI's calls, and what workers are seen to do, become events of a trace (mpirun --trace).
#pragma once

#include "base/event.h"
#include "mpi/self.h"
#include "mpi/strict.h"
#include "mpi/trace_only.h"
#include "p2p/worker.h"
#include "trace/tracer.h"

// The process has joined its job: opens the file of setting `trace`, if there is one. A file that
// cannot be opened ends the job.
void mlt_mpi_trace_joined(void);

void mlt_mpi_trace_worker_begins(mlt_worker *worker);
void mlt_mpi_trace_worker_ends(mlt_worker *worker);
void mlt_mpi_trace_worker_stays(mlt_worker *worker); // what it has noted so far is written

// MPI_Pcontrol(0), MPI_Pcontrol(1): the calling rank's worker notes nothing, or goes on. me may be NULL.
void mlt_mpi_trace_pause(mlt_rank *me, bool pause);

// The same for a worker that is asked from outside (`millet trace JOB start`): looks what was wanted last.
void mlt_mpi_trace_look(mlt_worker *worker);

// mlt_upcalls.event.
void mlt_mpi_trace_saw(mlt_worker *worker, mlt_rank *rank, const mlt_event *event);

// A call. Arguments that it does not have are 0, peer and tag -1.
typedef struct mlt_trace_call {
    uint64_t begin; // mlt_arch_cycles
    uint64_t bytes;
    int32_t peer, tag;
    uint32_t context;
    // MLT_NOTE_SENT, MLT_NOTE_POSTED or 0: the message event merged into it (trace/note.h).
    uint8_t did;
    uint8_t how; // of that event
    const mlt_rank *rank;
} mlt_trace_call;

// Start of a call, arguments filled in. The first message event that it causes is merged into the call's
// own record.
static inline void mlt_mpi_trace_call_begins(mlt_rank *me, mlt_trace_call *call)
{
    mlt_mpi_worker *w = me ? me->worker->mpi : NULL;
    if (!w || !w->tracer)
        return;
    call->rank = me;
    w->call = call;
}

// A parked fiber goes on: records how long it was runnable before it ran. csp_process: number of the CSP
// process; 0: the rank's own fiber.
void mlt_mpi_trace_resumed(mlt_rank *rank, uint64_t parked, uint32_t csp_process);

// End of a call: writes its record.
void mlt_mpi_trace_call_ends(mlt_rank *me, uint16_t fn, const mlt_trace_call *call);

// Whether a call of that rank, which goes by the detour, does so for a trace and nothing else.
static inline bool mlt_mpi_only_traced(const mlt_rank *me)
{
    return me->worker->watched == MLT_WATCH_TRACE &&
           !atomic_load_explicit(&mlt_mpi_whole_detour, memory_order_relaxed);
}
