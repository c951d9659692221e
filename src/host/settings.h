// SPDX-License-Identifier: BSD-3-Clause
// Settings of ranks' output; read once before the first worker starts, constant afterwards.
#pragma once

#include <stdint.h>

#include "base/settings.h"

typedef struct mlt_host_conf {
    int64_t label, timestamp;
    const char *job; // "": the first of its family
    // Images are made before settings are read, so globals.c takes these from the environment
    // itself; here they are checked, and known to `millet info`.
    int64_t globals, globals_mappings;
    const char *private_libraries, *shared_libraries;
    const char *outfile, *errfile; // "": none
    const char *input;             // a rank, "all", "none"
    // The job is joined by them (boot/ctl.h); here they are checked.
    int64_t nfg, threads, alone;
} mlt_host_conf;

extern mlt_host_conf mlt_host_settings;
extern const mlt_settings_table mlt_host_settings_table;
