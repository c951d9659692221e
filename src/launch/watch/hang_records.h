// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a hung job said, for those who print it: hang.c, hang_words.c, hang_groups.c and
// hang_meet.c.
#pragma once

#include "fiber/wait.h"
#include "launch/watch/hang.h"
#include "launch/watch/hang_procs.h"

enum {
    MLT_HANG_PART = 2, // the one in which some of its ranks meet (MPI_Comm_create_group)
    MLT_HANG_WORLD = 0,
    MLT_HANG_SELF = 1,
    MLT_HANG_MOST_RANGES = 6, // of ranks in a line
};

// How a peer is named: by its number, or as seen from the rank.
typedef enum mlt_hang_relation {
    MLT_HANG_ABSOLUTE,
    MLT_HANG_DISTANCE,
    MLT_HANG_RELATIONS
} mlt_hang_relation;

struct mlt_hang {
    uint32_t ranks;
    uint8_t *state; // [ranks] mlt_hang_state
    bool *moves;    // [ranks]
    mlt_ctl_wait *held;
    size_t held_count, held_room;
    mlt_ctl_wait *records;
    size_t count, room;
    // After sorting: the records of rank r are records[order[first[r]]] .. records[order[first[r +
    // 1] - 1]].
    size_t *first, *order;
    mlt_hang_procs procs;
    mlt_ctl_job *jobs; // other ones
    size_t job_count, job_room;
};

// Orders the records by rank, keeping their order within a rank, and sets the ranks' states.
void mlt_hang_sort(mlt_hang *hang);

// The other job that a rank is of; NULL: it is not known, or of this job.
const mlt_ctl_job *mlt_hang_job_of(const mlt_hang *hang, int32_t rank);

// In a collective call, of which more is known (ctl.h).
static inline bool mlt_hang_in_collective(const mlt_ctl_wait *w)
{
    return w->kind == MLT_WAIT_COLLECTIVE && w->label[0];
}

static inline const mlt_ctl_wait *mlt_hang_record(const mlt_hang *hang, size_t i)
{
    return &hang->records[hang->order[i]];
}

static inline bool mlt_hang_peer_exists(const mlt_hang *hang, const mlt_ctl_wait *w)
{
    return w->peer >= 0 && (uint32_t)w->peer < hang->ranks;
}

static inline bool mlt_hang_peer_ended(const mlt_hang *hang, const mlt_ctl_wait *w)
{
    return mlt_hang_peer_exists(hang, w) && hang->state[w->peer] == MLT_HANG_ENDED;
}

// In a barrier of all, without a peer of its own. For whom a part of the ranks waits is not known.
static inline bool mlt_hang_in_barrier(const mlt_ctl_wait *w)
{
    return w->kind == MLT_WAIT_COLLECTIVE && w->peer < 0 &&
           w->context / MLT_CONTEXTS == MLT_HANG_WORLD &&
           w->context % MLT_CONTEXTS != MLT_HANG_PART;
}

// (peer - rank) modulo the size, from -size/2 to size/2.
static inline int64_t mlt_hang_distance(const mlt_hang *hang, const mlt_ctl_wait *w)
{
    int64_t size = hang->ranks, d = ((int64_t)w->peer - w->rank) % size;
    if (d > size / 2)
        d -= size;
    if (d < -(size - 1) / 2)
        d += size;
    return d;
}

// ---- hang_words.c: what a rank does, in words

// "MPI_COMM_WORLD", "communicator #3".
void mlt_hang_say_communicator(const mlt_ctl_wait *wait, FILE *out);

// ", tag 5, MPI_COMM_WORLD (8 bytes)".
void mlt_hang_say_envelope(const mlt_ctl_wait *wait, bool with_bytes, FILE *out);

// The whole line of a blocked rank, after "rank 3: ". Several threads follow each other.
// `bytes`: with sizes, and numbers of actions.
void mlt_hang_say_blocked(const mlt_hang *hang, uint32_t rank, mlt_hang_relation how, bool bytes,
                          FILE *out);

// "; 2 other threads not blocked in MPI", or nothing.
void mlt_hang_say_others(const mlt_hang *hang, uint32_t rank, FILE *out);

const char *mlt_hang_state_text(uint8_t state);

// ---- hang_groups.c and hang_meet.c, after mlt_hang_sort

// The ranks of a hung job, those that do the same in one line.
void mlt_hang_print_groups(const mlt_hang *hang, FILE *out);

// Ranks that are in different collectives, but meet: a line for each call that is not the same everywhere,
// or has two roots; of the first few.
void mlt_hang_print_mismatches(const mlt_hang *hang, FILE *out);
