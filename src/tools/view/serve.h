// SPDX-License-Identifier: BSD-3-Clause
// `millet view --serve`: gives a page to browsers of this machine, and the pieces of its runs that the page asks for.
//
// It listens at 127.0.0.1 only. The link has a token of 128 random bits, since every user of the machine can connect; a
// request without it, or with another host's name, learns nothing (a page of another site may make the browser ask here,
// and give 127.0.0.1 a name of its own). There are at most 16 connections; the one that was silent longest makes room.
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "tools/view/pieces.h"

typedef struct mlt_serve {
    const mlt_text *page; // the whole page, without data
    const mlt_text *data; // that it loads first
    mlt_pieces *runs;
    size_t run_count;
    uint16_t port; // 0: one that is free
} mlt_serve;

// Calls `ready` with the link once it listens. Returns after SIGINT or SIGTERM, which stay
// blocked; the command ends then.
void mlt_serve_run(const mlt_serve *serve, void (*ready)(const char *link));
