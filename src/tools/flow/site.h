// SPDX-License-Identifier: BSD-3-Clause
// Where a program would run: -n, -nfg and a hostfile of a command line, and what comes of it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flow/lower/lower.h"
#include "flow/place/place.h"
#include "tools/args.h"

enum { MLT_FLOW_SITE_ARGS = 5 };

typedef struct mlt_flow_site_options {
    uint64_t workers, fine;
    const char *hostfile;
    bool reproducible, unbalanced;
} mlt_flow_site_options;

typedef struct mlt_flow_site {
    mlt_flow_sites *sites;
    mlt_flow_placing *placing;
    mlt_flow_lowered *lowered;
    char *hosts;
} mlt_flow_site;

extern mlt_flow_site_options mlt_flow_site_asked;
extern mlt_arg mlt_flow_site_args[MLT_FLOW_SITE_ARGS];

// keep: leave nothing out (lower.h). path: of the file, for messages. It stays until the process ends.
mlt_flow_site mlt_flow_site_make(const mlt_flow_graph *graph, const char *path, bool keep);
