// SPDX-License-Identifier: BSD-3-Clause
// The file of schedules. Little-endian; everything begins at a multiple of 8.
//
//     header | ranks, ascending | buffers | names, filled up to 8 | code, one after the other
//
// Ranks whose schedules are the same except for their number share code and buffers: `like` is the
// place in the table of the first of them. Parts follow each other without gaps, in the order of
// the table, so that checking takes linear time whatever a file says.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "goal/image/head.h"
#include "goal/sched.h"

enum { MLT_GOAL_IMAGE_VERSION = 1 };
extern const char mlt_goal_image_magic[8]; // as PNG's: shows that a transfer changed line ends

typedef struct mlt_goal_image_rank {
    uint32_t rank, like;
    uint64_t code, bytes; // from the beginning of the file
    uint32_t actions, indices, requests, window, flags, users;
    uint32_t buffers, buffer; // how many, and where in the file's they begin
} mlt_goal_image_rank;

typedef struct mlt_goal_image_buffer {
    uint64_t size;
    uint32_t name; // place in the names; [0] is ""
    uint32_t unused;
} mlt_goal_image_buffer;

_Static_assert(sizeof(mlt_goal_image_rank) == 56 && sizeof(mlt_goal_image_buffer) == 16,
               "the file's layout has no holes");

struct mlt_goal_image {
    const unsigned char *bytes;
    const mlt_goal_image_header *header;
    const mlt_goal_image_rank *rank;
    const mlt_goal_image_buffer *buffer;
    const char *names;
    void *copy; // of the bytes, if theirs were not aligned
};

// Everything about one rank's code that its entry, its buffers and the number of ranks imply. NULL:
// it is fine; else what is wrong, in words. *action: where, or MLT_GOAL_NONE.
const char *mlt_goal_image_code_fault(const mlt_goal_image *image, const mlt_goal_image_rank *rank,
                                      uint32_t *action);

// The actions of a schedule, with dependencies and buffers, as a rank of a program that has none
// there yet.
void mlt_goal_image_to_program(const mlt_goal_sched *sched, mlt_goal_program *program);

// The schedule of an entry of the table, to be freed with mlt_goal_sched_free.
mlt_goal_sched *mlt_goal_image_entry(const mlt_goal_image *image, const mlt_goal_image_rank *entry);
