// SPDX-License-Identifier: BSD-3-Clause
// What a parked fiber waits for. The record lives on the waiter's stack and is filled in only
// when it really parks, so waiting that is over at once costs nothing. Hang reports, gdb and
// `--timeout` print it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum mlt_wait_kind {
    MLT_WAIT_NONE,       // a thread of the library waits for work
    MLT_WAIT_RECV,       // a message from peer
    MLT_WAIT_SEND,       // peer to take a message
    MLT_WAIT_PROBE,      // a message from peer to look at
    MLT_WAIT_ALL,        // all of n operations
    MLT_WAIT_ANY,        // one of n operations
    MLT_WAIT_COLLECTIVE, // the other ranks
    MLT_WAIT_OTHER,      // something else inside the library
    MLT_WAIT_HELD,       // only in reports: no wait, but a message that no receive takes
    MLT_WAIT_CSP,        // a channel, an alternation, a join
    MLT_WAIT_TIME,       // time to pass: the rank sleeps
    MLT_WAIT_FD,         // a descriptor, or one of several
    MLT_WAIT_WINDOW,     // one-sided communication: a lock, operations, other ranks' epochs
} mlt_wait_kind;

enum { MLT_WAIT_ANYONE = -1, MLT_WAIT_ANY_TAG = -2 }; // the values of the MPI ABI

typedef struct mlt_wait {
    const char *call; // the function the user called, "MPI_Recv"; static
    mlt_wait_kind kind;
    uint32_t context;       // of the communicator, if there is one
    union {                 // by kind
        struct {            // RECV, SEND, PROBE
            int32_t peer;   // RECV, PROBE: a rank of the communicator, or MLT_WAIT_ANYONE; SEND: a
                            // world rank
            int32_t tag;    // or MLT_WAIT_ANY_TAG
            uint64_t bytes; // size of the message
        };
        struct {              // ALL, ANY
            const void *list; // the owner's array of operations, for its own reporter
            uint32_t n;       // its length
        };
        struct {              // BARRIER
            const void *team; // of a collective call; NULL: it is none
            uint64_t number;  // of the call
        };
        const void *request; // OTHER: for it may stand for others; NULL: there is none
        struct {             // TIME, FD
            int32_t fd;      // FD: the descriptor; -1: several
            bool *stop; // whoever sets it wakes the fiber, which then waits no longer; NULL: nobody
        };
        const void *csp;    // CSP: the mlt_csp_wait (csp/wait.h)
        const void *window; // WINDOW: the mlt_win_waiter (win/side.h)
    };
} mlt_wait;
