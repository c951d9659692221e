// SPDX-License-Identifier: BSD-3-Clause
// The inside of a pattern. Only for src/judge/grow.
//
//     place.c   grids, kinds of ranks, peers as functions of the rank, loops and how long they are
//     find.c    actions of all ranks of a kind, side by side, into items
//     wait.c    dependencies into rules
//     join.c    several recordings: one pattern that gives all, and the laws of sizes
//     law.c     how sizes and times grow
//     grow.c    programs for other numbers of ranks
#pragma once

#include <stdbool.h>

#include "judge/grow/grow.h"

enum { MLT_GROW_DIMS = 3, MLT_GROW_TIMES = 3, MLT_GROW_NONE = -2 };

typedef struct mlt_grow_grid {
    uint32_t ranks, dims;
    uint32_t size[MLT_GROW_DIMS]; // the last one's neighbours have numbers side by side
} mlt_grow_grid;

// Where a peer is. v is what a loop counts with.
typedef enum mlt_grow_fn {
    MLT_GROW_ANY,         // a wildcard
    MLT_GROW_NEAR,        // an offset in the grid, around its ends
    MLT_GROW_SHIFT,       // an offset in the row of all ranks, around its end
    MLT_GROW_PARENT_LOW,  // the rank without its lowest bit
    MLT_GROW_PARENT_HIGH, // the rank without its highest bit
    MLT_GROW_RANK,        // always the same
    MLT_GROW_LAST,        // the same from the end
    MLT_GROW_PLUS,        // rank + v, around the end
    MLT_GROW_MINUS,       // rank - v
    MLT_GROW_XOR,         // rank xor v
    MLT_GROW_OTHER,       // the v-th of the other ranks
} mlt_grow_fn;

typedef enum mlt_grow_loop {
    MLT_GROW_ONCE,
    MLT_GROW_ALL,       // v is 1, 2, 3, ... below the number of ranks
    MLT_GROW_POWERS,    // 1, 2, 4, ... below the number of ranks
    MLT_GROW_KIDS_LOW,  // powers below the rank's lowest bit, as far as rank + v is a rank
    MLT_GROW_KIDS_HIGH, // powers above the rank, as far as rank + v is one
    MLT_GROW_LOOPS,
} mlt_grow_loop;

typedef enum mlt_grow_wait {
    MLT_GROW_PREVIOUS, // the action before, whatever it is
    MLT_GROW_BEFORE,   // the action before the item, whatever it is
    MLT_GROW_EARLIER,  // the same loop, all times round before
    MLT_GROW_BACK,     // the same loop, `back` times round before
    MLT_GROW_SAME,     // another loop, as often round
    MLT_GROW_EACH,     // every time round of another item
    MLT_GROW_FINAL,    // its last time
    MLT_GROW_FIRST,    // its first
} mlt_grow_wait;

typedef struct mlt_grow_rule {
    mlt_grow_wait wait;
    uint32_t item, slot, back;
    uint32_t started;     // MLT_GOAL_STARTED or 0
    uint32_t from, until; // the times round it counts for; until 0: all from there on
} mlt_grow_rule;

typedef struct mlt_grow_rules {
    mlt_grow_rule *all;
    uint32_t count, room;
} mlt_grow_rules;

typedef enum mlt_grow_law {
    MLT_GROW_BY_NOTHING,
    MLT_GROW_BY_PART,    // 1/P
    MLT_GROW_BY_RANKS,   // P
    MLT_GROW_BY_SURFACE, // of a rank's part of the grid: P^((1-d)/d)
    MLT_GROW_BY_PAIR,    // 1/P^2
    MLT_GROW_BY_LOGARITHM,
    MLT_GROW_LAWS,
} mlt_grow_law;

typedef struct mlt_grow_slot { // an action of an item
    uint32_t number;           // among all of the pattern
    mlt_goal_action action;    // without peer, tag and size
    mlt_grow_fn fn;
    int32_t offset[MLT_GROW_DIMS];       // NEAR
    uint32_t at;                         // RANK, LAST; SHIFT: modulo 2^32
    int32_t tag, tag_step;               // of the first time round, and from one to the next
    double size;                         // bytes, or ns in the mean; at pattern->sized ranks
    bool doubling;                       // bytes are size times v
    mlt_grow_law law;                    // how the size grows with the ranks,
    double factor;                       // and what that makes for the goal
    mlt_grow_rules wait[MLT_GROW_TIMES]; // the first time round, the second, later ones
} mlt_grow_slot;

