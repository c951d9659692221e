// SPDX-License-Identifier: BSD-3-Clause
// The tree of a path: which ranks share which wrappers, on which hosts, and in which order stages
// happen. A rule book gives it before a run (`millet paths draw`), a run with `mpirun --paths FILE.svg`
// gives it with the times of its last calls, which the drawing plays.
//
//      host a          | host b
//     (0) (1)  (2) (3) | (4) (5)  (6) (7)
//      |   |    |   |  |  |   |    |   |     1 count, 2 check
//     [combine][combine|[combine][combine]   3
//     [ reduce.linear ]| [reduce.linear  ]   4
//     [   allreduce.ring between hosts   ]   5
//
// Nothing here trusts the numbers of a tree but `count` and `calls`, the lengths of lists.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "boot/ctl.h"

typedef struct mlt_picture_worker {
    uint32_t first, ranks; // that it has
    uint32_t host;
} mlt_picture_worker;

// A call: for each worker the times since the first rank came anywhere; 0: unknown.
typedef struct mlt_picture_call {
    uint64_t number;
    const uint64_t (*time)[MLT_MOMENTS]; // [workers]
} mlt_picture_call;

typedef struct mlt_picture {
    const char *collective, *object, *by;
    const char *stack;  // mlt_ctl_path.stack
    const char *alg;    // of the schedule; "": there is none
    const char *stages; // over hosts (mlt_ctl_choice.stages); "": none
    uint32_t level;     // mlt_ctl_level
    uint32_t ranks;     // of all workers
    const mlt_picture_worker *workers;
    uint32_t count;           // of them
    const char *const *hosts; // names; NULL: "host 0"
    uint32_t host_count;
    const mlt_picture_call *calls; // the oldest first
    uint32_t call_count;
} mlt_picture;

void mlt_picture_print(const mlt_picture *tree, FILE *out);

// What it needs of a drawing, in pixels; then it at (x, y). `id`: another number for each tree of a file.
double mlt_picture_height(const mlt_picture *tree);
void mlt_picture_draw(const mlt_picture *tree, uint32_t id, double x, double y, FILE *out);
enum { MLT_PICTURE_WIDTH = 980 };

// In the file's <style>, and at its end: what plays the calls.
extern const char mlt_picture_style[];
void mlt_picture_script(FILE *out);
