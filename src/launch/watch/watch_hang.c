// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/watch_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/say.h"
#include "launch/trace.h"
#include "os/os.h"

static const uint64_t look_again_ns = 50 * MLT_WATCH_MS, look_rarely_ns = 2000 * MLT_WATCH_MS;
enum { HOSTS_A_LOOK = 32 };
// Until another launcher has read what was said.
static const uint64_t words_ns = 200 * MLT_WATCH_MS;
// Since the last record; agents answer after 2 s.
static const uint64_t watch_hang_collect_ns = 3000 * MLT_WATCH_MS;

// Equal quiet looks, one after the other, that prove a deadlock.
enum {
    LOOKS_PROVEN = 2, // nothing is in flight
    LOOKS_ENDED = 8,  // some worker has ended: messages to it stay in flight for ever
    LOOKS_FAULT = 40, // 10 s; only a fault of ours could do that, and it should be seen
};

static void print_hang(mlt_watch *w)
{
    const mlt_placement *plan = w->conf.plan;
    for (uint32_t i = 0; w->purpose != MLT_WATCH_FOR_DEADLOCK && i < plan->workers; i++) {
        uint32_t first, ranks = mlt_placement_ranks_of(plan, i, &first);
        if (w->moves[i])
            mlt_hang_moves(w->hang, first, ranks);
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    if (w->purpose == MLT_WATCH_FOR_DEADLOCK)
        fprintf(out, "%s: deadlock: every %s, and nothing is on its way\n", mlt_say_name(),
                mlt_hang_has_procs(w->hang) ? "rank and process that is left is blocked"
                                            : "rank that is left is blocked in MPI");
    else if (w->purpose == MLT_WATCH_FOR_TIMEOUT)
        fprintf(out, "%s: the time limit of %g s is over; the ranks are here:\n", mlt_say_name(),
                w->limit_s);
    else
        fprintf(out, "%s: the ranks are here:\n", mlt_say_name());
    mlt_hang_print(w->hang, out);
    fputs(mlt_text_so_far(&w->calls), out);
    fclose(out);
    mlt_say_raw(text, size);
    free(text);
}

// For those who look at the trace of the job later.
static void trace_hang(mlt_watch *w)
{
    const char *why = w->purpose == MLT_WATCH_FOR_DEADLOCK  ? "deadlock"
                      : w->purpose == MLT_WATCH_FOR_TIMEOUT ? "time limit"
                                                            : "asked";
    char *text = NULL;
    size_t size = 0;
    FILE *out = w->conf.options->trace ? open_memstream(&text, &size) : NULL;
    if (!out)
        return;
    mlt_hang_facts(w->hang, why, out);
    fclose(out);
    mlt_launch_trace_facts(w->conf.options, text, size);
    free(text);
}

void mlt_watch_finish_collecting(mlt_watch *w)
{
    if (w->purpose == MLT_WATCH_FOR_NOBODY)
        return;
    print_hang(w);
    trace_hang(w);
    mlt_hang_free(w->hang);
    mlt_text_free(&w->calls);
    free(w->moves);
    w->hang = NULL;
    w->moves = NULL;
    w->collect_until = 0;
    w->equal_looks = 0;
    mlt_watch_purpose why = w->purpose;
    w->purpose = MLT_WATCH_FOR_NOBODY;
    if (why == MLT_WATCH_FOR_SIGNAL)
        return;
    if (why == MLT_WATCH_FOR_DEADLOCK)
        mlt_watch_verdict(w, MLT_EXIT_DEADLOCK, "the job was ended because of the deadlock");
    else
        mlt_watch_verdict(w, MLT_EXIT_TIMEOUT, "the job was ended after the time limit of %g s",
                          w->limit_s);
    if (w->conf.adopted)
        mlt_watch_end_soon(w, words_ns);
    else
        mlt_watch_end_by(w);
}

void mlt_watch_collect(mlt_watch *w, mlt_watch_purpose why)
{
    if (w->purpose != MLT_WATCH_FOR_NOBODY) {
        if (why > w->purpose)
            w->purpose = why;
        return;
    }
    w->purpose = why;
    w->hang = mlt_hang_new(w->conf.plan->ranks);
    w->moves = mlt_xcalloc(w->conf.plan->workers, sizeof *w->moves);
    w->open_answers = 0;
    for (uint32_t h = 0; h < w->conf.plan->host_count; h++) {
        w->hosts[h].stated = w->hosts[h].lost;
        w->open_answers += !w->hosts[h].lost;
    }
    w->collect_until = mlt_os_now_ns() + watch_hang_collect_ns;
    mlt_watch_set_timer(w);
    mlt_watch_command(w, MLT_FRAME_ASK, 0, 0); // this host's answer may come at once
}

// What the workers of a host do: a state each.
void mlt_watch_take_states(mlt_watch *w, uint32_t from, const char *body, size_t length)
{
    const mlt_placement *plan = w->conf.plan;
    size_t count = length / sizeof(mlt_frame_state), next = 0;
    if (w->purpose == MLT_WATCH_FOR_NOBODY || w->hosts[from].stated)
        return;
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const mlt_placement_proc *on = &plan->procs[p];
        for (uint32_t i = 0; on->host == from && i < on->workers && next < count; i++, next++) {
            mlt_frame_state state;
            uint32_t first, ranks = mlt_placement_ranks_of(plan, on->first_worker + i, &first);
            memcpy(&state, body + next * sizeof state, sizeof state);
            if (state.state < MLT_HANG_BLOCKED)
                mlt_hang_set(w->hang, first, ranks, (mlt_hang_state)state.state);
            w->moves[on->first_worker + i] = !state.stands;
        }
    }
    w->hosts[from].stated = true;
    if (--w->open_answers == 0)
        mlt_watch_finish_collecting(w);
}

