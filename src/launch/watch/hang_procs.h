// SPDX-License-Identifier: BSD-3-Clause
// What workers say about their processes (MLT_CTL_PROCS): kept until the hang report is printed,
// then shown in the order of ranks, those that say the same once.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct mlt_hang_worker_text {
    uint32_t first_rank, ranks; // of the worker
    uint32_t hash;
    char *text; // "": there was no room for it
} mlt_hang_worker_text;

// Zeroed: empty.
typedef struct mlt_hang_procs {
    mlt_hang_worker_text *items;
    size_t count, room;
    size_t bytes; // of all texts
} mlt_hang_procs;

// Any bytes may come: what is kept are lines that a terminal can show, each begins with two spaces.
void mlt_hang_procs_add(mlt_hang_procs *procs, uint32_t first_rank, uint32_t ranks,
                        const char *text, size_t length);
void mlt_hang_procs_print(mlt_hang_procs *procs, FILE *out);
void mlt_hang_procs_fini(mlt_hang_procs *procs);
