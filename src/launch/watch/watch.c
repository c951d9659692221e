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
//
// Processes belong to agents: that of this host, whose functions are called, and those of others,
// which get frames (`command`). What they tell comes to mlt_watch_take.
#include "launch/watch/watch.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/ctl.h"
#include "launch/guard.h"
#include "launch/loop.h"
#include "launch/numbers.h"
#include "launch/say.h"
#include "launch/sweep.h"
#include "launch/trace.h"
#include "launch/watch/hang.h"
#include "net/greet.h"
#include "os/os.h"

#define MS UINT64_C(1000000)

static const uint64_t look_every_ns = 250 * MS, look_again_ns = 50 * MS, look_rarely_ns = 2000 * MS;
enum { HOSTS_A_LOOK = 32 };
static const uint64_t grace_ns = 250 * MS, polite_grace_ns = 2000 * MS;
static const uint64_t crash_grace_ns = 900 * MS; // a crashed process may be writing its core file
static const uint64_t straggler_ns = 1000 * MS;
static const uint64_t words_ns = 200 * MS;    // until another launcher has read what was said
static const uint64_t collect_ns = 3000 * MS; // since the last record; agents answer after 2 s
static const uint64_t lost_ns = 1000 * MS;    // until a lost connection is the cause of the end
static const uint64_t kin_lost_ns = 50 * MS;  // ... if another job of the family is ending
static const uint64_t bye_ns = 2000 * MS;     // for agents to end
static const uint64_t output_ns = 10000 * MS; // ... of a job that went well: its output is not lost
static const uint64_t tick_ns = 1000 * MS;    // of the line that shows how many hosts are ready
static const uint64_t give_up_ns = 5000 * MS;
static const uint64_t kin_ns = 6000 * MS; // for spawned jobs that were told to end
static const int last_words_ms = 500;

// Equal quiet looks, one after the other, that prove a deadlock.
enum {
    LOOKS_PROVEN = 2, // nothing is in flight
    LOOKS_ENDED = 8,  // some worker has ended: messages to it stay in flight for ever
    LOOKS_FAULT = 40, // 10 s; only a fault of ours could do that, and it should be seen
};

typedef enum purpose { FOR_NOBODY, FOR_SIGNAL, FOR_TIMEOUT, FOR_DEADLOCK } purpose;

typedef struct proc {
    bool running, gone; // it has been started and has not ended; it has ended, or never started
    bool attached, initialised, finalised;
    bool done;    // all its ranks have ended, if it has several
    bool told;    // how it ended (or ends) has been said by itself
    bool crashed; // by a signal, said by itself
} proc;

typedef struct host {
    bool ready, lost, looked, stated;
} host;

struct mlt_watch {
    mlt_watch_conf conf;
    mlt_source signals, timer;
    mlt_source guard;  // at its end: the guard was killed
    mlt_source errors; // standard error, while something waits for room there
    mlt_agent *agent;  // of this host; NULL: it has no rank
    mlt_crew *crew;    // agents of other hosts; NULL: there are none
    mlt_live *live;    // NULL: nobody can ask
    proc *procs;
    host *hosts;
    bool begun;       // the processes were told to start
    uint32_t waiting; // hosts that are not ready
    uint32_t missing; // processes that have neither started nor ended
    uint32_t living, attached, initialised, finalised;
    bool kin_failed;    // a job of the family is ending
    uint64_t kin_until; // spawned jobs are killed then
    bool failed_early;  // a process failed before anybody used MPI
    bool noted;         // a note of a process has been said; others will say the same

    int code;       // the verdict; 0: none so far
    char *sentence; // the message, printed at the end
    char *said;     // the sentence, when it was told
    uint32_t more;  // ranks that failed like that one

    bool ending, killed;
    int interrupted; // the signal that ended the job
    uint64_t kill_at, crash_kill_at, straggler_at, give_up_at, timeout_at, look_at;
    uint64_t lost_at, tick_at;
    bool has_reason; // w->lost says why, and not only that
    char *lost;      // a connection was lost: the sentence, if nothing else explains it
    bool shows;      // the line of hosts that are ready is on the terminal

    mlt_job_look look, sum; // the last one, and the one that is being added up
    int64_t look_number;
    uint32_t open_looks;     // hosts that have not answered
    mlt_greet_types types;   // of the first host that was ready
    bool types_known, mixed; // mixed: others have another long double
    int equal_looks;

    purpose purpose; // of the hang report that is being collected
    uint64_t collect_until;
    mlt_hang *hang;
    bool *moves;           // [workers] it has not slept through two looks
    mlt_text calls;        // the last ones of the ranks: lines
    uint32_t open_answers; // hosts that have not told what their workers do
};

// ---- Verdict and end

static void set_timer(mlt_watch *w)
{
    const uint64_t times[] = {w->kill_at,    w->crash_kill_at, w->straggler_at,  w->give_up_at,
                              w->timeout_at, w->look_at,       w->collect_until, w->lost_at,
                              w->tick_at,    w->kin_until};
    mlt_loop_alarm_first(&w->timer, times, sizeof times / sizeof *times);
}

// ---- Agents

static void command_others(mlt_watch *w, mlt_frame_type type, uint32_t about, int64_t value)
{
    mlt_frame frame = {
        .type = type, .from = MLT_FRAME_HEAD, .to = MLT_FRAME_ALL, .about = about, .value = value};
    if (w->crew)
        mlt_crew_send(w->crew, &frame, NULL);
}

