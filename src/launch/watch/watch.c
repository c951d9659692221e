// SPDX-License-Identifier: BSD-3-Clause
// Processes belong to agents: that of this host, whose functions are called, and those of others,
// which get frames (`command`). What they tell comes to mlt_watch_send.
#include "launch/watch/watch.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "launch/guard.h"
#include "launch/mpir.h"
#include "launch/say.h"
#include "launch/sweep.h"
#include "launch/trace.h"
#include "launch/watch/watch_state.h"
#include "os/os.h"

static const uint64_t polite_grace_ns = 2000 * MLT_WATCH_MS;
static const uint64_t bye_ns = 2000 * MLT_WATCH_MS;   // for agents to end
static const uint64_t clocks_ns = 300 * MLT_WATCH_MS; // ... and before it to tell their clocks
// ... of a job that went well, so that its output is not lost.
static const uint64_t output_ns = 10000 * MLT_WATCH_MS;
// Of the line that shows how many hosts are ready.
static const uint64_t watch_tick_ns = 1000 * MLT_WATCH_MS;
static const uint64_t children_ns = 6000 * MLT_WATCH_MS; // for spawned jobs that were told to end
static const int last_words_ms = 500;

static void watch_take(mlt_watch *w, const mlt_frame *frame, char *body);

// ---- What people outside want to see

void mlt_watch_live(mlt_watch *w, mlt_live *live)
{
    w->live = live;
}

void mlt_watch_ask_live(mlt_watch *w, int64_t number, bool *answers)
{
    for (uint32_t h = 0; h < w->conf.plan->host_count; h++)
        answers[h] = w->hosts[h].ready && !w->hosts[h].lost;
    mlt_watch_command(w, MLT_FRAME_LIVE, 0, number);
}

void mlt_watch_send(void *watch, const mlt_frame *frame, char *body)
{
    mlt_watch *w = watch;
    bool all = frame->to == MLT_FRAME_ALL;
    bool others = w->agents && (all || mlt_agents_has(w->agents, frame->to));
    if (frame->to == MLT_FRAME_HEAD) {
        watch_take(w, frame, body);
        return;
    }
    if (others)
        mlt_agents_send(w->agents, frame, body);
    if (w->agent && (all || !others))
        mlt_agent_take(w->agent, frame, body);
}

uint32_t mlt_watch_change(mlt_watch *w, const char *file)
{
    return mlt_changes_begin(w->changes, file);
}

void mlt_watch_trace(mlt_watch *w, bool on)
{
    mlt_watch_command(w, MLT_FRAME_TRACE, 0, on);
}

static void watch_reap(mlt_watch *w)
{
    int status;
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
        if ((!w->agent || !mlt_agent_reaped(w->agent, pid, status, &usage)) &&
            (!w->agents || !mlt_agents_reaped(w->agents, pid, status)))
            (void)mlt_children_reaped(w->children, pid, status);
}

// Its mpirun has said why it failed, if it could.
void mlt_watch_child_ended(mlt_watch *w, const char *job, int code, int signal)
{
    if (!code)
        return;
    if (signal && !w->ending)
        mlt_say("the mpirun of job %s was killed by signal %d (%s)", job, signal,
                strsignal(signal));
    if (!w->code && !w->interrupted)
        w->code = code;
}

// A rank asks for another job.
static void take_spawn(mlt_watch *w, const mlt_frame *frame, const char *body)
{
    const mlt_options *options = w->conf.options;
    if (options->record && !w->told_spawned && !options->quiet)
        mlt_say("ranks of spawned jobs are not recorded: they are not in %s", options->record);
    w->told_spawned = true;
    if (!w->ending)
        mlt_children_spawn(w->children, frame->from, frame->about, frame->value, body,
                           frame->length);
}

// ---- What agents tell

// Other hosts that can answer.
static uint32_t others_of(const mlt_watch *w)
{
    uint32_t others = 0;
    for (uint32_t h = 0; h < w->conf.plan->host_count; h++)
        others += !w->conf.plan->hosts[h].host.here && !w->hosts[h].lost;
    return others;
}

