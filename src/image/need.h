// SPDX-License-Identifier: BSD-3-Clause
// The memory that images need, before it is taken, against what there is. An image takes the pages
// that have addresses in them when it is made, and the other writable ones when its rank writes
// there.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct mlt_image_need {
    uint64_t written;   // bytes of an image that making it writes
    uint64_t writable;  // ... that its rank may write; the former are among them
    uint64_t limited;   // ... that count when it is made (ulimit -d)
    uint64_t common;    // bytes that all images of a process share, taken by then
    uint64_t images;    // of this process
    uint64_t all;       // of the whole job on this host
    uint64_t processes; // ... in so many
} mlt_image_need;

typedef struct mlt_image_room {
    // UINT64_MAX: without end, or not known.
    uint64_t memory; // of the host, or of the job's control group, when the job began
    uint64_t data;   // writable memory that the process may still have (ulimit -d)
} mlt_image_room;

typedef enum mlt_image_fit {
    MLT_FIT_WELL,
    MLT_FIT_TIGHT, // not if ranks write all that they may; why is a note
    MLT_FIT_NOT,   // not even before they run; why is a message
} mlt_image_fit;

mlt_image_fit mlt_image_need_fits(const mlt_image_need *need, const mlt_image_room *room, char *why,
                                  size_t why_size);

// What this process may still have. memory: of the host (mlt_job.memory); 0: not known.
void mlt_image_room_now(uint64_t memory, mlt_image_room *out);
