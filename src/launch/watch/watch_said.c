// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/watch_state.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "boot/board.h"
#include "launch/mpir.h"
#include "launch/say.h"
#include "launch/trace.h"
#include "os/os.h"

static const uint64_t children_lost_ns =
    50 * MLT_WATCH_MS; // as mlt_watch_lost_ns, if a job of the family ends

// ---- What processes say

// A status that fits into an exit code and is not 0.
static int exit_code(int64_t status)
{
    return (status & 0xff) ? (int)(status & 0xff) : 1;
}

static void take_exit(mlt_watch *w, mlt_watch_proc *p, const mlt_ctl *head)
{
    char who[64];
    mlt_watch_name_rank(w, p, head->rank, who, sizeof who);
    p->told = true;
    if (head->detail == 1 && head->value == 0) {
        mlt_watch_verdict(w, MLT_EXIT_FAILED, "%s on host %s ended without calling MPI_Finalize",
                          who, mlt_watch_host_of(w, p));
        mlt_watch_end_by_failure(w);
    } else if (head->detail == 1) {
        mlt_watch_verdict(w, exit_code(head->value),
                          "%s on host %s ended with exit status %lld before MPI_Finalize", who,
                          mlt_watch_host_of(w, p), (long long)head->value);
        mlt_watch_end_by_failure(w);
    } else if (head->value != 0) {
        bool alone = w->conf.plan->procs[p - w->procs].ranks == 1;
        mlt_watch_fail_alone(w, p, who, exit_code(head->value),
                             head->detail == 2 || (alone && !p->initialised));
    }
}

static void take_abort(mlt_watch *w, mlt_watch_proc *p, const mlt_ctl *head, const char *text)
{
    char who[64];
    mlt_watch_name_rank(w, p, head->rank, who, sizeof who);
    p->told = true;
    if (!*text)
        mlt_watch_verdict(w, exit_code(head->value),
                          "%s on host %s called MPI_Abort with code %lld", who,
                          mlt_watch_host_of(w, p), (long long)head->value);
    else if (strncmp(text, "called ", 7) == 0)
        mlt_watch_verdict(w, exit_code(head->value), "%s on host %s %s", who,
                          mlt_watch_host_of(w, p), text);
    else
        mlt_watch_verdict(w, exit_code(head->value), "%s on host %s: %s", who,
                          mlt_watch_host_of(w, p), text);
    mlt_watch_end_by_failure(w);
}

static void take_crash(mlt_watch *w, mlt_watch_proc *p, const mlt_ctl *head, const char *text)
{
    char who[64];
    mlt_watch_name_rank(w, p, head->rank, who, sizeof who);
    p->told = p->crashed = true;
    int signal = head->value > 0 && head->value < NSIG ? (int)head->value : SIGKILL;
    mlt_watch_verdict(w, 128 + signal, "%s on host %s was killed by signal %d (%s)%s%s", who,
                      mlt_watch_host_of(w, p), signal, strsignal(signal), *text ? "\n" : "", text);
    mlt_watch_end_by_failure(w);
}

static void watch_said_take_hello(mlt_watch *w, mlt_watch_proc *p)
{
    if (!p->attached)
        w->attached++;
    p->attached = true;
    if (!w->look_at && !w->ending)
        w->look_at = mlt_os_now_ns() + mlt_watch_look_every_ns;
    if (w->failed_early && !w->straggler_at && !w->ending)
        w->straggler_at = mlt_os_now_ns() + mlt_watch_straggler_ns;
    mlt_watch_set_timer(w);
}

// For a line of ours: a damaged process shall not talk to the terminal.
void mlt_watch_make_fit(char *text)
{
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
}

void mlt_watch_make_lines_fit(char *text)
{
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c) && *c != '\n' && *c != '\t')
            *c = '?';
}

// Without what ends the last line.
static void trim_lines(char *text)
{
    for (size_t n = strlen(text); n > 0 && text[n - 1] == '\n'; n--)
        text[n - 1] = '\0';
}

static void take_note(mlt_watch *w, mlt_watch_proc *p, const mlt_ctl *head, char *body)
{
    mlt_watch_make_fit(body);
    if (head->type == MLT_CTL_SHARED) {
        if (w->conf.shared)
            w->conf.shared(w->conf.user, (uint32_t)(p - w->procs), body);
        return;
    }
    if (!w->noted && !w->conf.options->quiet)
        mlt_say("note: %s", body);
    w->noted = true;
}

// A connection between hosts is lost. Often that is because something else has happened, which will
// be heard of in a moment and is the better explanation.
// The first is told, unless a side says that the reason is its own ("this process has no descriptor
static void take_decision(mlt_watch *w, const mlt_watch_proc *p, const mlt_ctl *head,
                          const char *body)
{
    mlt_decision d;
    if (head->length != sizeof d)
        return;
    memcpy(&d, body, sizeof d);
    mlt_changes_decides(w->changes, w->conf.plan->procs[p - w->procs].host, &d);
}

