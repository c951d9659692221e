// SPDX-License-Identifier: BSD-3-Clause
// The MPI layer's own settings.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/settings.h"

typedef struct mlt_mpi_conf {
    int64_t goal_window, goal_offload;
    int64_t reproducible, strict;
    const char *trace;      // the file; "": none
    const char *trace_only; // trace_only.h
    int64_t trace_paused;
    int64_t trace_ranks;
    int64_t recorder;               // mlt_recorder_mode
    int64_t initial_errhandler;     // index of its choices: fatal, abort, return
    const char *memory_alloc_kinds; // info/memkind.h
} mlt_mpi_conf;

extern mlt_mpi_conf mlt_mpi_settings;

// Checks values in ways that the table cannot say. On failure a message in why.
mlt_status mlt_mpi_settings_check(char *why, size_t why_size) MLT_MUST_CHECK;

extern const mlt_settings_table mlt_mpi_settings_table;
