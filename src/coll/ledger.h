// SPDX-License-Identifier: BSD-3-Clause
// A worker's ledger: how often its communicators chose which algorithms, and what was measured
// along paths. Communicators come and go, so their teams report it here, and the worker reports it
// to mpirun at its end. Calls that are alike in name, collective and choice are one entry, whatever
// communicator they were made on.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "boot/ctl.h"
#include "boot/live.h"

struct mlt_team;
struct mlt_plan;
struct mlt_path;
struct mlt_interceptors;

typedef struct mlt_ledger {
    bool choices;  // somebody asks for them
    bool measures; // --paths: calls without a path of their own are measured, too
    int trace;     // descriptor of the trace; -1: not open yet
    mlt_ctl_choice *choice;
    mlt_ctl_path *path;
    mlt_ctl_step *step;
    uint32_t choice_count, path_count, step_count;
    struct mlt_interceptors *interceptors; // intercept.h: of the job's rule book; NULL: none
    uint64_t left_out;                     // entries for which there was no room
    mlt_live_shown *shown; // where people outside see what was measured so far; NULL: nowhere
    mlt_live_sheet sheet;  // path
} mlt_ledger;

void mlt_ledger_init(mlt_ledger *ledger);
void mlt_ledger_fini(mlt_ledger *ledger);

void mlt_ledger_note_plan(mlt_ledger *ledger, const struct mlt_team *team,
                          const struct mlt_plan *plan);
void mlt_ledger_note_path(mlt_ledger *ledger, const struct mlt_team *team, struct mlt_path *path);

void mlt_ledger_note(mlt_ledger *ledger,
                     const mlt_ctl_path *sum); // of whatever is no collective call

// From the path's first call on, people outside see it.
void mlt_ledger_show_path(mlt_ledger *ledger, const struct mlt_team *team, struct mlt_path *path);

// One line of a trace, to the file of setting coll_trace or to standard error.
void mlt_ledger_trace(mlt_ledger *ledger, const char *line);

// Tells the launcher (ctl: boot.ctl; -1: none, then standard error has what paths counted), and
// forgets.
void mlt_ledger_send(mlt_ledger *ledger, int ctl, uint32_t worker);

// Forgets what was measured, not of what.
static inline void mlt_ledger_clear(mlt_ctl_path *sum)
{
    sum->calls = sum->bytes = 0;
    for (int t = 0; t < MLT_TIMES; t++)
        sum->time[t] = (mlt_ctl_clock){0};
}

// Adds what a clock has measured.
static inline void mlt_clock_add(mlt_ctl_clock *clock, const mlt_ctl_clock *more)
{
    if (more->n && (!clock->n || more->least_ns < clock->least_ns))
        clock->least_ns = more->least_ns;
    if (more->most_ns > clock->most_ns)
        clock->most_ns = more->most_ns;
    clock->n += more->n;
    clock->sum_ns += more->sum_ns;
}