// left"): the other one only sees that the connection is gone.
static void take_lost(mlt_watch *w, mlt_watch_proc *p, const mlt_ctl *head, const char *text)
{
    static const char own[] = "this process ";
    bool is_reason = strncmp(text, own, sizeof own - 1) == 0 && !w->has_reason;
    if ((w->lost && !is_reason) || w->ending || head->value < 0 ||
        head->value >= w->conf.plan->proc_count)
        return;
    char who[64], other[64];
    const mlt_watch_proc *peer = &w->procs[head->value];
    mlt_watch_name_rank(w, p, -1, who, sizeof who);
    mlt_watch_name_rank(w, peer, -1, other, sizeof other);
    w->has_reason = is_reason;
    free(w->lost);
    w->lost = mlt_text_of("%s on host %s has lost its connection to %s on host %s: %s", who,
                          mlt_watch_host_of(w, p), other, mlt_watch_host_of(w, peer), text);
    w->lost_at = mlt_os_now_ns() + mlt_watch_lost_ns;
    mlt_watch_set_timer(w);
}

void mlt_watch_take_unlinked(mlt_watch *w, const char *text, bool is_reason)
{
    if ((w->lost && (!is_reason || w->has_reason)) || w->ending)
        return;
    w->has_reason |= is_reason;
    free(w->lost);
    w->lost = mlt_text_of("%s", text);
    w->lost_at = mlt_os_now_ns() + (w->children_failed ? children_lost_ns : mlt_watch_lost_ns);
    mlt_watch_set_timer(w);
}

void mlt_watch_child_fails(mlt_watch *w)
{
    w->children_failed = true;
    if (w->lost_at)
        w->lost_at = mlt_os_now_ns() + children_lost_ns;
    mlt_watch_set_timer(w);
}

void mlt_watch_end_lost(mlt_watch *w)
{
    if (w->conf.adopted && w->finalised)
        return;
    mlt_watch_verdict(w, MLT_EXIT_SYSTEM, "%s", w->lost);
    mlt_watch_end_by(w);
}

static void take_init(mlt_watch *w, mlt_watch_proc *p)
{
    if (p->initialised)
        return;
    p->initialised = true;
    if (++w->initialised == w->conf.plan->proc_count && w->conf.parent && !w->ending)
        mlt_parent_born(w->conf.parent, w->conf.plan);
}

static void take_final(mlt_watch *w, mlt_watch_proc *p)
{
    if (p->finalised)
        return;
    p->finalised = true;
    if (++w->finalised == w->conf.plan->proc_count && w->conf.finalised)
        w->conf.finalised(w->conf.user);
}

