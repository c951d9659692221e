// SPDX-License-Identifier: BSD-3-Clause
// What a worker keeps of names: which ones it uses, and its connection to the server
// (server.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "csp/names/names.h"
#include "csp/names/text.h"
#include "csp/state.h"
#include "fiber/io.h"
#include "net/outbox.h"

typedef enum mlt_names_state {
    MLT_NAMES_OFF,      // not connected
    MLT_NAMES_DIALLING, // on another host
    MLT_NAMES_GREETING, // said HELLO
    MLT_NAMES_READY,
} mlt_names_state;

struct mlt_names {
    mlt_csp *csp;
    const mlt_names_ops *ops;
    char path[MLT_NAMES_PATH]; // the file
    mlt_names_file file;       // as it was read last
    mlt_names_state state;
    int fd;         // -1: none
    mlt_far far;    // for a server on another host
    mlt_dial *dial; // DIALLING
    bool met;       // a server has welcomed this worker
    mlt_io_watch reads, writes;
    mlt_timer again;  // for the next try to connect; DIALLING: to go on
    uint64_t lost_ns; // since when it is tried again; 0: it is not
    uint64_t pause_ns;
    uint32_t ids;
    mlt_list_node asks; // of processes that wait, in order
    mlt_list_node kept; // what was registered, to be registered anew
    size_t held;
    unsigned char in[MLT_NAMES_FRAME];
    mlt_outbox out;
};

// Reads the file and connects, or begins to. On failure csp->why tells; *absent: no server is there.
bool mlt_names_dial(struct mlt_names *names, bool *absent) MLT_MUST_CHECK;
struct mlt_names *mlt_names_new(mlt_csp *csp, const char *path);
void mlt_names_free(struct mlt_names *names);
