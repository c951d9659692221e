// SPDX-License-Identifier: BSD-3-Clause
// Processes: what a fiber of the pool has beside its stack.
#pragma once

#include <millet/csp.h>
#include <stdint.h>

#include "csp/state.h"
#include "csp/wait.h"
#include "fiber/fiber.h"

enum { MLT_PROC_HELD = 3 }; // ends that a process holds without memory of their own

// An end that a process holds; the lowest bit of the channel's address: it is the writing one.
typedef uintptr_t mlt_held;

// A million processes have one each.
typedef struct mlt_proc {
    csp_function *run;
    void *arg;
    const char *name;            // NULL: "process N"
    uint32_t index;              // in its PAR
    uint32_t number;             // of all processes of the worker so far, from 1
    struct mlt_proc_team_of *of; // the PAR that waits for it, or its csp_child
    mlt_held held[MLT_PROC_HELD];
    mlt_held *more; // further ones, with a 0 at the end; NULL: none
} mlt_proc;
_Static_assert(sizeof(mlt_proc) <= 72, "a million processes have one each");

// Who waits for processes, and where their results go.
typedef struct mlt_proc_team_of {
    mlt_csp_wait wait; // number: processes that still run
    mlt_fiber *waiter; // NULL: nobody waits (yet)
    char *results;     // of process i: an int at results + i * stride; NULL: nobody wants them
    size_t stride;
    int first;    // result that is not 0, of the first process that had one
    uint32_t who; // that process; UINT32_MAX: none
    bool vector;  // their names are name[i]
} mlt_proc_team_of;

struct csp_child {
    mlt_proc_team_of team;
    uint32_t magic; // MLT_CHILD_MAGIC until it is joined
    mlt_csp *csp;
    const mlt_fiber *fiber;
    const char *name; // of its process
    uint32_t number;
};

enum { MLT_CHILD_MAGIC = 0x6368696c };

// The calling process no longer holds that end: it retired it itself, or gave it away in a parcel.
void mlt_proc_lets_go(mlt_csp *csp, csp_chan *chan, bool writer);

// As csp_par, called `call` in reports.
int mlt_proc_par(csp_proc *procs, size_t count, const char *call);

// Of the pool's fiber; NULL for a rank's own.
static inline mlt_proc *mlt_proc_of(const mlt_csp *csp, const mlt_fiber *fiber)
{
    return fiber->pool ? &csp->procs[fiber->id] : NULL;
}

// "worker[3]", "process 17", "main" (the rank of a program started alone), "rank 2". Returns text.
const char *mlt_proc_name(const mlt_csp *csp, const mlt_fiber *fiber, char *text, size_t size);