void mlt_watch_report_now(mlt_watch *w)
{
    if (w->ending)
        return;
    if (w->attached)
        mlt_watch_collect(w, MLT_WATCH_FOR_SIGNAL);
    else
        mlt_say("no rank uses MPI so far; %u of %u processes run", w->living,
                w->conf.plan->proc_count);
}

// Both are asked of all hosts: the second look begins when the first has ended everywhere.
void mlt_watch_begin_look(mlt_watch *w, uint64_t now)
{
    // The more hosts answer, the less often they are asked: an idle job costs nearly nothing.
    uint64_t pause = mlt_watch_look_every_ns * (1 + w->conf.plan->host_count / HOSTS_A_LOOK);
    w->look_at = now + (pause < look_rarely_ns ? pause : look_rarely_ns);
    if (w->purpose != MLT_WATCH_FOR_NOBODY || w->open_looks > 0)
        return;
    w->sum = (mlt_job_observation){.quiet = true};
    for (uint32_t h = 0; h < w->conf.plan->host_count; h++) {
        w->hosts[h].looked = w->hosts[h].lost;
        w->open_looks += !w->hosts[h].lost;
    }
    mlt_watch_command(w, MLT_FRAME_LOOK, 0, ++w->look_number);
}

// Somebody may change what a rank does, and let it go on.
static bool is_debugged(const mlt_watch *w)
{
    int64_t rank = w->conf.options->gdb;
    return rank >= 0 && !w->procs[mlt_placement_proc_of(w->conf.plan, (uint32_t)rank)].gone;
}

void mlt_watch_judge_look(mlt_watch *w)
{
    mlt_job_observation look = w->sum;
    bool same = look.quiet && w->look.quiet && look.epochs == w->look.epochs &&
                look.in_flight == w->look.in_flight && look.ended == w->look.ended;
    w->equal_looks = !look.quiet || !look.asleep ? 0 : same ? w->equal_looks + 1 : 1;
    w->look = look;
    int enough = look.in_flight == 0 ? LOOKS_PROVEN : look.ended ? LOOKS_ENDED : LOOKS_FAULT;
    if (w->ending || w->purpose != MLT_WATCH_FOR_NOBODY || (w->conf.adopted && w->straggler_at))
        return; // or the others wait for one that has failed, and are about to be ended
    if (w->equal_looks >= enough && !is_debugged(w))
        mlt_watch_collect(w, MLT_WATCH_FOR_DEADLOCK);
    else if (look.quiet && look.asleep && look.in_flight == 0)
        w->look_at = mlt_os_now_ns() + look_again_ns;
    mlt_watch_set_timer(w);
}

void mlt_watch_take_look(mlt_watch *w, const mlt_frame *frame, const char *body)
{
    mlt_job_observation look;
    if (frame->value != w->look_number || frame->length != sizeof look ||
        w->hosts[frame->from].looked || !w->open_looks)
        return;
    memcpy(&look, body, sizeof look);
    w->hosts[frame->from].looked = true;
    w->sum.quiet &= look.quiet;
    w->sum.asleep += look.asleep;
    w->sum.epochs += look.epochs;
    w->sum.in_flight += look.in_flight;
    w->sum.ended += look.ended;
    if (--w->open_looks == 0)
        mlt_watch_judge_look(w);
}

void mlt_watch_take_waits(mlt_watch *w, const mlt_ctl *head, const void *body)
{
    if (w->purpose == MLT_WATCH_FOR_NOBODY || head->detail >= w->conf.plan->workers)
        return; // an answer that came too late
    w->collect_until = mlt_os_now_ns() + watch_hang_collect_ns;
    mlt_watch_set_timer(w);
    if (head->type == MLT_CTL_WAITS) {
        mlt_hang_add(w->hang, body, head->length / sizeof(mlt_ctl_wait));
        return;
    }
    if (head->type == MLT_CTL_JOBS) {
        mlt_hang_add_jobs(w->hang, body, head->length / sizeof(mlt_ctl_job));
        return;
    }
    uint32_t first, ranks = mlt_placement_ranks_of(w->conf.plan, head->detail, &first);
    if (head->type == MLT_CTL_PROCS)
        mlt_hang_add_procs(w->hang, first, ranks, body, head->length);
}
