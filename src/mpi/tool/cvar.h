// SPDX-License-Identifier: BSD-3-Clause
// Control variables are the settings of all layers (base/settings.h), by the same names and in the
// order of `millet info`.
//
// Reading gives what is in effect, which of settings that belong to a worker is the worker's own.
// Writing, before the process has joined its job, is as if the environment had the value; this
// is possible only in a process that holds one rank, and until MPI_Init. Afterwards settings of a worker
// (MLT_SCOPE_WORKER) can be changed, for all ranks of the caller's worker, and nothing else can.
#pragma once

#include "base/settings.h"
#include "mpi/tool/tool.h"

typedef struct mlt_tool_cvar {
    const mlt_setting *setting;
    const char *layer;
    mlt_tool_enum enumtype; // of a choice
} mlt_tool_cvar;

// All of them; the same for the whole life of the process.
const mlt_tool_cvar *mlt_tool_cvars(void);
int mlt_tool_cvar_count(void);
const char *mlt_tool_cvar_name(int i);

struct mlt_tool_cvar_handle; // cvar.c
void mlt_tool_cvar_drop(struct mlt_tool_cvar_handle *h);

// The layers that have settings, in the same order: how many, and the i-th.
int mlt_tool_layers(const char *const **names);