static void command_own(mlt_watch *w, mlt_frame_type type, uint32_t about, int64_t value)
{
    mlt_frame frame = {
        .type = type, .from = MLT_FRAME_HEAD, .to = MLT_FRAME_ALL, .about = about, .value = value};
    if (w->agent)
        mlt_agent_take(w->agent, &frame);
}

static void command(mlt_watch *w, mlt_frame_type type, uint32_t about, int64_t value)
{
    command_others(w, type, about, value);
    command_own(w, type, about, value);
}

static const char *host_of(const mlt_watch *w, const proc *p)
{
    const mlt_plan *plan = w->conf.plan;
    return plan->hosts[plan->procs[p - w->procs].host].host.name;
}

// Nothing more will be heard of it.
static void forget(mlt_watch *w, proc *p)
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

// Of a host, or of all: those that were never started, or all.
static void forget_all(mlt_watch *w, uint32_t at, bool running_too)
{
    for (uint32_t p = 0; p < w->conf.plan->proc_count; p++)
        if ((at == MLT_FRAME_ALL || w->conf.plan->procs[p].host == at) &&
            (running_too || !w->procs[p].running))
            forget(w, &w->procs[p]);
}

static void kill_all(mlt_watch *w, bool crashed_too)
{
    command(w, MLT_FRAME_KILL, 0, crashed_too);
    w->kill_at = 0;
    if (crashed_too)
        w->crash_kill_at = 0;
    w->killed = true;
    if (!w->give_up_at)
        w->give_up_at = mlt_os_now_ns() + give_up_ns;
    set_timer(w);
}

// `signal`: 0: the terminal has sent it to the processes of this host already.
static void end_job(mlt_watch *w, int signal, int elsewhere, uint64_t grace)
{
    if (w->ending)
        return;
    uint64_t now = mlt_os_now_ns();
    w->ending = true;
    w->look_at = w->timeout_at = w->straggler_at = w->lost_at = 0;
    w->kill_at = now + grace;
    w->crash_kill_at = now + (grace > crash_grace_ns ? grace : crash_grace_ns);
    if (!w->begun)
        forget_all(w, MLT_FRAME_ALL, false);
    if (w->conf.fails)
        w->conf.fails(w->conf.user);
    if (signal)
        command_own(w, MLT_FRAME_SIGNAL, 0, signal);
    command_others(w, MLT_FRAME_SIGNAL, 0, elsewhere);
    command(w, MLT_FRAME_SIGNAL, 0, SIGCONT); // a stopped process could not end
    set_timer(w);
}

// The first one counts.
static void verdict(mlt_watch *w, int code, const char *format, ...) MLT_PRINTF(3, 4);
static void verdict(mlt_watch *w, int code, const char *format, ...)
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

static void say_verdict(mlt_watch *w)
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

// A failure after which the others need not go on.
static void end_by(mlt_watch *w)
{
    say_verdict(w);
    end_job(w, SIGTERM, SIGTERM, grace_ns);
}

// A spawned job whose processes are not all in MPI_Init: the spawning rank waits for them.
static bool is_unborn(const mlt_watch *w)
{
    return w->conf.born && w->initialised < w->conf.plan->proc_count;
}

static void end_soon(mlt_watch *w, uint64_t pause)
{
    say_verdict(w);
    if (!w->straggler_at && !w->ending)
        w->straggler_at = mlt_os_now_ns() + pause;
    set_timer(w);
}

// A failure of a process, which its launcher sees as well.
static void end_by_failure(mlt_watch *w)
{
    if (!w->conf.adopted) {
        end_by(w);
        return;
    }
    end_soon(w, straggler_ns);
}

// A failure that the others may survive; `early`: it was before MPI_Init, so they will not survive
// it for long.
static void fail_alone(mlt_watch *w, const proc *p, const char *who, int status, bool early)
{
    if (w->code)
        w->more++;
    verdict(w, status, "%s on host %s ended with exit status %d", who, host_of(w, p), status);
    if (is_unborn(w))
        end_by(w);
    if (!early || w->ending)
        return;
    if (w->attached == 0)
        w->failed_early = true;
    else if (!w->straggler_at)
        w->straggler_at = mlt_os_now_ns() + straggler_ns;
    set_timer(w);
}

// A status that fits into an exit code and is not 0.
static int exit_code(int64_t status)
{
    return (status & 0xff) ? (int)(status & 0xff) : 1;
}

static void name_rank(const mlt_watch *w, const proc *p, int32_t rank, char *text, size_t size)
{
    if (rank >= 0)
        snprintf(text, size, "rank %d", rank);
    else
        mlt_plan_name(w->conf.plan, (uint32_t)(p - w->procs), text, size);
}

// ---- Hang reports

