// SPDX-License-Identifier: BSD-3-Clause
// Collectives go on while a module computes.
//
// A worker's thread makes progress when a module waits. While a module computes, nobody would look
// at the messages of a reduction that is under way, and computing and communicating would take the
// sum of their times. So while long data (MLT_FLOW_HELPED bytes or more) is under way, another
// thread, the helper, has the worker as long as the module computes:
//
//     the worker's thread   flow_send ... returns │ the module computes         │ flow_dequeue
//     the word              OWN                   │ AWAY  HELD  AWAY  HELD ...  │ OWN
//     the helper            naps                  │ looks, drives, naps, ...    │ naps
//
// The helper makes progress steps (p2p/worker.h) and nothing else: no fiber runs on its thread, so
// code of modules never does, and instances still share one thread. What a step makes runnable runs
// when the module waits. There is no help
//
//     while a reduction with an operation of the program's own is under way: steps would call it
//     in a worker where anybody uses MPI, or csp beside flow: their calls do not know of the word
//     in a worker of more than 256 ranks: looking for the above would take too long
//
// A thread that is away has neither mlt_flow_self nor mlt_csp_self. So its next call of flow or csp
// takes the rare path, which takes the worker back first; calls of a thread that is not away cost
// nothing more. A rank of such a worker has not called MPI_Init, and its first call of MPI takes
// the worker back, too (mpi/thread.h).
#pragma once

#include <stdbool.h>

#include "flow/run.h"

enum { MLT_FLOW_HELPED = 256 << 10 };

// Long data is under way from now on, or no more. `plain`: with an operation of the program's own.
void mlt_flow_help_more(mlt_flow_program *program, bool plain);
void mlt_flow_help_less(mlt_flow_program *program, bool plain);

// A call of flow returns to its module, and long data is under way: lends the worker to the helper,
// if there may be one.
void mlt_flow_go_away(mlt_flow_program *program) MLT_COLD;

// The last act of each call of flow that can start or drive something.
static inline void mlt_flow_leave(mlt_flow_program *program)
{
    if (MLT_UNLIKELY(program->busy))
        mlt_flow_go_away(program);
}

// Takes the worker back if the calling thread was away. NULL: it was not.
mlt_flow_program *mlt_flow_come_back(void) MLT_COLD;

// In a child that has just been forked: it runs no instance, and has no helper.
void mlt_flow_forked(void);

// mlt_upcalls.come_back.
mlt_csp *mlt_flow_csp_back(void);

// Ends the helper, if there is one. The caller has the worker.
void mlt_flow_help_end(mlt_flow_program *program);
