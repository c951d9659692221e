// SPDX-License-Identifier: BSD-3-Clause
// What passes share.
//
//     flow.c     which bytes an action's results reach, on one rank
//     want.c     what passes ask of a program before they begin; barriers
//     edit.c     taking actions out, putting one in the place of two
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "goal/graph.h"
#include "goal/pairs.h"
#include "goal/program.h"
#include "goal/reach.h"
#include "judge/pass/pass.h"
#include "judge/waits.h"

// ---- flow
//
// The bytes of a rank fall into cells: no span of any action ends within one. A value is what one
// action leaves in one cell; reads name the value that they see. All of it is the same for every
// order of execution, unless `unclear`: two actions that are not ordered touch the same byte, or
// the spans of one overlap in part, or there are too many cells. Then passes leave the rank alone.

typedef struct mlt_pass_value {
    uint32_t writer; // NONE: there from the beginning
    uint32_t cell;
    uint32_t reads; // first of its reads, 1 + index; 0: none
    uint32_t over;  // the action that overwrites it; NONE: it is there at the end
} mlt_pass_value;

typedef struct mlt_pass_read {
    uint32_t value, action, which; // which: of the action's spans
    uint32_t next;                 // of the same value; 1 + index
} mlt_pass_read;

typedef struct mlt_pass_cell {
    uint32_t buf;
    uint64_t at, end;
} mlt_pass_cell;

typedef struct mlt_pass_flow {
    mlt_goal_graph *graph; // NULL order: a cycle, and nothing else is there
    mlt_goal_reach *reach; // NULL in flows of all ranks
    bool unclear;
    mlt_pass_cell *cells;
    uint32_t cells_count;
    mlt_pass_value *values; // the first cells_count of them are the initial ones
    mlt_pass_read *reads;
    uint32_t values_count, reads_count;
    uint32_t *value_at, *read_at; // [actions + 1], by place in the graph's order: what it writes
    uint32_t *last;               // [cells]: the value at the end
} mlt_pass_flow;

mlt_pass_flow *mlt_pass_flow_new(const mlt_goal_program *program, uint32_t rank);
// Of all ranks, without `reach`, which takes more than all the rest.
mlt_pass_flow **mlt_pass_flows_new(const mlt_goal_program *program);
void mlt_pass_flows_free(mlt_pass_flow **flows, uint32_t ranks);
void mlt_pass_flow_free(mlt_pass_flow *flow);

// Each pair of actions that touch a cell one right after the other, one of them writing. A pair may
// come more than once.
typedef void mlt_pass_conflict(void *user, uint32_t first, uint32_t second);
void mlt_pass_flow_conflicts(const mlt_pass_flow *flow, mlt_pass_conflict *tell, void *user);

// True if the contents of the cell count at the end. `kept` is mlt_pass_kept's, [buffers + 1].
static inline bool mlt_pass_cell_kept(const mlt_pass_cell *cell, const bool *kept)
{
    return cell->buf == MLT_GOAL_ADDRESS || kept[cell->buf];
}

// Which buffers of the rank options.keep names, [0] is MEMORY. The caller frees it.
bool *mlt_pass_kept(const mlt_goal_program *program, uint32_t rank, const char *keep);
// Every name of keep is that of some buffer.
mlt_status mlt_pass_keep_valid(const mlt_goal_program *program, const char *keep, char *why,
                               size_t why_size) MLT_MUST_CHECK;

// True if posting `recv` only after `other` too makes it wait for nobody else and for no long work:
// `other` is before it anyway, or is a local operation of which that holds.
bool mlt_pass_ready_by(const mlt_goal_rank *rank, mlt_goal_reach *reach, uint32_t other,
                       uint32_t recv);

// ---- events

// Whether no rank's program can end before all have begun. Unknown: finding out would take too
// long, or there are wildcards, or a deadlock.
typedef enum mlt_pass_answer { MLT_PASS_NO, MLT_PASS_YES, MLT_PASS_UNKNOWN } mlt_pass_answer;
mlt_pass_answer mlt_pass_is_barrier(const mlt_goal_program *program);

// ---- what a pass asks for before it begins; an error message if it is not so

// No cycles; and if pairs are asked for, messages that match in number and size. *pairs stays as it
// is if there are wildcards.
mlt_status mlt_pass_want(const mlt_goal_program *program, mlt_goal_pairs **pairs, char *why,
                         size_t why_size) MLT_MUST_CHECK;

// ---- edit

// Takes out the actions of the rank that are marked; what was ordered through them stays so. Those
// through which many go to many become no-ops. How many are gone, no-ops not among them.
uint32_t mlt_pass_remove(mlt_goal_rank *rank, const bool *gone);

// Merges actions: into[a] is a itself, or an action that does its work, too; then actions that
// waited for a's start wait for the other's end. Those merged are taken out.
void mlt_pass_merge(mlt_goal_rank *rank, const uint32_t *into);

// ---- sends that are ready together
//
// Sends of one CPU and NIC of a rank that wait for the same actions. Each is ready when the others
// are, so no order of their starts makes an action wait for more than before: no cycle, no
// deadlock, with buffered and with synchronous sends.

typedef struct mlt_pass_group {
    uint32_t *sends, count; // two or more, in the order of the program
} mlt_pass_group;

// All of a rank; the caller frees groups and, with the first group's sends, all sends.
mlt_pass_group *mlt_pass_groups_new(const mlt_goal_rank *rank, uint32_t *count);
void mlt_pass_groups_free(mlt_pass_group *groups, uint32_t count);

// What passes that order such sends are made of. Keys: by the number of an action in pairs, of
// every send; the caller frees them. The greatest starts first, equal ones as they stand.
typedef double *mlt_pass_keys(const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                              const mlt_waits *events, const mlt_loggops *machine);

mlt_pass_keys mlt_pass_rounds;    // spread.c: the first colours first
mlt_pass_keys mlt_pass_time_left; // order.c: the longest way to the end first

// Lets the sends of each group start one after the other, by their keys. The result takes the
// program's place if it takes less time on the machine by the simulator, or if the machine has no
// prices.
mlt_status mlt_pass_order_sends(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                                const mlt_pass_options *options, mlt_pass_keys *keys,
                                mlt_pass_report *report, char *why, size_t why_size);

// ---- the passes

#define MLT_PASS_LIST(X)                                                                           \
    X(dead) X(transitive) X(fuse) X(copies) X(order) X(segment) X(window) X(spread)
#define MLT_PASS_DECLARE(name)                                                                     \
    mlt_status mlt_pass_##name(mlt_goal_program *program, const mlt_goal_pairs *pairs,             \
                               const mlt_pass_options *options, mlt_pass_report *report,           \
                               char *why, size_t why_size);
MLT_PASS_LIST(MLT_PASS_DECLARE)