static void print_hang(mlt_watch *w)
{
    const mlt_plan *plan = w->conf.plan;
    for (uint32_t i = 0; w->purpose != FOR_DEADLOCK && i < plan->workers; i++) {
        uint32_t first, ranks = mlt_plan_ranks_of(plan, i, &first);
        if (w->moves[i])
            mlt_hang_moves(w->hang, first, ranks);
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    if (w->purpose == FOR_DEADLOCK)
        fprintf(out, "%s: deadlock: every %s, and nothing is on its way\n", mlt_say_name(),
                mlt_hang_has_procs(w->hang) ? "rank and process that is left is blocked"
                                            : "rank that is left is blocked in MPI");
    else if (w->purpose == FOR_TIMEOUT)
        fprintf(out, "%s: the time limit of %g s is over; the ranks are here:\n", mlt_say_name(),
                w->conf.options->timeout_s);
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
    const char *why = w->purpose == FOR_DEADLOCK  ? "deadlock"
                      : w->purpose == FOR_TIMEOUT ? "time limit"
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

static void finish_collecting(mlt_watch *w)
{
    if (w->purpose == FOR_NOBODY)
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
    purpose why = w->purpose;
    w->purpose = FOR_NOBODY;
    if (why == FOR_SIGNAL)
        return;
    if (why == FOR_DEADLOCK)
        verdict(w, MLT_EXIT_DEADLOCK, "the job was ended because of the deadlock");
    else
        verdict(w, MLT_EXIT_TIMEOUT, "the job was ended after the time limit of %g s",
                w->conf.options->timeout_s);
    if (w->conf.adopted)
        end_soon(w, words_ns);
    else
        end_by(w);
}

static void collect(mlt_watch *w, purpose why)
{
    if (w->purpose != FOR_NOBODY) {
        if (why > w->purpose)
            w->purpose = why;
        return;
    }
    w->purpose = why;
    w->hang = mlt_hang_new(w->conf.plan->ranks);
    w->moves = mlt_take(w->conf.plan->workers, sizeof *w->moves);
    w->open_answers = 0;
    for (uint32_t h = 0; h < w->conf.plan->host_count; h++) {
        w->hosts[h].stated = w->hosts[h].lost;
        w->open_answers += !w->hosts[h].lost;
    }
    w->collect_until = mlt_os_now_ns() + collect_ns;
    set_timer(w);
    command(w, MLT_FRAME_ASK, 0, 0); // this host's answer may come at once
}

// What the workers of a host do: a state each.
static void take_states(mlt_watch *w, uint32_t from, const char *body, size_t length)
{
    const mlt_plan *plan = w->conf.plan;
    size_t count = length / sizeof(mlt_frame_state), next = 0;
    if (w->purpose == FOR_NOBODY || w->hosts[from].stated)
        return;
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const mlt_plan_proc *on = &plan->procs[p];
        for (uint32_t i = 0; on->host == from && i < on->workers && next < count; i++, next++) {
            mlt_frame_state state;
            uint32_t first, ranks = mlt_plan_ranks_of(plan, on->first_worker + i, &first);
            memcpy(&state, body + next * sizeof state, sizeof state);
            if (state.state < MLT_HANG_BLOCKED)
                mlt_hang_set(w->hang, first, ranks, (mlt_hang_state)state.state);
            w->moves[on->first_worker + i] = !state.stands;
        }
    }
    w->hosts[from].stated = true;
    if (--w->open_answers == 0)
        finish_collecting(w);
}

static void report_now(mlt_watch *w)
{
    if (w->ending)
        return;
    if (w->attached)
        collect(w, FOR_SIGNAL);
    else
        mlt_say("no rank uses MPI so far; %u of %u processes run", w->living,
                w->conf.plan->proc_count);
}

// Spawned jobs are told to end, and get some time for it.
static void hurry_kin(mlt_watch *w)
{
    if (w->conf.kin && mlt_kin_living(w->conf.kin) && !w->kin_until)
        w->kin_until = mlt_os_now_ns() + kin_ns;
    set_timer(w);
}

static void time_over(mlt_watch *w)
{
    w->timeout_at = 0;
    if (w->conf.kin)
        mlt_kin_time_over(w->conf.kin, w->conf.options->timeout_s);
    hurry_kin(w);
    if (w->attached) {
        collect(w, FOR_TIMEOUT);
        return;
    }
    verdict(w, MLT_EXIT_TIMEOUT, "the job was ended after the time limit of %g s",
            w->conf.options->timeout_s);
    end_by(w);
}

// The more hosts answer, the less often they are asked: an idle job costs nearly nothing.
static uint64_t look_pause(const mlt_watch *w)
{
    uint64_t pause = look_every_ns * (1 + w->conf.plan->host_count / HOSTS_A_LOOK);
    return pause < look_rarely_ns ? pause : look_rarely_ns;
}

// Both are asked of all hosts: the second look begins when the first has ended everywhere.
static void begin_look(mlt_watch *w, uint64_t now)
{
    w->look_at = now + look_pause(w);
    if (w->purpose != FOR_NOBODY || w->open_looks > 0)
        return;
    w->sum = (mlt_job_look){.quiet = true};
    for (uint32_t h = 0; h < w->conf.plan->host_count; h++) {
        w->hosts[h].looked = w->hosts[h].lost;
        w->open_looks += !w->hosts[h].lost;
    }
    command(w, MLT_FRAME_LOOK, 0, ++w->look_number);
}

// Somebody may change what a rank does, and let it go on.
static bool is_debugged(const mlt_watch *w)
{
    int64_t rank = w->conf.options->gdb;
    return rank >= 0 && !w->procs[mlt_plan_proc_of(w->conf.plan, (uint32_t)rank)].gone;
}

static void judge_look(mlt_watch *w)
{
    mlt_job_look look = w->sum;
    bool same = look.quiet && w->look.quiet && look.epochs == w->look.epochs &&
                look.in_flight == w->look.in_flight && look.ended == w->look.ended;
    w->equal_looks = !look.quiet || !look.asleep ? 0 : same ? w->equal_looks + 1 : 1;
    w->look = look;
    int enough = look.in_flight == 0 ? LOOKS_PROVEN : look.ended ? LOOKS_ENDED : LOOKS_FAULT;
    if (w->ending || w->purpose != FOR_NOBODY || (w->conf.adopted && w->straggler_at))
        return; // or the others wait for one that has failed, and are about to be ended
    if (w->equal_looks >= enough && !is_debugged(w))
        collect(w, FOR_DEADLOCK);
    else if (look.quiet && look.asleep && look.in_flight == 0)
        w->look_at = mlt_os_now_ns() + look_again_ns;
    set_timer(w);
}

static void take_look(mlt_watch *w, const mlt_frame *frame, const char *body)
{
    mlt_job_look look;
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
        judge_look(w);
}

// ---- What people outside want to see

void mlt_watch_live(mlt_watch *w, mlt_live *live)
{
    w->live = live;
}

void mlt_watch_ask_live(mlt_watch *w, int64_t number, bool *answers)
{
    for (uint32_t h = 0; h < w->conf.plan->host_count; h++)
        answers[h] = w->hosts[h].ready && !w->hosts[h].lost;
    command(w, MLT_FRAME_LIVE, 0, number);
}

// ---- What processes say

static void take_exit(mlt_watch *w, proc *p, const mlt_ctl *head)
{
    char who[64];
    name_rank(w, p, head->rank, who, sizeof who);
    p->told = true;
    if (head->detail == 1 && head->value == 0) {
        verdict(w, MLT_EXIT_FAILED, "%s on host %s ended without calling MPI_Finalize", who,
                host_of(w, p));
        end_by_failure(w);
    } else if (head->detail == 1) {
        verdict(w, exit_code(head->value),
                "%s on host %s ended with exit status %lld before MPI_Finalize", who, host_of(w, p),
                (long long)head->value);
        end_by_failure(w);
    } else if (head->value != 0) {
        bool alone = w->conf.plan->procs[p - w->procs].ranks == 1;
        fail_alone(w, p, who, exit_code(head->value),
                   head->detail == 2 || (alone && !p->initialised));
    }
}

static void take_abort(mlt_watch *w, proc *p, const mlt_ctl *head, const char *text)
{
    char who[64];
    name_rank(w, p, head->rank, who, sizeof who);
    p->told = true;
    if (!*text)
        verdict(w, exit_code(head->value), "%s on host %s called MPI_Abort with code %lld", who,
                host_of(w, p), (long long)head->value);
    else if (strncmp(text, "called ", 7) == 0)
        verdict(w, exit_code(head->value), "%s on host %s %s", who, host_of(w, p), text);
    else
        verdict(w, exit_code(head->value), "%s on host %s: %s", who, host_of(w, p), text);
    end_by_failure(w);
}

static void take_crash(mlt_watch *w, proc *p, const mlt_ctl *head, const char *text)
{
    char who[64];
    name_rank(w, p, head->rank, who, sizeof who);
    p->told = p->crashed = true;
    int signal = head->value > 0 && head->value < NSIG ? (int)head->value : SIGKILL;
    verdict(w, 128 + signal, "%s on host %s was killed by signal %d (%s)%s%s", who, host_of(w, p),
            signal, strsignal(signal), *text ? "\n" : "", text);
    end_by_failure(w);
}

static void take_waits(mlt_watch *w, const mlt_ctl *head, const void *body)
{
    if (w->purpose == FOR_NOBODY || head->detail >= w->conf.plan->workers)
        return; // an answer that came too late
    w->collect_until = mlt_os_now_ns() + collect_ns;
    set_timer(w);
    if (head->type == MLT_CTL_WAITS) {
        mlt_hang_add(w->hang, body, head->length / sizeof(mlt_ctl_wait));
        return;
    }
    if (head->type == MLT_CTL_JOBS) {
        mlt_hang_add_jobs(w->hang, body, head->length / sizeof(mlt_ctl_job));
        return;
    }
    uint32_t first, ranks = mlt_plan_ranks_of(w->conf.plan, head->detail, &first);
    if (head->type == MLT_CTL_PROCS)
        mlt_hang_add_procs(w->hang, first, ranks, body, head->length);
}

static void take_hello(mlt_watch *w, proc *p)
{
    if (!p->attached)
        w->attached++;
    p->attached = true;
    if (!w->look_at && !w->ending)
        w->look_at = mlt_os_now_ns() + look_every_ns;
    if (w->failed_early && !w->straggler_at && !w->ending)
        w->straggler_at = mlt_os_now_ns() + straggler_ns;
    set_timer(w);
}

// For a line of ours: a damaged process shall not talk to the terminal.
static void make_fit(char *text)
{
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
}

static void make_lines_fit(char *text)
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

static void take_note(mlt_watch *w, proc *p, const mlt_ctl *head, char *body)
{
    make_fit(body);
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
// left"): the other one only sees that the connection is gone.
static void take_lost(mlt_watch *w, proc *p, const mlt_ctl *head, const char *text)
{
    static const char own[] = "this process ";
    bool is_reason = strncmp(text, own, sizeof own - 1) == 0 && !w->has_reason;
    if ((w->lost && !is_reason) || w->ending || head->value < 0 ||
        head->value >= w->conf.plan->proc_count)
        return;
    char who[64], other[64];
    const proc *peer = &w->procs[head->value];
    name_rank(w, p, -1, who, sizeof who);
    name_rank(w, peer, -1, other, sizeof other);
    w->has_reason = is_reason;
    free(w->lost);
    w->lost = mlt_text_of("%s on host %s has lost its connection to %s on host %s: %s", who,
                          host_of(w, p), other, host_of(w, peer), text);
    w->lost_at = mlt_os_now_ns() + lost_ns;
    set_timer(w);
}

// A connection between hosts cannot be made; the text says what was tried. Or another job is lost,
// with which this one is connected: is_reason if it is known that it has ended.
static void take_unlinked(mlt_watch *w, const char *text, bool is_reason)
{
    if ((w->lost && (!is_reason || w->has_reason)) || w->ending)
        return;
    w->has_reason |= is_reason;
    free(w->lost);
    w->lost = mlt_text_of("%s", text);
    w->lost_at = mlt_os_now_ns() + (w->kin_failed ? kin_lost_ns : lost_ns);
    set_timer(w);
}

void mlt_watch_kin_fails(mlt_watch *w)
{
    w->kin_failed = true;
    if (w->lost_at)
        w->lost_at = mlt_os_now_ns() + kin_lost_ns;
    set_timer(w);
}

static void end_lost(mlt_watch *w)
{
    if (w->conf.adopted && w->finalised)
        return;
    verdict(w, MLT_EXIT_SYSTEM, "%s", w->lost);
    end_by(w);
}

static void take_init(mlt_watch *w, proc *p)
{
    if (p->initialised)
        return;
    p->initialised = true;
    if (++w->initialised == w->conf.plan->proc_count && w->conf.born && !w->ending)
        w->conf.born(w->conf.user);
}

static void take_final(mlt_watch *w, proc *p)
{
    if (p->finalised)
        return;
    p->finalised = true;
    if (++w->finalised == w->conf.plan->proc_count && w->conf.finalised)
        w->conf.finalised(w->conf.user);
}

// `body` is head->length bytes and a NUL.
static void take_packet(mlt_watch *w, proc *p, const mlt_ctl *head, char *body)
{
    mlt_report *report = w->conf.report;
    switch (head->type) {
    case MLT_CTL_HELLO:
        take_hello(w, p);
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
        make_fit(body);
        if (w->live)
            mlt_live_changed(w->live, (uint32_t)head->value, head->detail != 0, body);
        break;
    case MLT_CTL_LOST:
        make_fit(body);
        take_lost(w, p, head, body);
        break;
    case MLT_CTL_LOST_JOB:
        make_fit(body);
        take_unlinked(w, body, false);
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
        take_waits(w, head, body);
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
    default: // a newer library; not for us
        break;
    }
}

// ---- Ends of processes

// `calls`: the last ones of its ranks, lines.
static void judge_end(mlt_watch *w, proc *p, int status, char *calls)
{
    char who[64];
    name_rank(w, p, -1, who, sizeof who);
    if (w->ending || p->crashed)
        return;
    if (status == MLT_FRAME_UNKNOWN) { // its launcher knows, and will say so
        if (p->told || !p->initialised || p->finalised)
            return;
        verdict(w, MLT_EXIT_FAILED, "%s on host %s ended without calling MPI_Finalize", who,
                host_of(w, p));
        end_by_failure(w);
        return;
    }
    if (WIFSIGNALED(status)) {
        int signal = WTERMSIG(status);
        make_lines_fit(calls);
        trim_lines(calls);
        verdict(w, 128 + signal, "%s on host %s was killed by signal %d (%s)%s%s%s", who,
                host_of(w, p), signal, strsignal(signal), WCOREDUMP(status) ? "; core dumped" : "",
                *calls ? "\n" : "", calls);
        end_by_failure(w);
        return;
    }
    int code = WEXITSTATUS(status);
    if (p->told)
        return;
    if (p->initialised && !p->finalised) {
        verdict(w, code ? code : MLT_EXIT_FAILED,
                "%s on host %s ended with exit status %d without calling MPI_Finalize", who,
                host_of(w, p), code);
        end_by_failure(w);
    } else if (code) {
        fail_alone(w, p, who, code, !p->finalised);
    } else if (is_unborn(w) && !p->initialised) {
        verdict(w, MLT_EXIT_FAILED,
                "%s on host %s ended without calling MPI_Init, so it cannot be connected with the "
                "job that spawns it",
                who, host_of(w, p));
        end_by(w);
    } else if (p->attached && !p->done && w->conf.plan->procs[p - w->procs].ranks > 1) {
        verdict(w, MLT_EXIT_FAILED,
                "%s on host %s ended with exit status 0 before all its ranks had ended; where "
                "ranks share a process, none may end or replace it",
                who, host_of(w, p));
        end_by_failure(w);
    }
}

static void take_end(mlt_watch *w, proc *p, int status, uint64_t peak, char *calls)
{
    if (p->gone)
        return;
    forget(w, p);
    if (w->conf.report)
        mlt_report_ended(w->conf.report, peak);
    judge_end(w, p, status, calls);
}

static void reap(mlt_watch *w)
{
    int status;
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
        if ((!w->agent || !mlt_agent_reaped(w->agent, pid, status, &usage)) &&
            (!w->crew || !mlt_crew_reaped(w->crew, pid, status)) && w->conf.kin)
            (void)mlt_kin_reaped(w->conf.kin, pid, status);
}

// Its mpirun has said why it failed, if it could.
void mlt_watch_kin_ended(mlt_watch *w, const char *job, int code, int signal)
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
    if (w->conf.kin && !w->ending)
        mlt_kin_spawn(w->conf.kin, frame->from, frame->about, frame->value, body, frame->length);
}

// ---- What agents tell

static void begin(mlt_watch *w)
{
    if (w->ending || w->begun)
        return;
    w->begun = true;
    command(w, MLT_FRAME_START, 0, w->mixed);
    if (w->conf.io)
        mlt_io_run(w->conf.io);
}

// On a terminal, while it takes long.
static void show_progress(mlt_watch *w)
{
    uint32_t all = w->conf.plan->host_count;
    char line[160];
    const char *more = w->conf.progress ? w->conf.progress(w->conf.user) : "";
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
    w->tick_at = over ? 0 : mlt_os_now_ns() + tick_ns;
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

// No body: this host.
static void take_ready(mlt_watch *w, uint32_t from, const char *body, size_t length)
{
    mlt_frame_ready about;
    if (w->hosts[from].ready)
        return;
    w->hosts[from].ready = true;
    if (length == sizeof about) {
        memcpy(&about, body, sizeof about);
        compare_types(w, about.types);
        if (w->conf.report)
            mlt_report_add_cores(w->conf.report, about.cores);
    } else {
        mlt_greet_types own = mlt_greet_types_here();
        compare_types(w, &own);
    }
    if (--w->waiting > 0)
        return;
    begin(w);
    if (w->shows)
        show_progress(w);
}

// A host's part of the job cannot run, or not all of it.
static void take_failed(mlt_watch *w, uint32_t at, int64_t code, char *text)
{
    const mlt_host *where = &w->conf.plan->hosts[at].host;
    if (!w->ending && where->here)
        mlt_say("%s", text);
    else if (!w->ending)
        mlt_say("host %s: %s", where->name, text);
    forget_all(w, at, false);
    if (!w->code && !w->interrupted)
        w->code = code > 0 && code < 256 ? (int)code : MLT_EXIT_SYSTEM;
    end_job(w, SIGTERM, SIGTERM, grace_ns);
}

// Launchers may kill an agent when the last process of its host ends. If ranks have left
// MPI_Finalize, which all enter first, that is nobody's loss; if none has, one may in a moment.
static void miss_host(mlt_watch *w, uint32_t at, const char *text)
{
    if (w->finalised || w->lost)
        return;
    w->lost = mlt_text_of("host %s %s", w->conf.plan->hosts[at].host.name, text);
    w->lost_at = mlt_os_now_ns() + lost_ns;
    set_timer(w);
}

// The agent of a host is gone, and with it all processes there.
static void take_host_lost(mlt_watch *w, uint32_t at, const char *text)
{
    host *h = &w->hosts[at];
    if (h->lost)
        return;
    h->lost = true;
    if (!w->ending && *text && w->conf.adopted) {
        miss_host(w, at, text);
    } else if (!w->ending && *text) {
        verdict(w, MLT_EXIT_SYSTEM, "host %s %s", w->conf.plan->hosts[at].host.name, text);
        end_by(w);
    }
    forget_all(w, at, true);
    if (w->conf.io)
        mlt_io_host_ended(w->conf.io, at);
    if (w->purpose != FOR_NOBODY && !h->stated && --w->open_answers == 0)
        finish_collecting(w);
    if (w->open_looks > 0 && !h->looked && --w->open_looks == 0)
        judge_look(w);
    h->stated = h->looked = true;
    if (w->live)
        mlt_live_lost(w->live, at);
}

static void take_started(mlt_watch *w, proc *p, int64_t pid, const char *where)
{
    char who[64];
    uint32_t index = (uint32_t)(p - w->procs);
    if (p->running || p->gone)
        return;
    p->running = true;
    w->missing--;
    w->living++;
    name_rank(w, p, -1, who, sizeof who);
    if (w->conf.options->verbose)
        mlt_say("%s: process %lld on %s, on %s: %s", who, (long long)pid, host_of(w, p), where,
                w->conf.options->apps[w->conf.plan->procs[index].app].argv[0]);
}

static void take_ctl(mlt_watch *w, proc *p, char *body, size_t length)
{
    mlt_ctl head;
    if (length < sizeof head)
        return;
    memcpy(&head, body, sizeof head);
    if (head.length != length - sizeof head)
        return;
    char *aligned = NULL; // from another host it is where the channel has it
    if ((uintptr_t)body % _Alignof(max_align_t)) {
        aligned = mlt_take(length + 1, 1);
        memcpy(aligned, body, length);
        body = aligned;
    }
    take_packet(w, p, &head, body + sizeof head);
    free(aligned);
}

// Of a process, which belongs to the host that tells it.
static void take_of_proc(mlt_watch *w, const mlt_frame *frame, char *body)
{
    proc *p = &w->procs[frame->about];
    uint64_t peak = 0;
    switch (frame->type) {
    case MLT_FRAME_STARTED:
        make_fit(body);
        take_started(w, p, frame->value, body);
        break;
    case MLT_FRAME_CTL:
        take_ctl(w, p, body, frame->length);
        break;
    case MLT_FRAME_ENDED:
        if (frame->length < sizeof peak)
            break;
        memcpy(&peak, body, sizeof peak);
        take_end(w, p, (int)frame->value, peak, body + sizeof peak);
        break;
    case MLT_FRAME_UNLINKED:
        take_unlinked(w, body, frame->value < 0);
        break;
    case MLT_FRAME_SPAWN:
        take_spawn(w, frame, body);
        break;
    case MLT_FRAME_OUTPUT:
    case MLT_FRAME_ROOM:
        if (w->conf.io)
            mlt_io_take(w->conf.io, frame, body);
        break;
    default:
        break;
    }
}

void mlt_watch_take(void *user, const mlt_frame *frame, char *body)
{
    mlt_watch *w = user;
    const mlt_plan *plan = w->conf.plan;
    if (frame->from >= plan->host_count)
        return;
    bool of_host = frame->about < plan->host_count;
    if (frame->type == MLT_FRAME_SAY || frame->type == MLT_FRAME_FAILED ||
        frame->type == MLT_FRAME_LOST || frame->type == MLT_FRAME_UNLINKED)
        make_lines_fit(body);
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
        take_look(w, frame, body);
        break;
    case MLT_FRAME_CALLS:
        make_lines_fit(body);
        if (w->purpose != FOR_NOBODY && !w->hosts[frame->from].stated)
            mlt_text_add(&w->calls, "%s", body);
        break;
    case MLT_FRAME_STATES:
        take_states(w, frame->from, body, frame->length);
        break;
    case MLT_FRAME_LIVED:
        if (w->live)
            mlt_live_take(w->live, frame->from, frame->value, body, frame->length);
        break;
    default:
        if (frame->about < plan->proc_count && plan->procs[frame->about].host == frame->from)
            take_of_proc(w, frame, body);
        break;
    }
}

// ---- Signals and time

static void signal_kin(mlt_watch *w, int signal, bool from_keyboard)
{
    if (w->conf.kin && !from_keyboard) // the keyboard's have reached them
        mlt_kin_signal(w->conf.kin, signal);
}

static void interrupt(mlt_watch *w, int signal, bool from_keyboard)
{
    signal_kin(w, signal, from_keyboard);
    hurry_kin(w);
    if (w->agent)
        mlt_agent_hear(w->agent);
    if (w->ending) { // the second one
        kill_all(w, true);
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
    end_job(w, from_keyboard ? 0 : sent, sent, polite_grace_ns);
}

static void stop(mlt_watch *w, bool from_keyboard)
{
    command_others(w, MLT_FRAME_STOP, 0, 0);
    if (w->crew) // agents that have not heard of it would take the silence for mpirun's end
        mlt_crew_flush(w->crew, last_words_ms);
    if (!from_keyboard)
        command_own(w, MLT_FRAME_STOP, 0, 0);
    signal_kin(w, SIGTSTP, from_keyboard);
    uint64_t before = mlt_os_now_ns();
    (void)kill(getpid(), SIGSTOP); // until SIGCONT
    uint64_t slept = mlt_os_now_ns() - before;
    uint64_t *times[] = {&w->kill_at,    &w->crash_kill_at, &w->straggler_at,  &w->give_up_at,
                         &w->timeout_at, &w->look_at,       &w->collect_until, &w->lost_at,
                         &w->tick_at,    &w->kin_until};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (*times[i])
            *times[i] += slept;
    if (w->crew)
        mlt_crew_woke(w->crew);
    set_timer(w);
}

static void signals_ready(mlt_source *source, uint32_t events)
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
            reap(w);
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
            signal_kin(w, signal, keyboard);
            report_now(w);
            break;
        case SIGTSTP:
            stop(w, from_keyboard);
            break;
        default: // USR1, USR2, CONT
            signal_kin(w, signal, false);
            command(w, MLT_FRAME_SIGNAL, 1, signal);
            break;
        }
    }
}

