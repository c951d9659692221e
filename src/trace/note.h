// SPDX-License-Identifier: BSD-3-Clause
// How a worker notes what happens, in memory and in the file: one word for what was like this before.
//
// A note is one or several events of the same call (below): when it ended, how long it took, and all
// else, which is its likeness. A worker remembers up to MLT_NOTE_SLOTS likenesses, each in the slot
// that its hash gives. A note whose likeness is in its slot is one word:
//
//     bits 0..7    the slot, below MLT_NOTE_SLOTS
//     bits 8..35   ticks from the end of the note before to the end of this one
//     bits 36..63  ticks that it took
//
// Any other note is 7 words: its likeness goes to the slot. So is the first of a chunk.
//
//     MLT_NOTE_WHOLE or MLT_NOTE_LIKE, slot << 8     LIKE: no note, but the likeness of later ones
//     ticks when it ended, ticks that it took
//     bytes
//     rank << 32 | peer
//     tag << 32 | context
//     fn << 16 | how << 8 | kind
//
// A worker's notes follow each other by the time they end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/event.h"

enum {
    MLT_NOTE_SLOTS = 254,
    MLT_NOTE_LIKE = 254,
    MLT_NOTE_WHOLE = 255,
    MLT_NOTE_WORDS = 7,
    MLT_NOTE_BITS = 28, // of a time in a word
};

// Added to the kind CALL: the message events that were merged into it. peer is then a rank of the world.
enum {
    MLT_NOTE_SENT = 0x20,    // and a message left when it began; how: the distance
    MLT_NOTE_POSTED = 0x40,  // and a receive was posted when it began
    MLT_NOTE_MATCHED = 0x80, // and a receive and its message met when it ended. With POSTED: in
                             // between the rank was parked; how: what for
    MLT_NOTE_KIND = 0x1f,
};

// All of a note but its times.
typedef struct mlt_trace_like {
    uint64_t bytes, peer, tag, kind; // as above
} mlt_trace_like;

static inline mlt_trace_like mlt_trace_like_of(uint64_t bytes, uint32_t rank, int32_t peer,
                                               int32_t tag, uint32_t context, uint16_t fn,
                                               uint8_t how, uint8_t kind)
{
    return (mlt_trace_like){bytes, (uint64_t)rank << 32 | (uint32_t)peer,
                            (uint64_t)(uint32_t)tag << 32 | context,
                            (uint64_t)fn << 16 | (uint64_t)how << 8 | kind};
}

static inline uint32_t mlt_trace_slot(const mlt_trace_like *like)
{
    uint64_t mixed =
        (like->peer + like->kind * 0x9E3779B97F4A7C15u + like->tag * 0xBF58476D1CE4E5B9u);
    return (uint32_t)((mixed ^ mixed >> 32) * 0xD1B54A32D192ED03u >> 32) *
               (uint64_t)MLT_NOTE_SLOTS >>
           32;
}

static inline bool mlt_trace_alike(const mlt_trace_like *a, const mlt_trace_like *b)
{
    return ((a->bytes ^ b->bytes) | (a->peer ^ b->peer) | (a->tag ^ b->tag) |
            (a->kind ^ b->kind)) == 0;
}

static inline uint64_t mlt_trace_word(uint32_t slot, uint64_t since, uint64_t span)
{
    return slot | since << 8 | span << (8 + MLT_NOTE_BITS);
}

// Writes a note with the given likeness and times to `to`, which has room for MLT_NOTE_WORDS; how
// many words it took. slots: those of this chunk; `last`: when the note before ended.
static inline size_t mlt_trace_put(uint64_t *to, mlt_trace_like *slots, uint64_t last,
                                   const mlt_trace_like *like, uint64_t end, uint64_t span)
{
    uint32_t s = mlt_trace_slot(like);
    uint64_t since = end - last;
    if (mlt_trace_alike(&slots[s], like) && (since | span) >> MLT_NOTE_BITS == 0) {
        to[0] = mlt_trace_word(s, since, span);
        return 1;
    }
    slots[s] = *like;
    to[0] = MLT_NOTE_WHOLE | s << 8;
    to[1] = end;
    to[2] = span;
    to[3] = like->bytes;
    to[4] = like->peer;
    to[5] = like->tag;
    to[6] = like->kind;
    return MLT_NOTE_WORDS;
}

// How many events the data of a chunk are; -1: they are no notes.
int64_t mlt_notes_count(const void *data, size_t bytes) MLT_MUST_CHECK;

// The same; sets the bits of all kinds that there may be.
int64_t mlt_notes_look(const void *data, size_t bytes, uint32_t *kinds) MLT_MUST_CHECK;

// The events themselves, with times in ticks.
void mlt_notes_expand(const void *data, size_t bytes, mlt_trace_event *events);

// What a chunk must begin with whose notes follow these: at most MLT_NOTE_SLOTS * MLT_NOTE_WORDS
// words. Returns how many.
size_t mlt_notes_likes(const void *data, size_t bytes, uint64_t *to);
