// SPDX-License-Identifier: BSD-3-Clause
// Running jobs of this user on this host, and questions to one of them (launch/live/live.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "tools/args.h"

typedef struct mlt_live_found {
    uint32_t pid;      // of its mpirun
    char address[108]; // the name of its socket, without the zero before it
} mlt_live_found;

// The job that the word names, or the only one if it is NULL. MLT_ARGS_GO, or the exit code after a
// message, which lists the jobs if there are several.
int mlt_live_find(const mlt_arg_command *command, const char *word, mlt_live_found *out);

// Asks for a page and waits for it; its body in *body, which the caller frees. False: the job is
// gone, or its mpirun does not answer as it should; a message in why.
bool mlt_live_ask(const mlt_live_found *job, const char *page, mlt_text *body, char *why,
                  size_t why_size) MLT_MUST_CHECK;

// Gives the job a rule book, "" for its own rules; the number of the change in *number.
bool mlt_live_give(const mlt_live_found *job, const char *file, uint32_t *number, char *why,
                   size_t why_size) MLT_MUST_CHECK;

// Lets the job's trace start or stop; the name of its file in *file, which the caller frees.
bool mlt_live_trace(const mlt_live_found *job, bool start, mlt_text *file, char *why,
                    size_t why_size) MLT_MUST_CHECK;