// What they have on other hosts ends with the channels of their agents.
static void kill_kin(mlt_watch *w)
{
    if (!w->conf.kin)
        return;
    mlt_kin_close(w->conf.kin);
    mlt_kin_signal(w->conf.kin, SIGKILL);
}

static void timer_ready(mlt_source *source, uint32_t events)
{
    mlt_watch *w = mlt_container_of(source, mlt_watch, timer);
    uint64_t count, now = mlt_os_now_ns();
    (void)!read(source->fd, &count, sizeof count);
    if (mlt_loop_due(&w->kill_at, now))
        kill_all(w, false);
    if (mlt_loop_due(&w->crash_kill_at, now))
        kill_all(w, true);
    if (mlt_loop_due(&w->straggler_at, now))
        end_by(w);
    if (mlt_loop_due(&w->timeout_at, now))
        time_over(w);
    if (mlt_loop_due(&w->collect_until, now))
        finish_collecting(w);
    if (mlt_loop_due(&w->look_at, now))
        begin_look(w, now);
    if (mlt_loop_due(&w->lost_at, now))
        end_lost(w);
    if (mlt_loop_due(&w->tick_at, now))
        show_progress(w);
    if (mlt_loop_due(&w->kin_until, now))
        kill_kin(w);
    set_timer(w);
}

