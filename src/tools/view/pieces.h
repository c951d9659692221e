// SPDX-License-Identifier: BSD-3-Clause
// A run by pieces: what a page that is served asks for while its user zooms, selects and searches. data.js is the other
// side. Numbers of a piece are written as pack.h writes them.
//
//     spans     first, count (ranks), begin, end          1, or 0: too many for one piece; then for each rank: when its
//                                                         first event began, when its last one ended, the index of the
//                                                         first call here, and what mlt_pack_rank writes
//     call      rank, call (its index)                    the same of that rank, from the call's begin to its end
//     messages  begin, end; rank, or from, to and shift   how many; then the messages
//     find      fns, causes, tag or longer                how many; then for each: begin, rank, index of the call + 1
//                                                         or 0, 0 or the cause + 1, length
//     waits     time                                      how many ranks wait; then for each: rank, cause, the rank that
//                                                         it waits for, begin, end
//
// Every request has `run`, too. docs/internals/view.md says more.
#pragma once

#include "base/text.h"
#include "tools/trace/causes.h"

enum {
    MLT_PIECE_SPANS = 200000, // calls and waits
    MLT_PIECE_MESSAGES = 3000,
    MLT_PIECE_FOUND = 200000,
};

typedef struct mlt_pieces {
    const mlt_causes *causes; // the rest is 0 at first
    // Made when the first messages are asked for: the index of each by its sender, and by its receiver.
    uint32_t *sent, *received;
    uint64_t *sent_from, *received_from; // [ranks + 1]
} mlt_pieces;

// Adds the piece that `what` and its query ask for. Returns a status of http.h; unless it is FINE, what was added is
// a message that says what is wrong.
int mlt_pieces_answer(mlt_pieces *pieces, const char *what, const char *query,
                      mlt_text *data) MLT_MUST_CHECK;