// How far clocks of other hosts differ from this one's; the answers come as CLOCKED.
static void compare_clocks(mlt_watch *w)
{
    if (!w->conf.options->trace || !w->agents)
        return;
    mlt_clocks_begin(&w->clocks, others_of(w), mlt_os_now_ns());
    if (w->clocks.round)
        mlt_watch_command_others(w, MLT_FRAME_CLOCK, 0, w->clocks.number);
}

static void take_clock(mlt_watch *w, const mlt_frame *frame, const char *body)
{
    uint64_t theirs, now = mlt_os_now_ns();
    mlt_text facts = {0};
    if (frame->length != sizeof theirs || !w->clocks.round)
        return;
    memcpy(&theirs, body, sizeof theirs);
    if (mlt_clocks_take(&w->clocks, frame->from, frame->value, theirs, now, others_of(w)))
        mlt_watch_command_others(w, MLT_FRAME_CLOCK, 0, w->clocks.number);
    if (w->clocks.round)
        return;
    mlt_clocks_tell(&w->clocks, &facts);
    mlt_launch_trace_facts(w->conf.options, facts.text, facts.length);
    mlt_text_free(&facts);
}

static void watch_begin(mlt_watch *w)
{
    if (w->ending || w->begun)
        return;
    w->begun = true;
    compare_clocks(w);
    mlt_watch_command(w, MLT_FRAME_START, 0, w->mixed);
    if (w->io)
        mlt_stdio_run(w->io);
}

// On a terminal, while it takes long.
static void show_progress(mlt_watch *w)
{
    uint32_t all = w->conf.plan->host_count;
    char line[160];
    const char *more = w->stage ? mlt_stage_out_progress(w->stage) : "";
    if (!isatty(STDERR_FILENO) || w->conf.options->quiet)
        return;
    bool over = w->begun || w->ending;
    // The cursor stays at its beginning: a message in between takes its place.
    int n = over ? snprintf(line, sizeof line, "\033[K")
                 : snprintf(line, sizeof line, "%s: %u of %u hosts are ready%s%s ...\033[K\r",
                            mlt_say_name(), all - w->waiting, all, *more ? ", " : "", more);
    if (!over || w->shows)
        mlt_say_raw(line, (size_t)n);
    w->shows = !over;
    w->tick_at = over ? 0 : mlt_os_now_ns() + watch_tick_ns;
}

// In all else the hosts of a job agree, or they do not connect (net/greet.h).
static void compare_types(mlt_watch *w, const void *bytes)
{
    mlt_greet_types types;
    memcpy(&types, bytes, sizeof types);
    if (!w->types_known)
        w->types = types;
    w->types_known = true;
    w->mixed |= types.size_long_double != w->types.size_long_double ||
                types.long_double_digits != w->types.long_double_digits;
}

static void take_ready(mlt_watch *w, uint32_t from, const char *body, size_t length)
{
    mlt_frame_ready about;
    if (w->hosts[from].ready || length != sizeof about)
        return;
    w->hosts[from].ready = true;
    memcpy(&about, body, sizeof about);
    compare_types(w, about.types);
    if (w->conf.report)
        mlt_report_add_cores(w->conf.report, about.cores);
    if (--w->waiting > 0)
        return;
    watch_begin(w);
    if (w->shows)
        show_progress(w);
}

// A host's part of the job cannot run, or not all of it.
static void take_failed(mlt_watch *w, uint32_t at, int64_t code, char *text)
{
    const mlt_hosts_entry *where = &w->conf.plan->hosts[at].host;
    if (!w->ending && where->here)
        mlt_say("%s", text);
    else if (!w->ending)
        mlt_say("host %s: %s", where->name, text);
    mlt_watch_forget_all(w, at, false);
    if (!w->code && !w->interrupted)
        w->code = code > 0 && code < 256 ? (int)code : MLT_EXIT_SYSTEM;
    mlt_watch_end_job(w, SIGTERM, SIGTERM, mlt_watch_grace_ns);
}

// Launchers may kill an agent when the last process of its host ends. If ranks have left
// MPI_Finalize, which all enter first, that is nobody's loss; if none has, one may in a moment.
static void miss_host(mlt_watch *w, uint32_t at, const char *text)
{
    if (w->finalised || w->lost)
        return;
    w->lost = mlt_text_of("host %s %s", w->conf.plan->hosts[at].host.name, text);
    w->lost_at = mlt_os_now_ns() + mlt_watch_lost_ns;
    mlt_watch_set_timer(w);
}