void mlt_watch_time_over(mlt_watch *w)
{
    if (!w->ending)
        time_over(w);
}

// Nobody is left to tell.
void mlt_watch_abandon(mlt_watch *w)
{
    w->interrupted = SIGKILL;
    end_job(w, SIGKILL, SIGKILL, 0);
    kill_all(w, true);
    kill_kin(w);
}

// The guard, which the caller knows as mpirun, was killed.
static void guard_gone(mlt_source *source, uint32_t events)
{
    mlt_watch *w = mlt_container_of(source, mlt_watch, guard);
    mlt_loop_remove(w->conf.loop, source);
    mlt_watch_abandon(w);
}

// ---- The whole

mlt_watch *mlt_watch_new(const mlt_watch_conf *conf)
{
    mlt_watch *w = mlt_take(1, sizeof *w);
    w->conf = *conf;
    w->procs = mlt_take(conf->plan->proc_count, sizeof *w->procs);
    w->hosts = mlt_take(conf->plan->host_count, sizeof *w->hosts);
    w->missing = conf->plan->proc_count;
    w->waiting = conf->plan->host_count;
    w->signals = (mlt_source){.fd = conf->signal_fd, .ready = signals_ready};
    w->timer = (mlt_source){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                            .ready = timer_ready};
    if (w->timer.fd < 0 || !mlt_loop_add(conf->loop, &w->signals, EPOLLIN) ||
        !mlt_loop_add(conf->loop, &w->timer, EPOLLIN))
        mlt_quit(MLT_EXIT_SYSTEM, "cannot wait for events: %s", strerror(errno));
    w->guard = (mlt_source){.fd = conf->guard_fd, .ready = guard_gone};
    if (conf->guard_fd >= 0 && !mlt_loop_add(conf->loop, &w->guard, EPOLLIN))
        mlt_quit(MLT_EXIT_SYSTEM, "cannot wait for events: %s", strerror(errno));
    if (conf->options->timeout_s > 0)
        w->timeout_at = mlt_os_now_ns() + (uint64_t)(conf->options->timeout_s * 1e9);
    set_timer(w);
    return w;
}

