// SPDX-License-Identifier: BSD-3-Clause
// Settings of flow programs; read once before the first worker starts, constant afterwards.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"

typedef struct mlt_flow_conf {
    int64_t balance;    // reductions are planned around each other's load
    const char *report; // "", or a file for what passed each queue (stats.h)
    bool traced;        // not in the table: the job writes a trace, which has what queues did
    bool reproducible;  // not in the table: MPI's setting of that name (lib/upcalls.c hands it on)
} mlt_flow_conf;

extern mlt_flow_conf mlt_flow_conf_now;
extern const mlt_settings_table mlt_flow_settings;
