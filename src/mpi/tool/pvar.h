// SPDX-License-Identifier: BSD-3-Clause
// Performance variables: one table of what a tool can read. A variable's name begins with whose it
// is: `worker_`, `process_`, `comm_` (bound to a communicator), and all others the calling rank's.
//
// Every count only grows. A handle (session.c) has its own view: it remembers where the count stood
// when it was started, so that many of them, of several sessions, count one thing from different
// times on.
#pragma once

#include "mpi/tool/tool.h"

enum { MLT_TOOL_ELEMENTS = MLT_CTL_COPIES }; // of a variable, at most

typedef enum mlt_tool_unit {
    MLT_UNIT_COUNT,       // MPI_UNSIGNED_LONG_LONG
    MLT_UNIT_NANOSECONDS, // MPI_DOUBLE, in seconds
    MLT_UNIT_PARTS,       // MPI_DOUBLE from 0 to 1, of so many parts:
    MLT_UNIT_STATE,       // MPI_INT
} mlt_tool_unit;

enum { MLT_TOOL_PARTS = 1000000000 };

struct mlt_tool_pvar_handle;

typedef struct mlt_tool_pvar {
    const char *name, *category, *help;
    uint8_t class;     // MPI_T_PVAR_CLASS_...
    uint8_t unit;      // mlt_tool_unit
    uint8_t count;     // elements
    uint8_t verbosity; // MPI_T_VERBOSITY_...
    bool comm;         // bound to a communicator
    bool watch;        // needs a watched worker: it can be started and stopped
    bool read_only;    // cannot be written or reset
    uint8_t event;     // of a communicator: counts these (mlt_event_kind); MLT_EVENTS: none
    bool bytes;        // ... their bytes
    const mlt_tool_enum *enumtype;
    uint64_t (*now)(const struct mlt_tool_pvar_handle *h, const mlt_rank *rank,
                    int i); // i-th element
    size_t at;              // now is NULL: where it lies in mlt_tool_counts
} mlt_tool_pvar;

extern const mlt_tool_pvar mlt_tool_pvars[]; // ends with one without a name
int mlt_tool_pvar_count(void);

typedef struct mlt_tool_pvar_handle {
    mlt_tool_object object; // in its session
    mlt_list_node hearer;   // in tool->hearers, while it hears of every event
    struct mlt_tool_session *session;
    const mlt_tool_pvar *var;
    const mlt_comm *comm; // NULL: not bound; its memory stays readable while the rank is there
    uint32_t context;     // of the communicator: another one may have its place
    bool runs;
    uint64_t seen;                     // on the communicator
    uint64_t value[MLT_TOOL_ELEMENTS]; // up to the last start, or the extreme
    uint64_t from[MLT_TOOL_ELEMENTS];  // where the count stood then
} mlt_tool_pvar_handle;

// Of one variable, or of all of the session's with which that can be done. Read: and reset.
typedef enum mlt_tool_act { MLT_TOOL_START, MLT_TOOL_STOP, MLT_TOOL_RESET } mlt_tool_act;
int mlt_tool_pvar_act(struct mlt_tool_session *s, MPI_T_pvar_handle handle, mlt_tool_act act);
int mlt_tool_pvar_read(mlt_tool_pvar_handle *h, bool resets, void *buf);
void mlt_tool_pvar_drop(mlt_tool_pvar_handle *h);
void mlt_tool_session_drop(struct mlt_tool_session *s);

// The i-th element of what the handle's variable stands at; 0 without a rank.
uint64_t mlt_tool_pvar_now(const mlt_tool_pvar_handle *h, int i);