void mlt_watch_join(mlt_watch *w, mlt_agent *agent, mlt_crew *crew)
{
    w->agent = agent;
    w->crew = crew;
    if (crew) {
        w->tick_at = mlt_os_now_ns() + tick_ns;
        set_timer(w);
    }
    for (uint32_t h = 0; h < w->conf.plan->host_count; h++)
        if (w->conf.plan->hosts[h].host.here)
            take_ready(w, h, NULL, 0);
}

static void errors_ready(mlt_source *source, uint32_t events)
{
    mlt_say_go_on();
}

static void wait_for_room(mlt_watch *w)
{
    if (!mlt_say_waits()) {
        mlt_loop_remove(w->conf.loop, &w->errors);
        return;
    }
    if (!w->errors.added) {
        w->errors = (mlt_source){.fd = mlt_say_fd(), .ready = errors_ready};
        (void)mlt_loop_add(w->conf.loop, &w->errors, EPOLLOUT);
    }
}

static void turn(mlt_watch *w)
{
    wait_for_room(w);
    mlt_loop_turn(w->conf.loop);
}

// What agents have sent and mpirun's reader has not read yet holds them up: they are not late.
static void note_output(const mlt_watch *w, uint64_t patience_ns, uint64_t *until)
{
    if (w->conf.io && mlt_io_writes(w->conf.io))
        *until = mlt_os_now_ns() + patience_ns;
}

