// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/hang_records.h"

#include <string.h>

#include "base/numbers.h"

enum { MOST_OPERATIONS = 4 }; // named in one line

static void print_peer(const mlt_hang *hang, const mlt_ctl_wait *w, mlt_hang_relation how,
                       FILE *out)
{
    if (w->peer < 0)
        fputs("any rank", out);
    else if (how == MLT_HANG_DISTANCE && mlt_hang_peer_exists(hang, w))
        fprintf(out, "rank%+lld", (long long)mlt_hang_distance(hang, w));
    else if (mlt_hang_job_of(hang, w->peer))
        fprintf(out, "rank %u of another job (%s)",
                (uint32_t)w->peer - mlt_hang_job_of(hang, w->peer)->first_rank,
                mlt_hang_job_of(hang, w->peer)->name);
    else
        fprintf(out, "rank %d", w->peer);
}

void mlt_hang_say_communicator(const mlt_ctl_wait *w, FILE *out)
{
    uint32_t number = w->context / MLT_CONTEXTS;
    if (number == MLT_HANG_WORLD)
        fputs("MPI_COMM_WORLD", out);
    else if (number == MLT_HANG_SELF)
        fputs("MPI_COMM_SELF", out);
    else
        fprintf(out, "communicator #%u", number);
}

void mlt_hang_say_envelope(const mlt_ctl_wait *w, bool with_bytes, FILE *out)
{
    if (w->tag == MLT_WAIT_ANY_TAG)
        fputs(", any tag", out);
    else
        fprintf(out, ", tag %d", w->tag);
    fputs(", ", out);
    mlt_hang_say_communicator(w, out);
    if (with_bytes && w->kind != MLT_WAIT_PROBE)
        fprintf(out, " (%llu bytes)", (unsigned long long)w->bytes);
}

// Of a partitioned message (ctl.h).
static bool hang_words_is_of_partitions(const mlt_ctl_wait *w)
{
    return (w->kind == MLT_WAIT_RECV || w->kind == MLT_WAIT_SEND) && !w->action && w->label[0];
}

// True if "MPI_Recv from rank 2" says it all, false if it must be "MPI_Wait for a receive from rank
// 2".
static bool name_tells(const mlt_ctl_wait *w)
{
    if (strcasestr(w->call, "sendrecv") || w->open > 1 || hang_words_is_of_partitions(w))
        return false;
    switch (w->kind) {
    case MLT_WAIT_RECV:
        return strcasestr(w->call, "recv");
    case MLT_WAIT_SEND:
        return strcasestr(w->call, "send");
    case MLT_WAIT_PROBE:
        return strcasestr(w->call, "probe");
    default:
        return true;
    }
}

// An action of a schedule, as GOAL writes it: "recv 64 bytes from rank 3 (action 5, r2)".
static void print_action(const mlt_hang *hang, const mlt_ctl_wait *w, mlt_hang_relation how,
                         bool bytes, FILE *out)
{
    bool receives = w->kind == MLT_WAIT_RECV;
    fputs(receives ? "recv" : "send", out);
    if (bytes)
        fprintf(out, " %llu byte%s", (unsigned long long)w->bytes, w->bytes == 1 ? "" : "s");
    fputs(receives ? " from " : " to ", out);
    print_peer(hang, w, how, out);
    if (w->context / MLT_CONTEXTS != MLT_HANG_WORLD) {
        fputs(", ", out);
        mlt_hang_say_communicator(w, out);
    }
    if (bytes)
        fprintf(out, " (action %u%s%s)", w->action - 1, w->label[0] ? ", " : "", w->label);
    if (mlt_hang_peer_ended(hang, w))
        fputs(how == MLT_HANG_DISTANCE ? ", which have ended" : ", which has ended", out);
}

// "partitions 3-7 of 16 from rank 2, tag 5, MPI_COMM_WORLD"; a sender that has not called MPI_Pready
// waits for itself.
static void print_partitions(const mlt_hang *hang, const mlt_ctl_wait *w, mlt_hang_relation how,
                             bool same, FILE *out)
{
    bool unready = w->label[0] == MLT_CTL_UNREADY;
    fprintf(out, "%spartitions", unready ? "its own MPI_Pready of " : "");
    if (same)
        fprintf(out, " %s", w->label + unready);
    if (!unready) {
        fputs(w->kind == MLT_WAIT_RECV ? " from " : " to ", out);
        print_peer(hang, w, how, out);
    }
    mlt_hang_say_envelope(w, false, out);
    if (!unready && mlt_hang_peer_ended(hang, w))
        fputs(how == MLT_HANG_DISTANCE ? " (which have ended)" : " (which has ended)", out);
}

