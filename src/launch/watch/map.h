// SPDX-License-Identifier: BSD-3-Clause
// What a job's collectives did: the algorithms that were chosen (--report), and the path map: for
// each communicator and collective the wrappers that its calls went through, how ranks and workers
// take part, and the times of the stages. As text, and as a drawing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "boot/ctl.h"
#include "launch/plan/plan.h"
#include "launch/watch/picture.h"

typedef struct mlt_path_map {
    mlt_ctl_choice *choices;
    mlt_ctl_path *paths;
    mlt_ctl_step *steps;
    size_t choice_count, path_count, step_count;
    mlt_texts hosts; // [hosts] names of the job's, for the drawing
} mlt_path_map;

void mlt_path_map_init(mlt_path_map *map);
void mlt_path_map_fini(mlt_path_map *map);

// Records of a worker; those that are alike are added up.
void mlt_path_map_choices(mlt_path_map *map, const mlt_ctl_choice *choices, size_t count);
void mlt_path_map_paths(mlt_path_map *map, const mlt_ctl_path *paths, size_t count);

// The same of calls; plan: where ranks are.
void mlt_path_map_steps(mlt_path_map *map, const mlt_placement *plan, const mlt_ctl_step *steps,
                        size_t count);

// The tree of a path, with the last calls that all its workers have kept; NULL: none was.
typedef struct mlt_path_tree {
    mlt_picture tree;
    // What it points to.
    mlt_picture_worker *workers;
    uint64_t (*times)[MLT_MOMENTS];
    mlt_picture_call *calls;
    char stages[160], alg[MLT_CTL_NAME];
} mlt_path_tree;
mlt_path_tree *mlt_path_tree_new(const mlt_path_map *map, const mlt_ctl_path *path);
void mlt_path_tree_free(mlt_path_tree *tree);

// A part of --report; nothing if nothing was chosen.
void mlt_path_map_report(mlt_path_map *map, FILE *out);

void mlt_path_map_print(mlt_path_map *map, const char *program, FILE *out);
void mlt_path_map_draw(mlt_path_map *map, const char *program, FILE *out); // SVG

// For those who print paths: the next wrapper of a stack, its name in `name` (false at the end); the time
// of a wrapper (NULL: it has none); whether the choice was made for calls of the path.
bool mlt_path_map_wrapper(const char **stack, char name[MLT_CTL_NAME]);
const mlt_ctl_clock *mlt_path_map_clock(const mlt_ctl_path *path, const char *wrapper);
bool mlt_path_map_serves(const mlt_ctl_choice *choice, const mlt_ctl_path *path);

// For readers of a trace (trace/facts.h): paths and their stages.
void mlt_path_map_facts(mlt_path_map *map, FILE *out);

// Into `file`: a drawing if its name ends with .svg, else text; "-": standard error. On failure a
// message is printed.
void mlt_path_map_write(mlt_path_map *map, const char *program, const char *file);