// Tells the other agents that all is over, and waits for their end: they have sent all output and
// swept their hosts then.
static void dismiss(mlt_watch *w)
{
    if (!w->crew)
        return;
    if (w->conf.io && w->interrupted)
        mlt_io_hurry(w->conf.io);
    uint64_t patience_ns = w->code || w->interrupted ? bye_ns : output_ns;
    uint64_t until = mlt_os_now_ns() + patience_ns;
    w->ending = true;
    w->look_at = w->timeout_at = w->straggler_at = w->lost_at = w->give_up_at = 0;
    w->tick_at = until; // a turn ends then
    command_others(w, MLT_FRAME_BYE, 0, 0);
    mlt_crew_end(w->crew);
    for (set_timer(w); mlt_crew_busy(w->crew) && mlt_os_now_ns() < until; turn(w))
        note_output(w, patience_ns, &until);
    w->tick_at = 0;
    mlt_crew_kill(w->crew);
}

// Killed, but not gone: the kernel holds them up, or their host does not answer.
static void say_left(const mlt_watch *w)
{
    char who[64];
    const proc *p = w->procs;
    uint32_t others = w->living + w->missing - 1;
    while (p->gone)
        p++;
    name_rank(w, p, -1, who, sizeof who);
    if (others == 0)
        mlt_say("%s on host %s does not end though it was killed; leaving it", who, host_of(w, p));
    else
        mlt_say("%s on host %s and %u more process%s do not end though they were killed; leaving "
                "them",
                who, host_of(w, p), others, others == 1 ? "" : "es");
}

