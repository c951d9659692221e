// SPDX-License-Identifier: BSD-3-Clause
// Names: what csp_register and csp_find speak to. Within a job worker 0 keeps them (job.c); a
// name server (`millet names`, tools/names/names.c) keeps them for all programs of a user (server.c
// is its client). MILLET_NAMES decides: a file that the server wrote, "job" for the job alone;
// unset: the server whose file is at its usual place, if one runs, else the job; the job if that is
// one over several hosts.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "csp/net/route.h"
#include "csp/state.h"

enum { MLT_NAME_MOST = 255, MLT_NAME_TEXT = 1024 };

typedef struct mlt_name {
    char name[MLT_NAME_MOST + 1];
    uint8_t kind;    // mlt_remote_kind; MLT_OBJECT_NONE: a text (MPI_Publish_name)
    uint32_t size;   // channels: of a value
    uint32_t object; // its number at its worker
    int32_t node;    // the rank that registered it
    mlt_endpoint at;
    char text[MLT_NAME_TEXT]; // kind NONE
} mlt_name;

// All wait, as processes. find waits until something has the name, or until the deadline: then it
// returns CSP_NO_NAME if that is CSP_AT_ONCE, else CSP_LATE. If they fail, csp->why tells.
typedef struct mlt_names_ops {
    csp_status (*put)(mlt_csp *csp, const mlt_name *name);
    csp_status (*find)(mlt_csp *csp, const char *name, mlt_name *out, csp_time deadline);
    csp_status (*drop)(mlt_csp *csp, const char *name);
} mlt_names_ops;

extern const mlt_names_ops mlt_names_job, mlt_names_server;

// The one that this worker uses; NULL: csp->why tells what is wrong with MILLET_NAMES.
const mlt_names_ops *mlt_names_of(mlt_csp *csp);

// What to add to a message about a name that nothing has: that there is no server, if one was
// looked for; "" otherwise, and for NULL.
const char *mlt_names_hint(const mlt_csp *csp);

// The key of the server that this worker uses; NULL: it uses none, and csp->why tells. again: it
// may have changed, so the file is read again.
const unsigned char *mlt_names_key(mlt_csp *csp, bool again);

// Whether that server listens for other hosts, and so those who register with it must.
bool mlt_names_listens(mlt_csp *csp);

// Leaves the server: what was registered there goes. mlt_remote_end calls it.
void mlt_names_leave(mlt_csp *csp);
