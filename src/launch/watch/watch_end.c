// SPDX-License-Identifier: BSD-3-Clause
// The first failure decides the exit code (`verdict`). Some failures also end the job (`end_job`):
//
//     a signal, MPI_Abort, an end between MPI_Init and MPI_Finalize        at once
//     a nonzero exit before MPI_Init, while others use MPI                 after a second, if the
//                                                                          job still runs
//     a nonzero exit after MPI_Finalize, or of a program without MPI       never
//     a proven deadlock, the time limit                                    after the hang report
//     SIGINT, SIGTERM, SIGHUP to mpirun                                    at once, with more
//                                                                          grace; the second kills
//
//     a host that cannot start its part, or does not answer any more       at once
//
// Ending means SIGTERM, then SIGKILL to processes that are left after the grace. One timer serves
// all deadlines; each is a monotonic time, 0 if there is none.
#include "launch/watch/watch_state.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "launch/say.h"
#include "os/os.h"

// A crashed process may be writing its core file.
static const uint64_t crash_grace_ns = 900 * MLT_WATCH_MS;
static const uint64_t give_up_ns = 5000 * MLT_WATCH_MS;

void mlt_watch_set_timer(mlt_watch *w)
{
    const uint64_t times[] = {w->kill_at,    w->crash_kill_at,  w->straggler_at,  w->give_up_at,
                              w->timeout_at, w->look_at,        w->collect_until, w->lost_at,
                              w->tick_at,    w->children_until, w->shown_at};
    mlt_loop_alarm_first(&w->timer, times, sizeof times / sizeof *times);
}

// ---- Agents

void mlt_watch_command_others(mlt_watch *w, mlt_frame_type type, uint32_t about, int64_t value)
{
    mlt_frame frame = mlt_frame_down(type, MLT_FRAME_ALL, about, value, 0);
    if (w->agents)
        mlt_agents_send(w->agents, &frame, NULL);
}

void mlt_watch_command_own(mlt_watch *w, mlt_frame_type type, uint32_t about, int64_t value)
{
    mlt_frame frame = mlt_frame_down(type, MLT_FRAME_ALL, about, value, 0);
    if (w->agent)
        mlt_agent_take(w->agent, &frame, NULL);
}

void mlt_watch_command(mlt_watch *w, mlt_frame_type type, uint32_t about, int64_t value)
{
    mlt_watch_command_others(w, type, about, value);
    mlt_watch_command_own(w, type, about, value);
}

const char *mlt_watch_host_of(const mlt_watch *w, const mlt_watch_proc *p)
{
    const mlt_placement *plan = w->conf.plan;
    return plan->hosts[plan->procs[p - w->procs].host].host.name;
}

void mlt_watch_forget(mlt_watch *w, mlt_watch_proc *p)
{
    if (p->gone)
        return;
    if (p->running)
        w->living--;
    else
        w->missing--;
    p->running = false;
    p->gone = true;
}

void mlt_watch_forget_all(mlt_watch *w, uint32_t at, bool running_too)
{
    for (uint32_t p = 0; p < w->conf.plan->proc_count; p++)
        if ((at == MLT_FRAME_ALL || w->conf.plan->procs[p].host == at) &&
            (running_too || !w->procs[p].running))
            mlt_watch_forget(w, &w->procs[p]);
}

void mlt_watch_kill_all(mlt_watch *w, bool crashed_too)
{
    mlt_watch_command(w, MLT_FRAME_KILL, 0, crashed_too);
    w->kill_at = 0;
    if (crashed_too)
        w->crash_kill_at = 0;
    if (!w->give_up_at)
        w->give_up_at = mlt_os_now_ns() + give_up_ns;
    mlt_watch_set_timer(w);
}

void mlt_watch_end_job(mlt_watch *w, int signal, int elsewhere, uint64_t grace)
{
    if (w->ending)
        return;
    uint64_t now = mlt_os_now_ns();
    w->ending = true;
    w->look_at = w->timeout_at = w->straggler_at = w->lost_at = 0;
    w->kill_at = now + grace;
    w->crash_kill_at = now + (grace > crash_grace_ns ? grace : crash_grace_ns);
    if (!w->begun)
        mlt_watch_forget_all(w, MLT_FRAME_ALL, false);
    mlt_children_fails(w->children);
    if (w->conf.parent)
        mlt_parent_fails(w->conf.parent);
    if (signal)
        mlt_watch_command_own(w, MLT_FRAME_SIGNAL, 0, signal);
    mlt_watch_command_others(w, MLT_FRAME_SIGNAL, 0, elsewhere);
    mlt_watch_command(w, MLT_FRAME_SIGNAL, 0, SIGCONT); // a stopped process could not end
    mlt_watch_set_timer(w);
}

void mlt_watch_verdict(mlt_watch *w, int code, const char *format, ...)
{
    if (w->code || w->interrupted)
        return;
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    w->code = code;
    w->sentence = text;
}

void mlt_watch_say_verdict(mlt_watch *w)
{
    if (!w->sentence)
        return;
    char number[MLT_NUMBER_BYTES];
    if (w->more)
        mlt_say("%s, and %s more rank%s failed too", w->sentence, mlt_number(number, w->more),
                w->more == 1 ? "" : "s");
    else
        mlt_say("%s", w->sentence);
    free(w->said);
    w->said = w->sentence;
    w->sentence = NULL;
}

void mlt_watch_end_by(mlt_watch *w)
{
    mlt_watch_say_verdict(w);
    mlt_watch_end_job(w, SIGTERM, SIGTERM, mlt_watch_grace_ns);
}

bool mlt_watch_is_unborn(const mlt_watch *w)
{
    return w->conf.parent && w->initialised < w->conf.plan->proc_count;
}

void mlt_watch_end_soon(mlt_watch *w, uint64_t pause)
{
    mlt_watch_say_verdict(w);
    if (!w->straggler_at && !w->ending)
        w->straggler_at = mlt_os_now_ns() + pause;
    mlt_watch_set_timer(w);
}

void mlt_watch_end_by_failure(mlt_watch *w)
{
    if (!w->conf.adopted) {
        mlt_watch_end_by(w);
        return;
    }
    mlt_watch_end_soon(w, mlt_watch_straggler_ns);
}

void mlt_watch_fail_alone(mlt_watch *w, const mlt_watch_proc *p, const char *who, int status,
                          bool early)
{
    if (w->code)
        w->more++;
    mlt_watch_verdict(w, status, "%s on host %s ended with exit status %d", who,
                      mlt_watch_host_of(w, p), status);
    if (mlt_watch_is_unborn(w))
        mlt_watch_end_by(w);
    if (!early || w->ending)
        return;
    if (w->attached == 0)
        w->failed_early = true;
    else if (!w->straggler_at)
        w->straggler_at = mlt_os_now_ns() + mlt_watch_straggler_ns;
    mlt_watch_set_timer(w);
}

void mlt_watch_name_rank(const mlt_watch *w, const mlt_watch_proc *p, int32_t rank, char *text,
                         size_t size)
{
    if (rank >= 0)
        snprintf(text, size, "rank %d", rank);
    else
        mlt_placement_name(w->conf.plan, (uint32_t)(p - w->procs), text, size);
}