// The call that is blocked is another one: MPI_Wait, of a nonblocking collective.
static bool waits_for_it(const mlt_ctl_wait *w)
{
    return strncmp(w->call, "MPI_", 4) != 0 ||
           strncmp(w->call + 4, w->label, sizeof w->label - 1) != 0;
}

// " on MPI_COMM_WORLD (call 8), where 2 ranks of its worker have not come". The name of the call is
// told before, unless it is another one than the function that waits for it.
static void print_collective(const mlt_hang *hang, const mlt_ctl_wait *w, bool same, FILE *out)
{
    if (w->open > 1 || waits_for_it(w))
        fprintf(out, "MPI_%s", w->label);
    fputs(" on ", out);
    mlt_hang_say_communicator(w, out);
    if (same) // for all whose line this is
        fprintf(out, " (call %llu)", (unsigned long long)w->number + 1);
    if (w->missing)
        fprintf(out, ", where %u rank%s of its worker ha%s not come", w->missing,
                w->missing > 1 ? "s" : "", w->missing > 1 ? "ve" : "s");
    else if (same && w->awaited)
        fprintf(out, ", which waits for rank %u", w->awaited - 1);
    if (!w->missing && same && w->awaited && w->awaited - 1 < hang->ranks &&
        hang->state[w->awaited - 1] == MLT_HANG_ENDED)
        fputs(", which has ended", out);
}

// " of rank 3 of window 'grid', which rank 1 holds".
static void print_window(const mlt_hang *hang, const mlt_ctl_wait *w, mlt_hang_relation how,
                         FILE *out)
{
    char window[sizeof w->label + 16] = "a window";
    if (w->label[0])
        snprintf(window, sizeof window, "window '%.*s'", (int)sizeof w->label - 1, w->label);
    switch ((mlt_ctl_window)w->about) {
    case MLT_WINDOW_LOCK:
    case MLT_WINDOW_LOCKS:
        if (w->target >= 0 && how != MLT_HANG_DISTANCE)
            fprintf(out, " of rank %d", w->target);
        fprintf(out, " of %s, ", window);
        fputs(w->about == MLT_WINDOW_LOCK ? "which " : "of which ", out);
        if (w->peer >= 0)
            print_peer(hang, w, how, out);
        fputs(w->peer < 0 ? "others hold" : " holds", out);
        fputs(w->about == MLT_WINDOW_LOCK ? "" : " locks", out);
        break;
    case MLT_WINDOW_POSTS:
        fputs(": ", out);
        print_peer(hang, w, how, out);
        fprintf(out, " has not called MPI_Win_post for it on %s", window);
        break;
    case MLT_WINDOW_COMPLETES:
        fprintf(out, ": %u rank%s not called MPI_Win_complete on %s", w->behind,
                w->behind == 1 ? " has" : "s have", window);
        break;
    default:
        fprintf(out, ": operations on %s are not answered", window);
    }
}

static void print_operation(const mlt_hang *hang, const mlt_ctl_wait *w, mlt_hang_relation how,
                            bool bytes, FILE *out)
{
    bool tells = name_tells(w);
    if (mlt_hang_in_collective(w)) {
        print_collective(hang, w, bytes, out);
        return;
    }
    if (w->action) {
        print_action(hang, w, how, bytes, out);
        return;
    }
    if (hang_words_is_of_partitions(w)) {
        print_partitions(hang, w, how, bytes, out);
        return;
    }
    switch (w->kind) {
    case MLT_WAIT_RECV:
    case MLT_WAIT_PROBE:
        fputs(tells                      ? " from "
              : w->kind == MLT_WAIT_RECV ? "a receive from "
                                         : "a message from ",
              out);
        print_peer(hang, w, how, out);
        mlt_hang_say_envelope(w, bytes, out);
        break;
    case MLT_WAIT_SEND:
        fputs(tells ? " to " : "a send to ", out);
        print_peer(hang, w, how, out);
        mlt_hang_say_envelope(w, bytes, out);
        break;
    case MLT_WAIT_COLLECTIVE:
        fputs(" on ", out);
        mlt_hang_say_communicator(w, out);
        break;
    case MLT_WAIT_WINDOW:
        print_window(hang, w, how, out);
        break;
    case MLT_WAIT_TIME:
        fputs(": it sleeps", out);
        break;
    case MLT_WAIT_FD:
        if (w->tag >= 0)
            fprintf(out, " of descriptor %d", (int)w->tag);
        else
            fputs(" of descriptors", out);
        break;
    default:
        if (w->peer >= 0) {
            fputs(", which needs ", out);
            print_peer(hang, w, how, out);
        }
        break;
    }
    if (w->peer >= 0 && mlt_hang_peer_ended(hang, w))
        fputs(how == MLT_HANG_DISTANCE ? " (which have ended)" : " (which has ended)", out);
}