// Jobs that were spawned and live on. What ended this one has been told to them, or they have
// disconnected from it; signals and the time limit hold for them, too.
static void await_kin(mlt_watch *w)
{
    say_verdict(w);
    w->look_at = w->straggler_at = w->lost_at = 0;
    if (w->conf.adopted && w->code) { // its launcher, perhaps, of which kin know nothing
        signal_kin(w, SIGTERM, false);
        hurry_kin(w);
    }
    set_timer(w);
    while (w->conf.kin && mlt_kin_living(w->conf.kin))
        turn(w);
}

int mlt_watch_run(mlt_watch *w)
{
    reap(w);
    while (w->living + w->missing > 0) {
        if (w->give_up_at && mlt_os_now_ns() > w->give_up_at) {
            say_left(w);
            break;
        }
        turn(w);
    }
    await_kin(w);
    dismiss(w);
    mlt_loop_remove(w->conf.loop, &w->errors);
    mlt_sweep();
    if (w->purpose != FOR_NOBODY) // the last rank ended meanwhile
        finish_collecting(w);
    say_verdict(w);
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

void mlt_watch_free(mlt_watch *w)
{
    mlt_loop_remove(w->conf.loop, &w->signals);
    mlt_loop_remove(w->conf.loop, &w->timer);
    mlt_loop_remove(w->conf.loop, &w->guard);
    close(w->timer.fd);
    mlt_hang_free(w->hang);
    mlt_text_free(&w->calls);
    free(w->moves);
    free(w->said);
    free(w->lost);
    free(w->sentence);
    free(w->procs);
    free(w->hosts);
    free(w);
}
