// SPDX-License-Identifier: BSD-3-Clause
// A run as the page's script reads it: a description in JSON, and data: levels of detail, and where there are not too
// many of them, every call, wait and message. data.js is the other side; docs/internals/view.md describes both.
#ifndef MLT_TOOLS_VIEW_PACK_H
#define MLT_TOOLS_VIEW_PACK_H

#include "base/text.h"
#include "tools/trace/causes.h"

typedef struct mlt_pack_limits {
    uint64_t spans;    // calls and waits: above, the page has none, or asks a server for them
    uint64_t messages; // above, it has those that ended a wait, or some of these
} mlt_pack_limits;

// Adds to both. What `json` says of places in the data counts from its begin.
void mlt_pack_run(const mlt_causes *causes, const char *name, const mlt_pack_limits *limits,
                  mlt_text *json, mlt_text *data);

// The calls and waits of a rank that are there between two times, as the data have them.
void mlt_pack_rank(const mlt_causes *causes, uint32_t rank, uint64_t begin, uint64_t end,
                   mlt_text *data);

#endif