void mlt_watch_take_packet(mlt_watch *w, mlt_watch_proc *p, const mlt_ctl *head, char *body)
{
    mlt_report *report = w->conf.report;
    switch (head->type) {
    case MLT_CTL_HELLO:
        watch_said_take_hello(w, p);
        mlt_mpir_is((uint32_t)(p - w->procs), (pid_t)head->value);
        mlt_watch_show(w);
        break;
    case MLT_CTL_HELD:
        p->held = true;
        mlt_mpir_is((uint32_t)(p - w->procs), (pid_t)head->value);
        mlt_watch_show(w);
        break;
    case MLT_CTL_INIT:
        take_init(w, p);
        break;
    case MLT_CTL_FINAL:
        take_final(w, p);
        break;
    case MLT_CTL_DONE:
        p->done = true;
        break;
    case MLT_CTL_SHARED:
    case MLT_CTL_NOTE:
        take_note(w, p, head, body);
        break;
    case MLT_CTL_CHANGED:
        if (head->detail == MLT_CTL_DECIDES) {
            take_decision(w, p, head, body);
            break;
        }
        mlt_watch_make_fit(body);
        if (w->live)
            mlt_live_changed(w->live, (uint32_t)head->value, head->detail != 0, body);
        break;
    case MLT_CTL_LOST:
        mlt_watch_make_fit(body);
        take_lost(w, p, head, body);
        break;
    case MLT_CTL_LOST_JOB:
        mlt_watch_make_fit(body);
        mlt_watch_take_unlinked(w, body, false);
        break;
    case MLT_CTL_EXIT:
        take_exit(w, p, head);
        break;
    case MLT_CTL_ABORT:
    case MLT_CTL_CRASH:
        trim_lines(body);
        (head->type == MLT_CTL_ABORT ? take_abort : take_crash)(w, p, head, body);
        break;
    case MLT_CTL_WAITS:
    case MLT_CTL_WAITS_END:
    case MLT_CTL_PROCS:
    case MLT_CTL_JOBS:
        mlt_watch_take_waits(w, head, body);
        break;
    case MLT_CTL_CALLS:
        if (report)
            mlt_report_calls(report, (const mlt_ctl_call *)(void *)body,
                             head->length / sizeof(mlt_ctl_call));
        break;
    case MLT_CTL_STATS:
        if (report && head->length == sizeof(mlt_ctl_stats))
            mlt_report_stats(report, head->detail, (const mlt_ctl_stats *)(void *)body);
        break;
    case MLT_CTL_QUEUES:
        mlt_launch_trace_queues(w->conf.options, (const mlt_ctl_queue *)(void *)body,
                                head->length / sizeof(mlt_ctl_queue));
        if (report)
            mlt_report_queues(report, (const mlt_ctl_queue *)(void *)body,
                              head->length / sizeof(mlt_ctl_queue), head->detail);
        break;
    case MLT_CTL_LEAKS:
        if (w->conf.leaks)
            mlt_leaks_add(w->conf.leaks, (const mlt_ctl_leak *)(void *)body,
                          head->length / sizeof(mlt_ctl_leak));
        break;
    case MLT_CTL_CHOICES:
        mlt_path_map_choices(w->conf.map, (const mlt_ctl_choice *)(void *)body,
                             head->length / sizeof(mlt_ctl_choice));
        break;
    case MLT_CTL_PATHS:
        mlt_path_map_paths(w->conf.map, (const mlt_ctl_path *)(void *)body,
                           head->length / sizeof(mlt_ctl_path));
        break;
    case MLT_CTL_STEPS:
        mlt_path_map_steps(w->conf.map, w->conf.plan, (const mlt_ctl_step *)(void *)body,
                           head->length / sizeof(mlt_ctl_step));
        break;
    default: // a newer library; not for us
        break;
    }
}

// ---- Ends of processes

// `calls`: the last ones of its ranks, lines.
static void judge_end(mlt_watch *w, mlt_watch_proc *p, int status, char *calls)
{
    char who[64];
    mlt_watch_name_rank(w, p, -1, who, sizeof who);
    if (w->ending || p->crashed)
        return;
    if (status == MLT_FRAME_UNKNOWN) { // its launcher knows, and will say so
        if (p->told || !p->initialised || p->finalised)
            return;
        mlt_watch_verdict(w, MLT_EXIT_FAILED, "%s on host %s ended without calling MPI_Finalize",
                          who, mlt_watch_host_of(w, p));
        mlt_watch_end_by_failure(w);
        return;
    }
    if (WIFSIGNALED(status)) {
        int signal = WTERMSIG(status);
        mlt_watch_make_lines_fit(calls);
        trim_lines(calls);
        mlt_watch_verdict(w, 128 + signal, "%s on host %s was killed by signal %d (%s)%s%s%s", who,
                          mlt_watch_host_of(w, p), signal, strsignal(signal),
                          WCOREDUMP(status) ? "; core dumped" : "", *calls ? "\n" : "", calls);
        mlt_watch_end_by_failure(w);
        return;
    }
    int code = WEXITSTATUS(status);
    if (p->told)
        return;
    if (p->initialised && !p->finalised) {
        mlt_watch_verdict(w, code ? code : MLT_EXIT_FAILED,
                          "%s on host %s ended with exit status %d without calling MPI_Finalize",
                          who, mlt_watch_host_of(w, p), code);
        mlt_watch_end_by_failure(w);
    } else if (code) {
        mlt_watch_fail_alone(w, p, who, code, !p->finalised);
    } else if (mlt_watch_is_unborn(w) && !p->initialised) {
        mlt_watch_verdict(
            w, MLT_EXIT_FAILED,
            "%s on host %s ended without calling MPI_Init, so it cannot be connected with the "
            "job that spawns it",
            who, mlt_watch_host_of(w, p));
        mlt_watch_end_by(w);
    } else if (p->attached && !p->done && w->conf.plan->procs[p - w->procs].ranks > 1) {
        mlt_watch_verdict(
            w, MLT_EXIT_FAILED,
            "%s on host %s ended with exit status 0 before all its ranks had ended; where "
            "ranks share a process, none may end or replace it",
            who, mlt_watch_host_of(w, p));
        mlt_watch_end_by_failure(w);
    }
}

void mlt_watch_take_end(mlt_watch *w, mlt_watch_proc *p, int status, uint64_t peak, char *calls)
{
    if (p->gone)
        return;
    mlt_watch_forget(w, p);
    mlt_watch_show(w);
    if (w->conf.report)
        mlt_report_ended(w->conf.report, peak);
    judge_end(w, p, status, calls);
}
