// SPDX-License-Identifier: BSD-3-Clause
// Events and which must come before which: what the checker and the passes ask of a program.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "goal/pairs.h"
#include "goal/program.h"

typedef struct mlt_waits {
    uint32_t count;
    uint64_t *at; // event e is followed by to[at[e] .. at[e + 1])
    uint32_t *to;
    uint32_t *order; // mlt_waits_sort: all events, each after what it waits for; NULL: none
} mlt_waits;

// emit calls mlt_waits_edge for each pair; it is called twice and must say the same both times.
void mlt_waits_init(mlt_waits *waits, uint32_t count, void (*emit)(mlt_waits *waits, void *user),
                    void *user);
void mlt_waits_edge(mlt_waits *waits, uint32_t before, uint32_t after);
void mlt_waits_fini(mlt_waits *waits); // all zero is fine

// Events that wait for each other.
typedef struct mlt_waits_cycle {
    uint32_t *events, count; // each comes only after the next one. The caller frees them
    uint32_t blocked;        // how many events never come
} mlt_waits_cycle;

// Puts the events into an order. False: there is none, and a short cycle, if one is asked for.
bool mlt_waits_sort(mlt_waits *waits, mlt_waits_cycle *cycle);

// The starts and ends of all ranks' actions: event 2n is the start of action n (numbered as in
// mlt_goal_pairs), 2n + 1 its end.
//
//     an action ends after it has started
//     it starts after those that it requires have ended (or started)
//     a receive ends after its send has started
//     a synchronous send ends after its receive has started
//
// If these waits have no cycle, every run comes to its end, whatever order it takes: an event that
// happens early never delays another, so until all have come there is one that can come next.
//
// synchronous: all sends are. A message that lacks an end is taken to end. Sorts them; false: there
// is a deadlock, as for mlt_waits_sort.
bool mlt_waits_of(mlt_waits *waits, const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                  bool synchronous, mlt_waits_cycle *cycle);

// Which of the ranks low .. high - 1 may not have begun when a rank ends: adds to [ranks]. Sorted
// waits of a program only; buffered sends give the fewest, so what holds for them holds for all.
typedef struct mlt_waits_unheard {
    uint32_t count, first;
} mlt_waits_unheard;
void mlt_waits_begun(const mlt_waits *waits, const mlt_goal_pairs *pairs, uint32_t ranks,
                     uint32_t low, uint32_t high, mlt_waits_unheard *unheard);
