// SPDX-License-Identifier: BSD-3-Clause
// Events: what happened, when, told to callbacks.
//
// An event is noted with its time in the middle of a step of the worker, on whatever stack, where no
// function of the user's may run. It waits, in the order of time, and its callbacks are called when
// a call of the rank ends: by the rank itself, outside of everything, so that they may call
// whatever they like (MPI_T_CB_REQUIRE_NONE). A rank calls one at a time. A registration holds a limited
// number (info key `millet_buffer`) of events that wait. More are dropped and counted, and the next
// time its callbacks could run, its handler for that is called.
#pragma once

#include "mpi/tool/tool.h"

enum { MLT_TOOL_NUMBERS = 4 }; // elements that are ints; another one may follow, which is not

// What MPI_T_event_copy gives.
typedef struct mlt_tool_data {
    int32_t number[MLT_TOOL_NUMBERS];
    uint64_t large;
} mlt_tool_data;

typedef struct mlt_tool_event {
    const char *name, *category, *help;
    mlt_tool_enum elements; // their names
    uint8_t numbers;        // of them are ints
    bool large;             // and then comes a number of 64 bits
    bool comm;              // bound to a communicator
    uint8_t source;         // source.h
    uint8_t verbosity;
} mlt_tool_event;

struct mlt_tool_registration; // event.c

// An event that waits for its callback.
typedef struct mlt_tool_instance {
    mlt_list_node link;
    struct mlt_tool_registration *to;
    const mlt_tool_event *type; // of that
    uint64_t time_ns;
    mlt_tool_data data;
} mlt_tool_instance;

// What handles stand for; NULL: they are none of this caller's now.
struct mlt_tool_registration *mlt_tool_registration_of(const mlt_tool *tool,
                                                       MPI_T_event_registration handle);
const mlt_tool_instance *mlt_tool_instance_of(const mlt_tool *tool, MPI_T_event_instance handle);

// A new info object with the hints in use.
MPI_Info mlt_tool_registration_hints(const struct mlt_tool_registration *r);

extern const mlt_tool_event mlt_tool_event_types[];
int mlt_tool_event_count(void);
const char *mlt_tool_event_name(int i);
