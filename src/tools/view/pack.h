// SPDX-License-Identifier: BSD-3-Clause
// A run as the page's script reads it: a description in JSON, and data: levels of detail, and where there are not too
// many of them, every call, wait and message. data.js is the other side; docs/internals/view.md describes both.
#pragma once

#include "base/text.h"
#include "judge/sim/sim.h"
#include "tools/trace/causes.h"
#include "tools/view/moves.h"

typedef struct mlt_pack_wishes {
    uint64_t spans;    // calls and waits: above, the page has none, or asks a server for them
    uint64_t messages; // above, it has those that ended a wait, or some of these; 0: none
    const mlt_loggops *machine; // that collectives are simulated on; NULL: one as the run shows it
} mlt_pack_wishes;

// Adds to both. What `json` says of places in the data counts from its begin.
void mlt_pack_run(const mlt_causes *causes, const mlt_moves *moves, const char *name,
                  const mlt_pack_wishes *wishes, mlt_text *json, mlt_text *data);

// Numbers of as few bytes as they need.
void mlt_pack_number(mlt_text *data, uint64_t number);
void mlt_pack_signed(mlt_text *data, int64_t number);

// A message; *last is its time, from which the next one counts.
void mlt_pack_message(const mlt_story_message *message, uint64_t *last, mlt_text *data);

// The first call of a rank that ends at a time or later; call_count if none does.
uint32_t mlt_pack_first(const mlt_story_rank *rank, uint64_t time);

// The calls and waits of a rank that are there between two times, as the data have them.
void mlt_pack_rank(const mlt_causes *causes, uint32_t rank, uint64_t begin, uint64_t end,
                   mlt_text *data);
