// SPDX-License-Identifier: BSD-3-Clause
// A schedule: one rank's program, compiled. Immutable; runs are instances of it (exec.h).
//
// The code is the paper's layout: how many actions are independent and where they are, then the
// actions, each with the number of its sources, its operation with parameters, and where its
// dependents are. Offsets count bytes from the beginning of the code.
//
//     u32 count, u32 offset[count]                              independent actions; filled up to 8
//     u16 sources, u16 type, u32 index,
//     parameters, u32 count, u32 offset[count]                          an action; filled up to 8
//     ...
//
// Actions stand in a topological order, receives as early as they can; with a window, in the order
// of the program as far as dependencies allow, since a window full of early receives might wait for
// a send after it. In a list receives come first. An action with MLT_ACT_STARTERS in its type has a
// second list after the first: the actions that wait for its start only. Both lists count among the
// sources of the actions in them. More than 65,535 sources become a tree of no-ops.
//
// Messages. `slot` is the message's number among those of this rank with that peer and direction,
// by tag, then by the order of the program. If the two ranks' programs fit, both sides of a message
// have the same slot, so it can be matched exactly whatever order actions run in. A schedule that
// is MLT_GOAL_SCHED_PLAIN (it has wildcards, or a peer's has) is matched by tag as messages come.
//
// State of a run: `indices` counters and `requests` requests, whatever the length of the code. A
// run counts up, from 0, the sources of an action that have been seen, and goes back to 0 when the
// action is over, for the next action that has the same index.
//
// Window. Three shapes:
//     window 0             `index` counts all actions, `request` all messages.
//     MLT_GOAL_SCHED_SEGMENTS   (Theorem 4) no-ops cut the code into segments of at most `window`
//                          actions; all actions of a segment are finished before the next one
//                          begins, so `index` and `request` count within the segment. An executor
//                          that obeys dependencies alone keeps the window.
//     window, no flag      (Theorem 3) at most `window` actions, those from the first unfinished
//                          one on in the code's order, may run: the executor walks along the code
//                          (mlt_act_next) with that. An action whose sources have all been seen
//                          but that lies beyond the window, that is, at a greater address, starts
//                          when the window reaches it. `index` is one of at most 2 * window
//                          numbers: no two actions share one that are in the window or have been
//                          counted up at once. `request` is below `window`, and no two actions in
//                          the window share one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"

enum { MLT_ACT_KIND = 0xff, MLT_ACT_STARTERS = 0x100 }; // of mlt_act.type
enum { MLT_GOAL_SCHED_PLAIN = 1, MLT_GOAL_SCHED_SEGMENTS = 2, MLT_GOAL_SCHED_ADDRESSES = 4 };

typedef struct mlt_act { // 8-byte aligned; parameters and dependents follow
    uint16_t sources;
    uint16_t type;  // mlt_goal_kind, MLT_ACT_STARTERS
    uint32_t index; // of the run's state
} mlt_act;

typedef struct mlt_act_message { // SEND, RECV, RECV_EXEC, RECV_USER
    int32_t peer, tag;
    uint32_t slot;
    uint32_t request; // number among the message actions (of the segment)
    uint32_t flags;   // MLT_GOAL_SYNCHRONOUS; cpu << 8, nic << 16
    uint32_t buf;
    uint64_t at, size;
} mlt_act_message;

typedef struct mlt_act_exec {     // EXEC, USER; after the message: RECV_EXEC, RECV_USER
    uint8_t op, type, flags, cpu; // flags: MLT_GOAL_REVERSED
    uint32_t user;
    uint32_t buf[2];
    uint64_t at[2], size[2];
} mlt_act_exec;

typedef struct mlt_act_calc {
    uint64_t ns;
    uint32_t cpu, nic;
} mlt_act_calc;

extern const uint8_t mlt_act_parameter_bytes[MLT_GOAL_KINDS];

typedef struct mlt_act_list {
    uint32_t count;
    uint32_t offset[];
} mlt_act_list;

static inline const mlt_act_list *mlt_act_dependents(const mlt_act *act)
{
    return (const mlt_act_list *)((const unsigned char *)(act + 1) +
                                  mlt_act_parameter_bytes[act->type & MLT_ACT_KIND]);
}

static inline const mlt_act_list *mlt_act_starters(const mlt_act *act) // with MLT_ACT_STARTERS
{
    const mlt_act_list *list = mlt_act_dependents(act);
    return (const mlt_act_list *)&list->offset[list->count];
}