// The agent of a host is gone, and with it all processes there.
static void take_host_lost(mlt_watch *w, uint32_t at, const char *text)
{
    mlt_watch_host *h = &w->hosts[at];
    if (h->lost)
        return;
    h->lost = true;
    if (!w->ending && *text && w->conf.adopted) {
        miss_host(w, at, text);
    } else if (!w->ending && *text) {
        mlt_watch_verdict(w, MLT_EXIT_SYSTEM, "host %s %s", w->conf.plan->hosts[at].host.name,
                          text);
        mlt_watch_end_by(w);
    }
    mlt_watch_forget_all(w, at, true);
    if (w->io)
        mlt_stdio_host_ended(w->io, at);
    if (w->purpose != MLT_WATCH_FOR_NOBODY && !h->stated && --w->open_answers == 0)
        mlt_watch_finish_collecting(w);
    if (w->open_looks > 0 && !h->looked && --w->open_looks == 0)
        mlt_watch_judge_look(w);
    h->stated = h->looked = true;
    if (w->live)
        mlt_live_lost(w->live, at);
    mlt_changes_lost(w->changes, at);
}

static void take_started(mlt_watch *w, mlt_watch_proc *p, int64_t pid, const char *where)
{
    char who[64];
    uint32_t index = (uint32_t)(p - w->procs);
    if (p->running || p->gone)
        return;
    p->running = true;
    w->missing--;
    w->living++;
    const mlt_placement_proc *plan = &w->conf.plan->procs[index];
    mlt_mpir_started(index, mlt_watch_host_of(w, p),
                     w->conf.programs ? w->conf.programs[plan->app] : NULL, (pid_t)pid);
    mlt_watch_show(w);
    mlt_watch_name_rank(w, p, -1, who, sizeof who);
    if (w->conf.options->verbose || w->conf.options->report_bindings)
        mlt_say("%s: process %lld on %s, on %s: %s", who, (long long)pid, mlt_watch_host_of(w, p),
                where, w->conf.options->apps[w->conf.plan->procs[index].app].argv[0]);
}

static void take_ctl(mlt_watch *w, mlt_watch_proc *p, char *body, size_t length)
{
    mlt_ctl head;
    if (length < sizeof head)
        return;
    memcpy(&head, body, sizeof head);
    if (head.length != length - sizeof head)
        return;
    char *aligned = NULL; // from another host it is where the channel has it
    if ((uintptr_t)body % _Alignof(max_align_t)) {
        aligned = mlt_xcalloc(length + 1, 1);
        memcpy(aligned, body, length);
        body = aligned;
    }
    mlt_watch_take_packet(w, p, &head, body + sizeof head);
    free(aligned);
}

// Of a process, which belongs to the host that tells it.
static void take_of_proc(mlt_watch *w, const mlt_frame *frame, char *body)
{
    mlt_watch_proc *p = &w->procs[frame->about];
    uint64_t peak = 0;
    switch (frame->type) {
    case MLT_FRAME_STARTED:
        mlt_watch_make_fit(body);
        take_started(w, p, frame->value, body);
        break;
    case MLT_FRAME_CTL:
        take_ctl(w, p, body, frame->length);
        break;
    case MLT_FRAME_ENDED:
        if (frame->length < sizeof peak)
            break;
        memcpy(&peak, body, sizeof peak);
        mlt_watch_take_end(w, p, (int)frame->value, peak, body + sizeof peak);
        break;
    case MLT_FRAME_UNLINKED:
        mlt_watch_take_unlinked(w, body, frame->value < 0);
        break;
    case MLT_FRAME_SPAWN:
        take_spawn(w, frame, body);
        break;
    case MLT_FRAME_OUTPUT:
    case MLT_FRAME_ROOM:
        if (w->io)
            mlt_stdio_take(w->io, frame, body);
        break;
    default:
        break;
    }
}

