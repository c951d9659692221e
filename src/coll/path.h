// SPDX-License-Identifier: BSD-3-Clause
// Paths: what stands around the collective calls of a team (choose.h, mlt_coll_path). A call walks
// along the wrappers of its path, the outermost first, joins the team, and comes back.
//
//     rank       count trace delay check      a walk of each rank, up to `combine`
//       |
//     combine    ranks of a worker meet        a span: the time stamps of the worker's call
//       |
//     worker     count trace delay             after `combine`: once a worker
//       |
//     schedule
//
// A rank that is alone in its worker, or goes flat, walks along all of it. Ranks make the `check`
// before they combine, wherever it stands: a separate allreduce compares what all ranks of the
// communicator say. It has its own number in the sequence of calls, and only ranks that make it can
// meet in it; so a path with `check` makes every call of its communicator check.
//
// A call without a path costs nothing but a branch (mlt_coll_closely, team->paths). Walks are kept
// for the next time. Nothing here suspends.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "boot/ctl.h"
#include "boot/live.h"
#include "coll/alter.h"
#include "coll/level.h"
#include "coll/team_data.h"

// The last calls along a path, for the path map's pictures.
enum { MLT_PATH_CALLS = 16 };
typedef struct mlt_path_call {
    uint64_t number, time[MLT_MOMENTS];
} mlt_path_call;

typedef struct mlt_path {
    struct mlt_path *next; // among the stale ones
    uint8_t collective;
    bool traces, checks;
    bool measured;    // it counts or traces
    bool hidden;      // made for another path's check; its numbers are not reported
    bool alters;      // it has wrappers that change what passes (alter.h)
    bool changes;     // one of them is not neutral
    bool stale;       // replaced: goes when no walk is on it
    uint32_t busy;    // walks and spans on it
    uint32_t count;   // of stages
    uint32_t combine; // which stage; count: none, so it is flat
    uint32_t traces_at;
    uint32_t counts_at;          // which stage counts; count: none
    uint64_t delay_us;           // 0: none
    uint32_t delays_at;          // which stage does; count: none
    uint32_t ops_at;             // which stage is `op`
    mlt_alter_op *ops;           // [MLT_OP_TYPES]; NULL: no stage is
    const char *by;              // "my.lua:12"
    mlt_coll_rulebook *rulebook; // where it stands; NULL: nowhere
    mlt_path_call *calls;        // [MLT_PATH_CALLS]; NULL: nobody asks
    uint64_t calls_made;         // that were put there
    mlt_ctl_path record;         // what was measured; stack: "count, delay 100 us, combine"
    mlt_live_sheet sheet;
    mlt_coll_stage stages[];
} mlt_path;

// A rank's walk that is over, kept for the next time (walk.h).
typedef struct mlt_path_idle {
    struct mlt_path_idle *next;
} mlt_path_idle;

typedef struct mlt_paths {
    mlt_path *of[MLT_COLLECTIVES]; // NULL: none
    bool checks;                   // all calls do
    mlt_path *stale;
    mlt_path_idle *free;
    uint32_t walking; // ranks that have not joined yet
} mlt_paths;

// Calls may have more to look at than their team. Set for good when the first rule book with a path, or
// --paths, is there, and when buffers may be memory of a device. Relaxed: calls that come before are
// not measured.
extern _Atomic bool mlt_coll_closely __attribute__((visibility("hidden")));

// The rule books or the name have changed: makes team->paths new.
void mlt_paths_refresh(mlt_team *team);
void mlt_paths_free(mlt_team *team);
void mlt_paths_tell(mlt_team *team); // the ledger

static inline mlt_path *mlt_path_of(const mlt_team *team, const mlt_coll_what *what)
{
    return MLT_LIKELY(!team->paths) || what->plain ? NULL : team->paths->of[what->collective];
}

