// SPDX-License-Identifier: BSD-3-Clause
// A launcher that is not Millet's mpirun: srun, Hydra's mpiexec, orterun, prterun, flux. It tells
// each process its number and how many there are, and has a space of keys and values in which
// processes leave cards for each other. Two protocols serve all of them:
//
//     PMI-1   lines of text on the descriptor in PMI_FD, or on a connection to PMI_PORT   pmi.c
//     PMIx    the functions of libpmix.so.2, which is loaded when it is needed            pmix.c
//
// A program that nobody started is a launcher for itself, if it may need an agent (single.c).
//
// docs/internals/launchers.md says what is made of it. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    MLT_LAUNCHER_VALUE = 1024, // bytes of a card with the NUL behind it, which every launcher takes
    MLT_LAUNCHER_JOB = 256,
};

typedef struct mlt_launcher mlt_launcher;

// A protocol. Each function that fails leaves a sentence in why.
typedef struct mlt_protocol {
    const char *name;
    // Fills in number, size, app and job.
    mlt_status (*open)(mlt_launcher *launcher, char *why, size_t why_size);
    // Leaves this process's card; after the fence all can get it.
    mlt_status (*put)(mlt_launcher *launcher, const char *card, char *why, size_t why_size);
    mlt_status (*fence)(mlt_launcher *launcher, char *why, size_t why_size);
    mlt_status (*get)(mlt_launcher *launcher, uint32_t of, char card[MLT_LAUNCHER_VALUE], char *why,
                      size_t why_size);
    // Ends all processes of the job; may return.
    void (*abort)(mlt_launcher *launcher, int status);
    // This process needs the launcher no longer.
    void (*close)(mlt_launcher *launcher);
} mlt_protocol;

extern const mlt_protocol mlt_protocol_pmi, mlt_protocol_pmix;

struct mlt_launcher {
    const mlt_protocol *protocol; // NULL: this process has no launcher that it could talk to
    const char *name;             // "srun"
    uint32_t number, size;        // of this process; of all
    uint32_t app;
    char job[MLT_LAUNCHER_JOB]; // a name that all its processes know, and no other job has
    // Of the protocol.
    int fd;
    char *got; // bytes that were read and not yet used
    size_t got_end;
    size_t most; // bytes of a value
    void *own;
};

// What the environment says, without talking to anybody. MLT_OK: launcher->protocol is set, or NULL
// if this process is alone (nobody started it, or with MILLET_ALONE, or as the only one).
// MLT_ERR_UNSUPPORTED: it was started by something that cannot be talked to; `why` names it and
// says what to do.
mlt_status mlt_launcher_find(mlt_launcher *launcher, char *why, size_t why_size) MLT_MUST_CHECK;

// A process that is alone: whether the program, or a library of it, calls functions that need an agent,
// those that start jobs or connect with them. If so, *launcher is one of this process only.
bool mlt_launcher_singleton(mlt_launcher *launcher);
bool mlt_launcher_is_single(const mlt_launcher *launcher); // NULL: it is not

// A number of the environment, or -1.
long mlt_launcher_env_number(const char *variable);