static void watch_take(mlt_watch *w, const mlt_frame *frame, char *body)
{
    const mlt_placement *plan = w->conf.plan;
    if (frame->from >= plan->host_count)
        return;
    bool of_host = frame->about < plan->host_count;
    if (frame->type == MLT_FRAME_SAY || frame->type == MLT_FRAME_FAILED ||
        frame->type == MLT_FRAME_LOST || frame->type == MLT_FRAME_UNLINKED)
        mlt_watch_make_lines_fit(body);
    switch (frame->type) {
    case MLT_FRAME_READY:
        take_ready(w, frame->from, body, frame->length);
        break;
    case MLT_FRAME_SAY:
        mlt_say("host %s: %s", plan->hosts[frame->from].host.name, body);
        break;
    case MLT_FRAME_FAILED:
        if (of_host)
            take_failed(w, frame->about, frame->value, body);
        break;
    case MLT_FRAME_LOST:
        if (of_host)
            take_host_lost(w, frame->about, body);
        break;
    case MLT_FRAME_LOOKED:
        mlt_watch_take_look(w, frame, body);
        break;
    case MLT_FRAME_CALLS:
        mlt_watch_make_lines_fit(body);
        if (w->purpose != MLT_WATCH_FOR_NOBODY && !w->hosts[frame->from].stated)
            mlt_text_add(&w->calls, "%s", body);
        break;
    case MLT_FRAME_STATES:
        mlt_watch_take_states(w, frame->from, body, frame->length);
        break;
    case MLT_FRAME_CLOCKED:
        take_clock(w, frame, body);
        break;
    case MLT_FRAME_STAGED:
        if (w->stage)
            mlt_stage_out_kept(w->stage, frame->from, frame->value);
        break;
    case MLT_FRAME_LIVED:
        if (w->live)
            mlt_live_take(w->live, frame->from, frame->value, body, frame->length);
        break;
    case MLT_FRAME_KNOWS:
        mlt_changes_knows(w->changes, frame->from, frame->value);
        break;
    case MLT_FRAME_KEPT:
        mlt_changes_kept(w->changes, frame->from, frame->value);
        break;
    default:
        if (frame->about < plan->proc_count && plan->procs[frame->about].host == frame->from)
            take_of_proc(w, frame, body);
        break;
    }
}

// ---- Signals and time

static void signal_children(mlt_watch *w, int signal, bool from_keyboard)
{
    if (!from_keyboard) // the keyboard's have reached them
        mlt_children_signal(w->children, signal);
}

// Spawned jobs are told to end, and get some time for it.
static void hurry_children(mlt_watch *w)
{
    if (mlt_children_living(w->children) && !w->children_until)
        w->children_until = mlt_os_now_ns() + children_ns;
    mlt_watch_set_timer(w);
}

static void time_over(mlt_watch *w)
{
    w->timeout_at = 0;
    mlt_children_time_over(w->children, w->limit_s);
    hurry_children(w);
    if (w->attached) {
        mlt_watch_collect(w, MLT_WATCH_FOR_TIMEOUT);
        return;
    }
    mlt_watch_verdict(w, MLT_EXIT_TIMEOUT, "the job was ended after the time limit of %g s",
                      w->limit_s);
    mlt_watch_end_by(w);
}

static void interrupt(mlt_watch *w, int signal, bool from_keyboard)
{
    signal_children(w, signal, from_keyboard);
    hurry_children(w);
    if (w->agent)
        mlt_agent_hear(w->agent);
    if (w->ending) { // the second one
        mlt_watch_kill_all(w, true);
        return;
    }
    if (!w->code)
        mlt_say("ending the job because of signal %d (%s); a second signal kills it", signal,
                strsignal(signal));
    w->interrupted = signal;
    if (!w->code)
        w->code = 128 + signal;
    // The keyboard's signals have reached all of them already.
    int sent = signal == SIGINT ? SIGINT : SIGTERM;
    mlt_watch_end_job(w, from_keyboard ? 0 : sent, sent, polite_grace_ns);
}

