// SPDX-License-Identifier: BSD-3-Clause
// Running jobs of this user on this host, and questions to one of them (launch/live/live.h).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "os/line.h"
#include "tools/args.h"

typedef struct mlt_live_found {
    uint32_t pid;                   // of its mpirun
    char address[MLT_OS_LINE_NAME]; // of its socket
} mlt_live_found;

// The job that the word names, or the only one if it is NULL.
mlt_live_found mlt_live_find(const char *word);

// Asks for a page and waits for it; its body in *body, which the caller frees. False: the job is
// gone, or its mpirun does not answer as it should; a message in mlt_args_why.
bool mlt_live_ask(const mlt_live_found *job, const char *page, mlt_text *body) MLT_MUST_CHECK;

// The same for what gives the job something: /book a rule book, "" for its own rules; /trace "start" or
// "stop". The answer is the number of the change, or the name of the trace's file.
bool mlt_live_post(const mlt_live_found *job, const char *page, const char *text,
                   mlt_text *body) MLT_MUST_CHECK;
