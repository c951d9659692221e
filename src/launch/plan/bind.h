// SPDX-License-Identifier: BSD-3-Clause
// Pinning: which processors each worker may run on. mpirun pins processes; a process with several
// worker threads gets the union of their places, finds each one's place in the segment, and pins
// its threads itself.
#ifndef MLT_LAUNCH_PLAN_BIND_H
#define MLT_LAUNCH_PLAN_BIND_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mlt_bind {
    cpu_set_t **places; // [count]; worker w has places[w % count]
    size_t count;       // 0: nothing is pinned
    size_t set_bytes;
} mlt_bind;

// True if it is a word of --bind-to or --map-by (core, socket:PE=2, ...); otherwise a message in
// why.
bool mlt_bind_word_known(const char *word, char *why, size_t why_size);

// Decides. bind_to and map_by may be NULL. Without bind_to workers are pinned to cores if the
// job takes more than half of them and not more than all: a smaller job would only sit on the same
// cores as the next one.
void mlt_bind_plan(mlt_bind *bind, const char *bind_to, const char *map_by, uint32_t workers);

// The union of the places of `workers` workers; the caller frees it with CPU_FREE. NULL if nothing
// is pinned.
cpu_set_t *mlt_bind_set(const mlt_bind *bind, uint32_t first_worker, uint32_t workers);

// The place of one worker as a bitmap of `bits` processors. False if nothing is pinned, or the
// place reaches beyond.
bool mlt_bind_place(const mlt_bind *bind, uint32_t worker, uint64_t *map, size_t bits);

// "0-3,8" for a set; into text.
void mlt_bind_text(const mlt_bind *bind, const cpu_set_t *set, char *text, size_t size);

#endif
