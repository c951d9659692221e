// SPDX-License-Identifier: BSD-3-Clause
// The file, little-endian: the header of an image with another magic, then numbers of 1 to 10 bytes (7
// bits each, the low ones first; those that may be negative in zigzag), filled up to 8:
//
//     flags       REGULAR_WILDCARDS, REGULAR_TURNS
//     peers       mlt_regular_mode
//     blocks      mlt_regular_mode, the bytes of a block or 0, and a bit for each of the first 32 buffers
//                 whose offsets are so
//     class ...   buffers: length, name, size; then records until END
//     set ...     first, step, count, stride, times, class
//
// Record: a mask of the fields that are not 0, those fields, then how many dependencies and their
// distances (own number - number of the other action, doubled, + 1 if it waits for the start). Or
// AGAIN: the last `length` actions come `times` times more; for each of them a mask of the fields that
// grow each time, and by how much.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "goal/regular/regular.h"

typedef enum mlt_regular_mode {
    MLT_REGULAR_ABSOLUTE,
    MLT_REGULAR_SUM, // (rank + c) modulo ranks
    MLT_REGULAR_XOR,
    MLT_REGULAR_MODES,
} mlt_regular_mode;

enum {
    REGULAR_WILDCARDS = 1,
    REGULAR_TURNS = 2, // mlt_regular_forms.turns
};
enum {
    REGULAR_VERSION = 1,
    REGULAR_LONGEST = 16,           // group that comes again
    REGULAR_MOST_ACTIONS = 1 << 24, // of a rank
    REGULAR_BLOCK_BUFFERS = 32,
};
extern const char mlt_goal_regular_magic[8];

// Fields of a record. An offset of a block has its form: 0, or 1 + c, and is at + n (rank and c), where
// n is the span's size.
typedef enum mlt_regular_field {
    F_KIND,
    F_OP,
    F_TYPE,
    F_FLAGS,
    F_CPU,
    F_NIC,
    F_USER,
    F_ANY, // the peer is MLT_GOAL_ANY
    F_PEER,
    F_TAG,
    F_BUF, // + 1, modulo 2^32
    F_FORM,
    F_AT,
    F_SIZE,
    F_SECOND, // the same four
    FIELDS = F_SECOND + 4,
} mlt_regular_field;
enum { F_SPAN = F_SECOND - F_BUF };
// Masks that are no record's.
enum { REGULAR_END = 0, REGULAR_AGAIN = 1 << FIELDS };
// What may grow in a group that comes again.
enum {
    REGULAR_GROWS = 1 << F_PEER | 1 << F_TAG | 1 << F_FORM | 1 << F_AT | 1 << (F_FORM + F_SPAN) |
                    1 << (F_AT + F_SPAN),
};

typedef struct mlt_regular_forms {
    uint32_t ranks;
    mlt_regular_mode peers, blocks;
    uint32_t mask; // buffers with blocks
    uint64_t unit; // XOR: spans of so many blocks begin at a multiple; 0: nothing is known of that
    bool turns;    // operations are reversed where the last peer is below the rank
} mlt_regular_forms;

typedef struct mlt_regular_record {
    uint64_t field[FIELDS];
} mlt_regular_record;

typedef struct mlt_regular_set {
    uint32_t first, step, count, stride, times, class;
} mlt_regular_set;

// Which span of `size` bytes the rank is in itself, where spans count from the rank.
static inline uint32_t mlt_regular_origin(const mlt_regular_forms *forms, uint32_t rank,
                                          uint64_t size)
{
    return forms->blocks == MLT_REGULAR_XOR && forms->unit && size > forms->unit
               ? (uint32_t)(rank / (size / forms->unit))
               : rank;
}

// Whether MLT_GOAL_REVERSED of an action is noted the other way round. *last: the peer of the last
// message, MLT_GOAL_ANY at first.
static inline bool mlt_regular_turns(const mlt_regular_forms *forms, uint32_t rank,
                                     const mlt_goal_action *action, int32_t *last)
{
    if (mlt_goal_is_message(action))
        *last = action->peer;
    return forms->turns && mlt_goal_has_two(action) && *last >= 0 && (uint32_t)*last < rank;
}

// Whose place c is, seen from the rank; and back.
static inline uint64_t mlt_regular_seen(mlt_regular_mode mode, uint32_t ranks, uint32_t rank,
                                        uint64_t place)
{
    return mode == MLT_REGULAR_SUM   ? (place + ranks - rank) % ranks
           : mode == MLT_REGULAR_XOR ? place ^ rank
                                     : place;
}

static inline uint64_t mlt_regular_place(mlt_regular_mode mode, uint32_t ranks, uint32_t rank,
                                         uint64_t seen)
{
    return mode == MLT_REGULAR_SUM   ? (seen % ranks + rank) % ranks
           : mode == MLT_REGULAR_XOR ? seen ^ rank
                                     : seen;
}
