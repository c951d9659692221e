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
    uint64_t workers, fine; // 0: not given
    const char *hostfile;
    bool reproducible, unbalanced;
} mlt_flow_site_options;

typedef struct mlt_flow_site {
    mlt_flow_sites *sites;
    mlt_flow_placing *placing;
    mlt_flow_lowered *lowered;
    char *hosts;
} mlt_flow_site;

void mlt_flow_site_args(mlt_flow_site_options *options, mlt_arg out[MLT_FLOW_SITE_ARGS]);
bool mlt_flow_site_given(const mlt_flow_site_options *options); // any of them

// keep: leave nothing out (lower.h). path: of the file, for messages. MLT_ARGS_GO, or told and the
// exit code; mlt_flow_site_free in any case.
int mlt_flow_site_make(const mlt_arg_command *command, const mlt_flow_site_options *options,
                       const mlt_flow_graph *graph, const char *path, bool keep,
                       mlt_flow_site *out) MLT_MUST_CHECK;
void mlt_flow_site_free(mlt_flow_site *site);
