// SPDX-License-Identifier: BSD-3-Clause
// What binary files of GOAL have in common: schedules (image_int.h) and compressed programs
// (goal/regular). They differ in their first bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MLT_GOAL_IMAGE_ORDER = 0x01020304 };

typedef struct mlt_goal_image_header {
    char magic[8];
    uint32_t version;
    uint32_t order;    // MLT_GOAL_IMAGE_ORDER in the byte order of its writer
    uint64_t size;     // of the file
    uint64_t checksum; // of the file, with 0 here
    uint32_t ranks;    // of the program
    uint32_t held;     // of the table
    uint32_t buffers;  // of all of the table
    uint32_t names;    // bytes, the filling not counted
} mlt_goal_image_header;
_Static_assert(sizeof(mlt_goal_image_header) == 48, "the file's layout has no holes");

// A checksum of 64 bits, of words of 8 bytes, so that a change in any single one shows. `size` is a
// multiple of 8; the header's checksum counts as 0.
uint64_t mlt_goal_image_checksum(const void *bytes, size_t size);

// NULL: what can be a buffer's name in a file. Else what is wrong.
const char *mlt_goal_image_name_fault(const char *name);