// The action after this one in the code; after the last one lies the code's end.
static inline const mlt_act *mlt_act_next(const mlt_act *act)
{
    const mlt_act_list *last =
        act->type & MLT_ACT_STARTERS ? mlt_act_starters(act) : mlt_act_dependents(act);
    const unsigned char *end = (const unsigned char *)&last->offset[last->count];
    return (const mlt_act *)(end + ((uintptr_t)end & 4));
}

typedef struct mlt_goal_sched_buffer {
    uint64_t size;
    const char *name; // "" for MEMORY
} mlt_goal_sched_buffer;

typedef struct mlt_goal_sched {
    const unsigned char *code;
    uint64_t bytes;    // of the code; below 4 GiB
    uint32_t actions;  // all of them, no-ops included
    uint32_t indices;  // a run needs that many counters: the greatest index + 1
    uint32_t requests; // ... and that many requests
    uint32_t window;   // 0: none
    uint32_t flags;
    uint32_t users;       // 1 + the greatest number of a user's function; 0: none is called
    uint32_t rank, ranks; // whose it is, of how many
    uint32_t buffers;     // of buffer[]
    mlt_goal_sched_buffer *buffer; // [0] is MEMORY
    // [actions], by place in the code: the program's action; MLT_GOAL_NONE: a no-op of the
    // compiler's. NULL: not known, for files do not keep it.
    uint32_t *origin;
    void *owned; // private: what mlt_goal_sched_free frees
} mlt_goal_sched;

static inline const mlt_act *mlt_goal_sched_act(const mlt_goal_sched *sched, uint32_t offset)
{
    return (const mlt_act *)(sched->code + offset);
}

static inline const mlt_act_list *mlt_goal_sched_independent(const mlt_goal_sched *sched)
{
    return (const mlt_act_list *)sched->code;
}

// The first action of the code; there are sched->actions, see mlt_act_next.
static inline const mlt_act *mlt_goal_sched_first(const mlt_goal_sched *sched)
{
    return mlt_goal_sched_act(sched, (4 + 4 * mlt_goal_sched_independent(sched)->count + 7) & ~7u);
}

typedef struct mlt_goal_sched_options {
    uint32_t window; // 0: none. The compiler takes Theorem 3 if at most `window` counters are
                     // needed beyond the window, else Theorem 4; a window that holds the whole
                     // program is none
    bool plain;      // match by tag: some rank of the program has wildcards
} mlt_goal_sched_options;

// Compiles one rank of a program. On failure (a cycle, a schedule of 4 GiB or more) an error
// message. At most 100 ns an action.
mlt_status mlt_goal_sched_compile(const mlt_goal_program *program, uint32_t rank,
                                  const mlt_goal_sched_options *options, mlt_goal_sched **out,
                                  char *why, size_t why_size) MLT_MUST_CHECK;
void mlt_goal_sched_free(mlt_goal_sched *sched);

// ---- files: all ranks' schedules after a header with a version and a checksum

// The file of a program. *bytes is malloc's.
mlt_status mlt_goal_image_write(const mlt_goal_program *program,
                                const mlt_goal_sched_options *options, unsigned char **bytes,
                                size_t *size, char *why, size_t why_size) MLT_MUST_CHECK;

// From a schedule that is there already, for one rank alone (GOAL_Sched_save).
mlt_status mlt_goal_image_write_one(const mlt_goal_sched *sched, unsigned char **bytes,
                                    size_t *size, char *why, size_t why_size) MLT_MUST_CHECK;

typedef struct mlt_goal_image mlt_goal_image;

bool mlt_is_image(const void *bytes, size_t size); // by its first bytes

// Checks everything, down to each offset and count; a corrupt file is refused with a message. The
// bytes are borrowed until mlt_goal_image_free.
mlt_status mlt_goal_image_open(const char *name, const void *bytes, size_t size,
                               mlt_goal_image **out, char *why, size_t why_size) MLT_MUST_CHECK;
uint32_t mlt_goal_image_ranks(const mlt_goal_image *image);
// The schedule of a rank; NULL if the file does not hold that one. Borrows the image's bytes; free
// it with mlt_goal_sched_free.
mlt_goal_sched *mlt_goal_image_sched(const mlt_goal_image *image, uint32_t rank);
void mlt_goal_image_free(mlt_goal_image *image);

// Back to a program (`millet goal dis`): the same actions and dependencies. Lost are labels, the
// CPU of a no-op and the NIC of an operation, which mean nothing. Actions stand as in the code,
// except where messages of one peer and tag must change places to be in the order of their slots.
mlt_goal_program *mlt_goal_image_program(const mlt_goal_image *image);

// One action of the code as it would stand in a program.
mlt_goal_action mlt_act_action(const mlt_act *act);