// True while ranks are on their way to join: they ask for rules later.
static inline bool mlt_paths_walking(const mlt_team *team)
{
    return team->paths && team->paths->walking;
}

// True if a path has no `combine`.
static inline bool mlt_path_is_flat(const mlt_team *team, const mlt_coll_what *what)
{
    const mlt_path *path = mlt_path_of(team, what);
    return path && path->combine == path->count;
}

// The ranks of a worker combine by an operation of the path's that keeps their order.
bool mlt_path_keeps_order(const mlt_team *team, const mlt_coll_what *what);

// ---- what is measured

// A walk or a span on the path is over: a stale path goes with its last one.
void mlt_path_drop(mlt_team *team, mlt_path *path);
void mlt_path_note(mlt_path *path, mlt_ctl_time which, uint64_t ns);
// When the stages of a call were over.
static inline void mlt_path_keep(mlt_path *path, uint64_t number, const uint64_t time[MLT_MOMENTS])
{
    if (MLT_LIKELY(!path->calls))
        return;
    mlt_path_call *call = &path->calls[path->calls_made++ % MLT_PATH_CALLS];
    call->number = number;
    for (int m = 0; m < MLT_MOMENTS; m++)
        call->time[m] = time[m];
}
// A call that is counted.
void mlt_path_count(mlt_path *path, const mlt_team *team, const mlt_coll_what *what, uint64_t ns);

// A line of a trace: when, who, which call; then the stages in microseconds.
typedef struct mlt_path_line {
    char buffer[512];
    mlt_text text;
} mlt_path_line;
void mlt_path_line_begin(mlt_path_line *line, const char *who, uint32_t number, uint64_t since_ns);
void mlt_path_line_call(mlt_path_line *line, const mlt_team *team, const mlt_coll_what *what,
                        uint64_t number, const char *alg);
// Left out if either is 0.
void mlt_path_line_time(mlt_path_line *line, const char *name, uint64_t from_ns, uint64_t to_ns);
void mlt_path_line_end(mlt_path_line *line, mlt_team *team, bool failed);

// ---- what wrappers change (alter.h)

// Runs a map or a drop; passing->bytes of data. Ends the job if its function fails.
void mlt_path_alter(mlt_path *path, uint32_t stage, mlt_alter_side side,
                    const mlt_coll_passing *passing, const mlt_coll_what *what, void *data);
// The operation that an `op` has in place of the call's; false: it leaves that one.
bool mlt_path_op(const mlt_path *path, uint32_t stage, const mlt_coll_what *what, mlt_coll_op *out);

// ---- a worker's call (team.c)

// Its time stamps, 0: not reached; and what it waits for.
typedef struct mlt_span {
    mlt_path *path; // NULL: none
    const char *alg;
    uint64_t first_ns, all_ns, combined_ns, delayed_ns, exchanged_ns;
    uint64_t until_ns;
    mlt_work work;
} mlt_span;

void mlt_span_open(mlt_span *span, mlt_team *team, const mlt_coll_what *what); // path is set
// All ranks are there, they have combined, the schedule is over: the time.
uint64_t mlt_span_stamp(const mlt_span *span);
// A delay after `combine`: true if there is one, and then run(&span->work) comes after it.
bool mlt_span_waits(mlt_span *span, mlt_team *team, void (*run)(mlt_work *work));
// The work of it: false if it is not time yet, and then it comes again.
bool mlt_span_waited(mlt_span *span, mlt_team *team);
// What wrappers after `combine` change: of what the ranks have combined, of what the schedule brought;
// and the operation of the schedule (false: the call's).
void mlt_span_alter(mlt_span *span, mlt_team *team, const mlt_coll_what *what,
                    const mlt_level *level, mlt_alter_side side);
bool mlt_span_op(const mlt_span *span, const mlt_coll_what *what, mlt_coll_op *out);
void mlt_span_close(mlt_span *span, mlt_team *team, const mlt_coll_what *what, uint64_t number);