// The first few of a call's operations.
static void print_list(const mlt_hang *hang, size_t from, size_t to, mlt_hang_relation how,
                       bool bytes, FILE *out)
{
    char text[MLT_NUMBER_BYTES];
    size_t shown = to - from < MOST_OPERATIONS ? to - from : MOST_OPERATIONS;
    for (size_t i = 0; i < shown; i++) {
        if (i)
            fputs("; ", out);
        mlt_ctl_wait one = *mlt_hang_record(hang, from + i);
        one.open = 2; // the call's name says nothing about this operation
        if (one.kind == MLT_WAIT_OTHER ||
            (one.kind == MLT_WAIT_COLLECTIVE && !mlt_hang_in_collective(&one)))
            fputs(one.kind == MLT_WAIT_OTHER ? "something else" : "a barrier", out);
        print_operation(hang, &one, how, bytes, out);
    }
    if (mlt_hang_record(hang, from)->open > shown)
        fprintf(out, "; and %s more", mlt_number(text, mlt_hang_record(hang, from)->open - shown));
}

// It waits for one schedule: all of its operations are actions, and all are waited for.
static bool all_actions(const mlt_hang *hang, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (mlt_hang_in_collective(mlt_hang_record(hang, i)) || !mlt_hang_record(hang, i)->action ||
            !mlt_hang_record(hang, i)->all)
            return false;
    return true;
}

// One thread's call: the records from `from` to `to`.
static void print_call(const mlt_hang *hang, size_t from, size_t to, mlt_hang_relation how,
                       bool bytes, FILE *out)
{
    const mlt_ctl_wait *w = mlt_hang_record(hang, from);
    fputs(w->call[0] ? w->call : "MPI", out);
    if (all_actions(hang, from, to)) {
        fputs(strncmp(w->call, "GOAL_", 5) == 0 ? ": " : " for a schedule: ", out);
        print_list(hang, from, to, how, bytes, out);
        return;
    }
    if (w->open <= 1 && to - from == 1) {
        if (!name_tells(w) || (mlt_hang_in_collective(w) && waits_for_it(w)))
            fputs(" for ", out);
        print_operation(hang, w, how, bytes, out);
        return;
    }
    char text[MLT_NUMBER_BYTES];
    fprintf(out, " for %s %s%s open operations: ", w->all ? "all of" : "one of",
            mlt_number(text, w->open), w->open == UINT16_MAX ? " or more" : "");
    print_list(hang, from, to, how, bytes, out);
}

void mlt_hang_say_blocked(const mlt_hang *hang, uint32_t rank, mlt_hang_relation how, bool bytes,
                          FILE *out)
{
    size_t from = hang->first[rank], end = hang->first[rank + 1];
    const mlt_ctl_wait *first = mlt_hang_record(hang, from);
    while (from < end) {
        const mlt_ctl_wait *w = mlt_hang_record(hang, from);
        size_t to = from + 1;
        while (to < end && mlt_hang_record(hang, to)->thread == w->thread)
            to++;
        if (w != first)
            fputs("; ", out);
        if (w->thread)
            fprintf(out, "thread %u in ", (unsigned)w->thread);
        print_call(hang, from, to, how, bytes, out);
        from = to;
    }
}

void mlt_hang_say_others(const mlt_hang *hang, uint32_t rank, FILE *out)
{
    const mlt_ctl_wait *first = mlt_hang_record(hang, hang->first[rank]);
    if (first->thread && first->others)
        fprintf(out, "; %u other thread%s not blocked in MPI", (unsigned)first->others,
                first->others > 1 ? "s" : "");
}

const char *mlt_hang_state_text(uint8_t state)
{
    static const char *const texts[] = {
        [MLT_HANG_OUTSIDE] = "not in an MPI call",
        [MLT_HANG_COMPUTING] = "not in an MPI call: it computes",
        [MLT_HANG_BUSY] = "not known: a rank of its worker computes, and does not wait in MPI",
        [MLT_HANG_CALLING] = "not blocked in MPI: it repeats calls that do not wait",
        [MLT_HANG_CROWDED] = "not known: a rank of its worker repeats MPI calls that do not wait",
        [MLT_HANG_STOPPED] = "stopped by a signal (SIGCONT lets it go on)",
        [MLT_HANG_TRACED] = "stopped by a debugger",
        [MLT_HANG_RUNNING] = "running, not blocked in MPI",
        [MLT_HANG_UNBORN] = "has not started MPI",
        [MLT_HANG_ENDED] = "has ended",
        [MLT_HANG_BLOCKED] = "blocked",
    };
    return texts[state];
}