typedef struct mlt_grow_item {
    mlt_grow_loop loop;
    bool down; // v from the greatest on
    mlt_grow_slot *slots;
    uint32_t count;
} mlt_grow_item;

typedef struct mlt_grow_kind { // of ranks
    mlt_grow_item *items;
    uint32_t count, room;
    uint32_t *members;
    uint32_t members_count;
} mlt_grow_kind;

struct mlt_grow {
    mlt_grow_grid grid, goal; // goal: what mlt_grow_aim was asked for
    uint32_t low, high;       // places at the ends of a dimension that are kinds of their own
    mlt_grow_kind *kinds;
    uint32_t kinds_count;
    uint32_t slots_count; // of all kinds' items
    uint32_t sized;       // the number of ranks that sizes and laws begin at
    bool joined;
};

// Each slot of the pattern in turn.
typedef void mlt_grow_each(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot,
                           void *user);
void mlt_grow_for_slots(mlt_grow *pattern, mlt_grow_each *call, void *user);

// Which grid of so many ranks is most like the pattern's own: pattern->goal becomes that. On failure a
// sentence.
mlt_status mlt_grow_place(mlt_grow *pattern, uint32_t ranks, char *why,
                          size_t why_size) MLT_MUST_CHECK;

static inline uint32_t mlt_grow_lowest(uint32_t rank)
{
    return rank & (0u - rank);
}

// The least size of a dimension: two inside, or nothing would show that they are alike; and with two
// alone, up and down are the same.
static inline uint32_t mlt_grow_least(uint32_t low, uint32_t high)
{
    return low + high ? low + high + 2 : 3;
}

static inline bool mlt_grow_same_kind(const mlt_goal_action *a, const mlt_goal_action *b)
{
    return a->kind == b->kind && a->flags == b->flags && a->cpu == b->cpu && a->nic == b->nic;
}

// ---- law.c

// What the size at so many ranks is multiplied by at others.
double mlt_grow_growth(mlt_grow_law law, uint32_t dims, uint32_t from, uint32_t to);
// The laws of a single recording.
void mlt_grow_scale(mlt_grow *pattern, mlt_grow_scaling scaling);

// ---- place.c

uint32_t mlt_grow_kinds(const mlt_grow_grid *grid, uint32_t low, uint32_t high);
uint32_t mlt_grow_kind_of(const mlt_grow_grid *grid, uint32_t low, uint32_t high, uint32_t rank);
uint32_t mlt_grow_times(mlt_grow_loop loop, const mlt_grow_grid *grid, uint32_t rank);
uint32_t mlt_grow_value(const mlt_grow_item *item, const mlt_grow_grid *grid, uint32_t rank,
                        uint32_t round);
int64_t mlt_grow_peer(const mlt_grow_slot *slot, const mlt_grow_grid *grid, uint32_t rank,
                      uint32_t v);
// The offset from one rank to another, the shorter way round in each dimension.
void mlt_grow_offset(const mlt_grow_grid *grid, uint32_t from, uint32_t to,
                     int32_t offset[MLT_GROW_DIMS]);
// The next grid of so many dimensions with all sizes from `least` on, by falling first sizes; sizes
// of 0 ask for the first one.
bool mlt_grow_next_grid(mlt_grow_grid *grid, uint32_t least);

// ---- wait.c

// Where items begin in a rank's program: [kind->count + 1].
void mlt_grow_starts(const mlt_grow_kind *kind, const mlt_grow_grid *grid, uint32_t rank,
                     uint32_t *starts);
// False: an action of a rank waits for what others of its kind do not.
bool mlt_grow_find_rules(const mlt_goal_program *program, const mlt_grow *pattern,
                         mlt_grow_kind *kind, uint32_t *rank, uint32_t *action);
// What a rule makes the action wait for: from, from + step, ..., count of them.
typedef struct mlt_grow_targets {
    uint32_t from, step, count;
} mlt_grow_targets;
static inline bool mlt_grow_is_target(mlt_grow_targets t, uint32_t on)
{
    return t.count && on >= t.from && (on - t.from) % t.step == 0 &&
           (on - t.from) / t.step < t.count;
}

mlt_grow_targets mlt_grow_targets_of(const mlt_grow_rule *rule, const mlt_grow_kind *kind,
                                     const uint32_t *starts, uint32_t item, uint32_t round,
                                     uint32_t position);