static void stop(mlt_watch *w, bool from_keyboard)
{
    mlt_watch_command_others(w, MLT_FRAME_STOP, 0, 0);
    if (w->agents) // agents that have not heard of it would take the silence for mpirun's end
        mlt_agents_flush(w->agents, last_words_ms);
    if (!from_keyboard)
        mlt_watch_command_own(w, MLT_FRAME_STOP, 0, 0);
    signal_children(w, SIGTSTP, from_keyboard);
    uint64_t before = mlt_os_now_ns();
    (void)kill(getpid(), SIGSTOP); // until SIGCONT
    uint64_t slept = mlt_os_now_ns() - before;
    uint64_t *times[] = {&w->kill_at,    &w->crash_kill_at, &w->straggler_at,  &w->give_up_at,
                         &w->timeout_at, &w->look_at,       &w->collect_until, &w->lost_at,
                         &w->tick_at,    &w->children_until};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (*times[i])
            *times[i] += slept;
    if (w->agents)
        mlt_agents_woke(w->agents);
    mlt_watch_set_timer(w);
}

static void watch_signals_ready(mlt_loop_source *source, uint32_t events)
{
    mlt_watch *w = mlt_container_of(source, mlt_watch, signals);
    struct signalfd_siginfo info;
    while (read(source->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal = (int)info.ssi_signo;
        // With --gdb the ranks are in groups of their own, and Ctrl-C is meant for gdb.
        bool gdb = w->conf.options->gdb >= 0;
        bool keyboard = mlt_guard_from_keyboard(&info), from_keyboard = keyboard && !gdb;
        switch (signal) {
        case SIGCHLD:
            watch_reap(w);
            break;
        case SIGINT:
            if (gdb && keyboard)
                break;
            interrupt(w, signal, from_keyboard);
            break;
        case SIGTERM:
        case SIGHUP:
            interrupt(w, signal, false);
            break;
        case SIGQUIT:
            signal_children(w, signal, keyboard);
            mlt_watch_report_now(w);
            break;
        case SIGTSTP:
            stop(w, from_keyboard);
            break;
        default: // USR1, USR2, CONT
            signal_children(w, signal, false);
            mlt_watch_command(w, MLT_FRAME_SIGNAL, 1, signal);
            break;
        }
    }
}

// What they have on other hosts ends with the channels of their agents.
static void kill_children(mlt_watch *w)
{
    mlt_children_close(w->children);
    mlt_children_signal(w->children, SIGKILL);
}

static void watch_rings(mlt_loop_timer *timer)
{
    mlt_watch *w = mlt_container_of(timer, mlt_watch, timer);
    uint64_t now = mlt_os_now_ns();
    if (mlt_loop_due(&w->kill_at, now))
        mlt_watch_kill_all(w, false);
    if (mlt_loop_due(&w->crash_kill_at, now))
        mlt_watch_kill_all(w, true);
    if (mlt_loop_due(&w->straggler_at, now))
        mlt_watch_end_by(w);
    if (mlt_loop_due(&w->timeout_at, now))
        time_over(w);
    if (mlt_loop_due(&w->collect_until, now))
        mlt_watch_finish_collecting(w);
    if (mlt_loop_due(&w->look_at, now))
        mlt_watch_begin_look(w, now);
    if (mlt_loop_due(&w->lost_at, now))
        mlt_watch_end_lost(w);
    if (w->shown_at && now >= w->shown_at)
        mlt_watch_show(w);
    if (mlt_loop_due(&w->tick_at, now))
        show_progress(w);
    if (mlt_loop_due(&w->children_until, now))
        kill_children(w);
    mlt_watch_set_timer(w);
}

void mlt_watch_time_over(mlt_watch *w, double limit_s)
{
    w->limit_s = limit_s;
    if (!w->ending)
        time_over(w);
}

// Nobody is left to tell.
void mlt_watch_abandon(mlt_watch *w)
{
    w->interrupted = SIGKILL;
    mlt_watch_end_job(w, SIGKILL, SIGKILL, 0);
    mlt_watch_kill_all(w, true);
    kill_children(w);
}

void mlt_watch_show(mlt_watch *w)
{
    static const uint64_t patience_ns = 3000 * MLT_WATCH_MS; // with programs that may use no MPI
    if (!w->conf.options->held || w->shown || w->missing > 0)
        return;
    uint64_t now = mlt_os_now_ns();
    if (!w->shown_at)
        w->shown_at = now + patience_ns;
    w->shown = now >= w->shown_at;
    uint32_t quiet = 0;
    for (uint32_t p = 0; p < w->conf.plan->proc_count; p++)
        quiet += !w->procs[p].attached && !w->procs[p].held && !w->procs[p].gone;
    w->shown |= quiet == 0;
    if (w->shown) {
        w->shown_at = 0;
        mlt_mpir_stop();
    }
    mlt_watch_set_timer(w);
}

// A byte: the debugger has let the guard go on. The end: the guard, which the caller knows as mpirun,
// was killed.
static void guard_ready(mlt_loop_source *source, uint32_t events)
{
    mlt_watch *w = mlt_container_of(source, mlt_watch, guard);
    char byte;
    if (read(source->fd, &byte, 1) == 1) {
        mlt_watch_command(w, MLT_FRAME_GATE, 0, 0);
        return;
    }
    mlt_loop_remove(source);
    mlt_watch_abandon(w);
}

// ---- The whole

mlt_watch *mlt_watch_new(const mlt_watch_conf *conf)
{
    mlt_watch *w = mlt_xcalloc(1, sizeof *w);
    w->conf = *conf;
    w->procs = mlt_xcalloc(conf->plan->proc_count, sizeof *w->procs);
    w->hosts = mlt_xcalloc(conf->plan->host_count, sizeof *w->hosts);
    w->changes = mlt_changes_new(conf->plan->host_count, mlt_watch_send, w);
    w->children = mlt_children_new(conf->options, conf->plan, conf->group, w);
    if (!conf->adopted)
        w->io = mlt_stdio_new(
            &(mlt_stdio_conf){.options = conf->options,
                              .plan = conf->plan,
                              .host = conf->host,
                              .send = mlt_placement_other(conf->plan) ? mlt_watch_send : NULL,
                              .user = w});
    w->missing = conf->plan->proc_count;
    w->waiting = conf->plan->host_count;
    mlt_clocks_init(&w->clocks, conf->plan->host_count);
    w->signals = (mlt_loop_source){.fd = conf->signal_fd, .ready = watch_signals_ready};
    w->timer.ring = watch_rings;
    mlt_loop_need(&w->signals, EPOLLIN);
    w->guard = (mlt_loop_source){.fd = conf->guard_fd, .ready = guard_ready};
    if (conf->guard_fd >= 0)
        mlt_loop_need(&w->guard, EPOLLIN);
    w->limit_s = conf->options->timeout_s;
    if (w->limit_s > 0)
        w->timeout_at = mlt_os_now_ns() + (uint64_t)(w->limit_s * 1e9);
    if (conf->parent)
        mlt_parent_watch(conf->parent, w);
    mlt_watch_set_timer(w);
    return w;
}

void mlt_watch_join(mlt_watch *w, mlt_agent *agent, mlt_agents *agents)
{
    w->agent = agent;
    w->agents = agents;
    if (agents) {
        w->tick_at = mlt_os_now_ns() + watch_tick_ns;
        mlt_watch_set_timer(w);
    }
    if (agent)
        mlt_agent_tell_ready(agent);
}

void mlt_watch_stage(mlt_watch *w, mlt_stage_out *stage)
{
    w->stage = stage;
}

static void watch_errors_ready(mlt_loop_source *source, uint32_t events)
{
    mlt_say_go_on();
}

static void wait_for_room(mlt_watch *w)
{
    if (!mlt_say_waits()) {
        mlt_loop_remove(&w->errors);
        return;
    }
    if (!w->errors.added) {
        w->errors = (mlt_loop_source){.fd = mlt_say_fd(), .ready = watch_errors_ready};
        (void)mlt_loop_add(&w->errors, EPOLLOUT);
    }
}

static void turn(mlt_watch *w)
{
    wait_for_room(w);
    mlt_loop_turn();
}

// What agents have sent and mpirun's reader has not read yet holds them up: they are not late.
static void note_output(const mlt_watch *w, uint64_t patience_ns, uint64_t *until)
{
    if (w->io && mlt_stdio_writes(w->io))
        *until = mlt_os_now_ns() + patience_ns;
}

// Hosts that are lost, or very slow, do not keep the job from ending.
static void compare_clocks_again(mlt_watch *w)
{
    uint64_t until = mlt_os_now_ns() + clocks_ns, tick = w->tick_at;
    compare_clocks(w);
    w->tick_at = until < tick ? until : tick;
    for (mlt_watch_set_timer(w); w->clocks.round && mlt_os_now_ns() < until; turn(w)) {
    }
    w->clocks.round = 0;
    w->tick_at = tick;
}

// Tells the other agents that all is over, and waits for their end: they have sent all output and
// swept their hosts then.
static void dismiss(mlt_watch *w)
{
    if (!w->agents)
        return;
    if (w->io && w->interrupted)
        mlt_stdio_hurry(w->io);
    uint64_t patience_ns = w->code || w->interrupted ? bye_ns : output_ns;
    uint64_t until = mlt_os_now_ns() + patience_ns;
    w->ending = true;
    w->look_at = w->timeout_at = w->straggler_at = w->lost_at = w->give_up_at = 0;
    w->tick_at = until; // a turn ends then
    compare_clocks_again(w);
    mlt_watch_command_others(w, MLT_FRAME_BYE, 0, 0);
    mlt_agents_end(w->agents);
    for (mlt_watch_set_timer(w); mlt_agents_busy(w->agents) && mlt_os_now_ns() < until; turn(w))
        note_output(w, patience_ns, &until);
    w->tick_at = 0;
    mlt_agents_kill(w->agents);
}

// Killed, but not gone: the kernel holds them up, or their host does not answer.
static void say_left(const mlt_watch *w)
{
    char who[64];
    const mlt_watch_proc *p = w->procs;
    uint32_t others = w->living + w->missing - 1;
    while (p->gone)
        p++;
    mlt_watch_name_rank(w, p, -1, who, sizeof who);
    if (others == 0)
        mlt_say("%s on host %s does not end though it was killed; leaving it", who,
                mlt_watch_host_of(w, p));
    else
        mlt_say("%s on host %s and %u more process%s do not end though they were killed; leaving "
                "them",
                who, mlt_watch_host_of(w, p), others, others == 1 ? "" : "es");
}

// Jobs that were spawned and live on. What ended this one has been told to them, or they have
// disconnected from it; signals and the time limit hold for them, too.
static void await_children(mlt_watch *w)
{
    mlt_watch_say_verdict(w);
    w->look_at = w->straggler_at = w->lost_at = 0;
    if (w->conf.adopted && w->code) { // its launcher, perhaps, of which children know nothing
        signal_children(w, SIGTERM, false);
        hurry_children(w);
    }
    mlt_watch_set_timer(w);
    while (mlt_children_living(w->children))
        turn(w);
}

int mlt_watch_run(mlt_watch *w)
{
    watch_reap(w);
    while (w->living + w->missing > 0) {
        if (w->give_up_at && mlt_os_now_ns() > w->give_up_at) {
            say_left(w);
            break;
        }
        turn(w);
    }
    await_children(w);
    dismiss(w);
    mlt_loop_remove(&w->errors);
    mlt_sweep();
    if (w->purpose != MLT_WATCH_FOR_NOBODY) // the last rank ended meanwhile
        mlt_watch_finish_collecting(w);
    mlt_watch_say_verdict(w);
    if (w->interrupted) // who told mpirun to end shall not have to tell it again
        mlt_say_finish(last_words_ms);
    return w->code;
}

const char *mlt_watch_why(const mlt_watch *w)
{
    return w->said ? w->said : w->interrupted ? "it was interrupted" : w->code ? "it failed" : NULL;
}

bool mlt_watch_interrupted(const mlt_watch *w)
{
    return w->interrupted != 0;
}

mlt_stdio *mlt_watch_io(const mlt_watch *w)
{
    return w->io;
}

bool mlt_watch_finish_output(mlt_watch *w)
{
    bool whole = mlt_stdio_finish(w->io, w->interrupted != 0);
    w->io = NULL;
    return whole;
}

void mlt_watch_free(mlt_watch *w)
{
    if (w->io)
        (void)mlt_stdio_finish(w->io, true);
    mlt_children_free(w->children);
    mlt_loop_remove(&w->signals);
    mlt_loop_alarm(&w->timer, 0);
    mlt_loop_remove(&w->guard);
    mlt_hang_free(w->hang);
    mlt_changes_free(w->changes);
    mlt_text_free(&w->calls);
    mlt_clocks_fini(&w->clocks);
    free(w->moves);
    free(w->said);
    free(w->lost);
    free(w->sentence);
    free(w->procs);
    free(w->hosts);
    free(w);
}
