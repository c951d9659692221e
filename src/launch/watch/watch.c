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
// Ending means SIGTERM, then SIGKILL to processes that are left after the grace. One timer serves
// all deadlines; each is a monotonic time, 0 if there is none.
#include "launch/watch/watch.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "boot/ctl.h"
#include "launch/guard.h"
#include "launch/loop.h"
#include "launch/numbers.h"
#include "launch/plan/hosts.h"
#include "launch/program/libraries.h"
#include "launch/say.h"
#include "launch/sweep.h"
#include "launch/watch/hang.h"
#include "os/os.h"

#define MS UINT64_C(1000000)

static const uint64_t look_every_ns = 250 * MS, look_again_ns = 50 * MS;
static const uint64_t grace_ns = 250 * MS, polite_grace_ns = 2000 * MS;
static const uint64_t crash_grace_ns = 900 * MS; // a crashed process may be writing its core file
static const uint64_t straggler_ns = 1000 * MS;
static const uint64_t collect_ns = 2000 * MS;
static const uint64_t give_up_ns = 5000 * MS;
static const int last_words_ms = 500;
static const uint64_t peek_ns = 250 * MS; // then after 0.5, 1 and 2 s more
enum { MOST_PEEKS = 4 };

// Equal quiet looks, one after the other, that prove a deadlock.
enum {
    LOOKS_PROVEN = 2, // nothing is in flight
    LOOKS_ENDED = 8,  // some worker has ended: messages to it stay in flight for ever
    LOOKS_FAULT = 40, // 10 s; only a fault of ours could do that, and it should be seen
};
enum { STOP_GRACE_US = 20000 };

typedef enum purpose { FOR_NOBODY, FOR_SIGNAL, FOR_TIMEOUT, FOR_DEADLOCK } purpose;

typedef struct proc {
    mlt_source ctl; // fd -1: closed
    mlt_watch *watch;
    pid_t pid;     // 0: not started, or gone
    pid_t mpi_pid; // of the process that attached; 0: none, or the system does not say
    int mpi_fd;    // pidfd of that process, if it is not `pid` but was started by it; else -1
    bool attached, initialised, finalised;
    bool done;    // all its ranks have ended, if it has several
    bool told;    // how it ended (or ends) has been said by itself
    bool crashed; // by a signal, said by itself
} proc;

struct mlt_watch {
    mlt_watch_conf conf;
    mlt_source signals, timer;
    mlt_source guard;  // at its end: the guard was killed
    mlt_source errors; // standard error, while something waits for room there
    proc *procs;
    uint32_t living, attached;
    bool failed_early; // a process failed before anybody used MPI
    bool noted;        // a note of a process has been said; others will say the same

    int code;       // the verdict; 0: none so far
    char *sentence; // the message, printed at the end
    uint32_t more;  // ranks that failed like that one

    bool ending, killed;
    int interrupted; // the signal that ended the job
    uint64_t kill_at, crash_kill_at, straggler_at, give_up_at, timeout_at, look_at;
    uint64_t peek_at; // next look for ranks that run another MPI
    int peeks;

    mlt_job_look look;
    int equal_looks;
    uint32_t *epochs; // [workers] at the last look
    bool *stands;     // [workers] it has slept in that epoch for two looks

    purpose purpose; // of the hang report that is being collected
    uint64_t collect_until;
    mlt_hang *hang;
    bool *answered; // [workers]
    bool *told;     // [workers] it has said what its processes do
    uint32_t open_answers;

    _Alignas(16) char packet[sizeof(mlt_ctl) + MLT_CTL_MAX_BODY + 1];
};

// ---- Verdict and end

static void set_timer(mlt_watch *w)
{
    const uint64_t times[] = {w->kill_at,    w->crash_kill_at, w->straggler_at,  w->give_up_at,
                              w->timeout_at, w->look_at,       w->collect_until, w->peek_at};
    uint64_t next = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i] && (!next || times[i] < next))
            next = times[i];
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(next / 1000000000), .tv_nsec = (long)(next % 1000000000)}};
    (void)timerfd_settime(w->timer.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void signal_proc(const proc *p, int signal)
{
    if (!p->pid)
        return;
    // A script's signal is meant for the MPI program that it started, unless all shall end.
    bool behind = p->mpi_fd >= 0 && syscall(SYS_pidfd_send_signal, p->mpi_fd, signal, NULL, 0) == 0;
    if (!behind || signal == SIGKILL || signal == SIGTSTP || signal == SIGSTOP || signal == SIGCONT)
        (void)kill(p->pid, signal);
}

static void signal_all(mlt_watch *w, int signal)
{
    for (uint32_t p = 0; p < w->conf.plan->proc_count; p++)
        signal_proc(&w->procs[p], signal);
}

static void kill_all(mlt_watch *w, bool crashed_too)
{
    for (uint32_t p = 0; p < w->conf.plan->proc_count; p++)
        if (crashed_too || !w->procs[p].crashed)
            signal_proc(&w->procs[p], SIGKILL);
    w->kill_at = 0;
    if (crashed_too)
        w->crash_kill_at = 0;
    w->killed = true;
    if (!w->give_up_at)
        w->give_up_at = mlt_os_now_ns() + give_up_ns;
    set_timer(w);
}

static void end_job(mlt_watch *w, int signal, uint64_t grace)
{
    if (w->ending)
        return;
    uint64_t now = mlt_os_now_ns();
    w->ending = true;
    w->look_at = w->timeout_at = w->straggler_at = w->peek_at = 0;
    w->kill_at = now + grace;
    w->crash_kill_at = now + (grace > crash_grace_ns ? grace : crash_grace_ns);
    if (signal)
        signal_all(w, signal);
    signal_all(w, SIGCONT); // a stopped process could not end
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
    free(w->sentence);
    w->sentence = NULL;
}

// A failure after which the others need not go on.
static void end_by(mlt_watch *w)
{
    say_verdict(w);
    end_job(w, SIGTERM, grace_ns);
}

// A failure that the others may survive; `early`: it was before MPI_Init, so they will not survive
// it for long.
static void fail_alone(mlt_watch *w, const char *who, int status, bool early)
{
    if (w->code)
        w->more++;
    verdict(w, status, "%s on host %s ended with exit status %d", who, mlt_hosts_own(), status);
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

// True if the worker sleeps, and only a message can wake it.
static bool sleeps(mlt_watch *w, uint32_t worker, uint32_t *epoch)
{
    mlt_job_worker *own = mlt_job_worker_at(w->conf.job, worker);
    // acquire: as in mlt_job_look_at.
    *epoch = atomic_load_explicit(&own->epoch, memory_order_acquire);
    uint32_t word = atomic_load_explicit(&own->asleep, memory_order_acquire);
    return (word & MLT_NAP_STATE) == MLT_WORKER_ASLEEP &&
           !atomic_load_explicit(&own->open, memory_order_acquire);
}

// Why a worker did not answer.
static mlt_hang_state unanswered(const mlt_watch *w, uint32_t index, uint32_t first, uint32_t ranks)
{
    const proc *p = &w->procs[mlt_plan_proc_of(w->conf.plan, first)];
    const mlt_job_worker *worker = mlt_job_worker_at(w->conf.job, index);
    uint32_t thread = atomic_load_explicit(&worker->thread, memory_order_relaxed);
    switch (mlt_os_state_of(p->mpi_pid ? p->mpi_pid : p->pid, thread, NULL)) {
    case 'T':
        return MLT_HANG_STOPPED;
    case 't':
        return MLT_HANG_TRACED;
    case 'R':
        return ranks > 1 ? MLT_HANG_BUSY : MLT_HANG_COMPUTING;
    default:
        return MLT_HANG_OUTSIDE;
    }
}

static void print_hang(mlt_watch *w)
{
    const mlt_plan *plan = w->conf.plan;
    for (uint32_t i = 0; i < plan->workers; i++) {
        mlt_job_worker *worker = mlt_job_worker_at(w->conf.job, i);
        // acquire: what the worker did before it ended or went to sleep is done.
        uint32_t asleep =
            atomic_load_explicit(&worker->asleep, memory_order_acquire) & MLT_NAP_STATE;
        uint32_t first, ranks = mlt_plan_ranks_of(plan, i, &first);
        mlt_hang_set(w->hang, first, ranks,
                     asleep == MLT_WORKER_ENDED    ? MLT_HANG_ENDED
                     : asleep == MLT_WORKER_UNBORN ? MLT_HANG_UNBORN
                     : w->answered[i]              ? MLT_HANG_RUNNING
                                                   : unanswered(w, i, first, ranks));
        if (w->purpose != FOR_DEADLOCK && !w->stands[i])
            mlt_hang_moves(w->hang, first, ranks);
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    if (w->purpose == FOR_DEADLOCK)
        fprintf(out, "mpirun: deadlock: every %s, and nothing is on its way\n",
                mlt_hang_has_procs(w->hang) ? "rank and process that is left is blocked"
                                            : "rank that is left is blocked in MPI");
    else if (w->purpose == FOR_TIMEOUT)
        fprintf(out, "mpirun: the time limit of %g s is over; the ranks are here:\n",
                w->conf.options->timeout_s);
    else
        fputs("mpirun: the ranks are here:\n", out);
    mlt_hang_print(w->hang, out);
    fclose(out);
    mlt_say_raw(text, size);
    free(text);
}

static void finish_collecting(mlt_watch *w)
{
    if (w->purpose == FOR_NOBODY)
        return;
    print_hang(w);
    mlt_hang_free(w->hang);
    free(w->answered);
    free(w->told);
    w->hang = NULL;
    w->answered = w->told = NULL;
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
    w->answered = mlt_take(w->conf.plan->workers, sizeof *w->answered);
    w->told = mlt_take(w->conf.plan->workers, sizeof *w->told);
    w->open_answers = 0;
    for (uint32_t i = 0; i < w->conf.plan->workers; i++) {
        mlt_job_worker *worker = mlt_job_worker_at(w->conf.job, i);
        uint32_t asleep = mlt_job_sleep_of(worker), epoch;
        w->stands[i] &= sleeps(w, i, &epoch) && epoch == w->epochs[i];
        w->open_answers += asleep != MLT_WORKER_ENDED && asleep != MLT_WORKER_UNBORN;
    }
    w->collect_until = mlt_os_now_ns() + collect_ns;
    mlt_job_ask(w->conf.job);
    if (w->open_answers == 0)
        finish_collecting(w);
    set_timer(w);
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

static void time_over(mlt_watch *w)
{
    w->timeout_at = 0;
    if (w->attached) {
        collect(w, FOR_TIMEOUT);
        return;
    }
    verdict(w, MLT_EXIT_TIMEOUT, "the job was ended after the time limit of %g s",
            w->conf.options->timeout_s);
    end_by(w);
}

static void note_sleepers(mlt_watch *w)
{
    for (uint32_t i = 0; i < w->conf.plan->workers; i++) {
        uint32_t epoch;
        bool asleep = sleeps(w, i, &epoch);
        w->stands[i] = asleep && epoch == w->epochs[i];
        w->epochs[i] = asleep ? epoch : epoch - 1; // of one that is awake nothing is known
    }
}

static void take_look(mlt_watch *w, uint64_t now)
{
    w->look_at = now + look_every_ns;
    if (w->purpose != FOR_NOBODY)
        return;
    note_sleepers(w);
    mlt_job_look look = mlt_job_look_at(w->conf.job);
    bool same = look.quiet && w->look.quiet && look.epochs == w->look.epochs &&
                look.in_flight == w->look.in_flight && look.ended == w->look.ended;
    w->equal_looks = !look.quiet || !look.asleep ? 0 : same ? w->equal_looks + 1 : 1;
    w->look = look;
    int enough = look.in_flight == 0 ? LOOKS_PROVEN : look.ended ? LOOKS_ENDED : LOOKS_FAULT;
    if (w->equal_looks >= enough && w->conf.options->gdb < 0)
        collect(w, FOR_DEADLOCK);
    else if (look.quiet && look.asleep && look.in_flight == 0)
        w->look_at = now + look_again_ns;
}

// A rank that has not joined may have loaded another MPI since: a module of an interpreter, or a
// program that a script started. Each such rank is alone, and takes itself for the whole job.
static void peek(mlt_watch *w, uint64_t now)
{
    const mlt_plan *plan = w->conf.plan;
    w->peek_at = ++w->peeks < MOST_PEEKS ? now + (peek_ns << w->peeks) : 0;
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const proc *own = &w->procs[p];
        char *path = own->pid && !own->attached ? mlt_libraries_loaded(own->pid) : NULL;
        if (!path)
            continue;
        char who[64];
        name_rank(w, own, -1, who, sizeof who);
        mlt_say(
            "note: %s runs another MPI (%s, of %s): each of the %u ranks is alone; use a program "
            "or module that is made for the standard ABI or for Millet, or the mpirun of that "
            "MPI",
            who, path, mlt_libraries_vendor(strrchr(path, '/') + 1), plan->ranks);
        free(path);
        w->peek_at = 0;
        return;
    }
}

// ---- What processes say

static void take_exit(mlt_watch *w, proc *p, const mlt_ctl *head)
{
    char who[64];
    name_rank(w, p, head->rank, who, sizeof who);
    p->told = true;
    if (head->detail == 1 && head->value == 0) {
        verdict(w, MLT_EXIT_FAILED, "%s on host %s ended without calling MPI_Finalize", who,
                mlt_hosts_own());
        end_by(w);
    } else if (head->detail == 1) {
        verdict(w, exit_code(head->value),
                "%s on host %s ended with exit status %lld before MPI_Finalize", who,
                mlt_hosts_own(), (long long)head->value);
        end_by(w);
    } else if (head->value != 0) {
        bool alone = w->conf.plan->procs[p - w->procs].ranks == 1;
        fail_alone(w, who, exit_code(head->value), head->detail == 2 || (alone && !p->initialised));
    }
}

static void take_abort(mlt_watch *w, proc *p, const mlt_ctl *head, const char *text)
{
    char who[64];
    name_rank(w, p, head->rank, who, sizeof who);
    p->told = true;
    if (!*text)
        verdict(w, exit_code(head->value), "%s on host %s called MPI_Abort with code %lld", who,
                mlt_hosts_own(), (long long)head->value);
    else if (strncmp(text, "called ", 7) == 0)
        verdict(w, exit_code(head->value), "%s on host %s %s", who, mlt_hosts_own(), text);
    else
        verdict(w, exit_code(head->value), "%s on host %s: %s", who, mlt_hosts_own(), text);
    end_by(w);
}

static void take_crash(mlt_watch *w, proc *p, const mlt_ctl *head, const char *text)
{
    char who[64];
    name_rank(w, p, head->rank, who, sizeof who);
    p->told = p->crashed = true;
    int signal = head->value > 0 && head->value < NSIG ? (int)head->value : SIGKILL;
    char *more = *text && w->conf.explain && !w->ending
                     ? w->conf.explain(w->conf.user, (uint32_t)(p - w->procs), text)
                     : NULL;
    verdict(w, 128 + signal, "%s on host %s was killed by signal %d (%s)%s%s", who, mlt_hosts_own(),
            signal, strsignal(signal), *text ? "\n" : "", more ? more : text);
    free(more);
    end_by(w);
}

static void take_waits(mlt_watch *w, const mlt_ctl *head, const void *body)
{
    if (w->purpose == FOR_NOBODY || head->detail >= w->conf.plan->workers ||
        w->answered[head->detail])
        return; // an answer that came too late
    if (head->type == MLT_CTL_WAITS) {
        mlt_hang_add(w->hang, body, head->length / sizeof(mlt_ctl_wait));
        return;
    }
    if (head->type == MLT_CTL_PROCS) {
        uint32_t first, ranks = mlt_plan_ranks_of(w->conf.plan, head->detail, &first);
        if (!w->told[head->detail])
            mlt_hang_add_procs(w->hang, first, ranks, body, head->length);
        w->told[head->detail] = true;
        return;
    }
    w->answered[head->detail] = true;
    if (w->open_answers > 0 && --w->open_answers == 0)
        finish_collecting(w);
}

static void take_hello(mlt_watch *w, proc *p, pid_t sender)
{
    if (!p->attached)
        w->attached++;
    p->attached = true;
    p->mpi_pid = sender;
    if (sender > 0 && sender != p->pid && p->mpi_fd < 0)
        p->mpi_fd = (int)syscall(SYS_pidfd_open, sender, 0);
    if (!w->look_at && !w->ending)
        w->look_at = mlt_os_now_ns() + look_every_ns;
    if (w->failed_early && !w->straggler_at && !w->ending)
        w->straggler_at = mlt_os_now_ns() + straggler_ns;
    set_timer(w);
}

// Made fit for a line of ours: a damaged process shall not talk to the terminal.
static void take_note(mlt_watch *w, proc *p, const mlt_ctl *head, char *body)
{
    for (char *c = body; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    if (head->type == MLT_CTL_SHARED) {
        if (w->conf.shared)
            w->conf.shared(w->conf.user, (uint32_t)(p - w->procs), body);
        return;
    }
    if (!w->noted && !w->conf.options->quiet)
        mlt_say("note: %s", body);
    w->noted = true;
}

// `body` is head->length bytes and a NUL.
static void take_packet(mlt_watch *w, proc *p, const mlt_ctl *head, char *body, pid_t sender)
{
    mlt_report *report = w->conf.report;
    if (p->mpi_pid && sender != p->mpi_pid && head->type != MLT_CTL_ABORT)
        return; // a fork of the rank; it speaks for nobody, but may not use MPI either
    switch (head->type) {
    case MLT_CTL_HELLO:
        take_hello(w, p, sender);
        break;
    case MLT_CTL_INIT:
        p->initialised = true;
        break;
    case MLT_CTL_FINAL:
        p->finalised = true;
        break;
    case MLT_CTL_DONE:
        p->done = true;
        break;
    case MLT_CTL_SHARED:
    case MLT_CTL_NOTE:
        take_note(w, p, head, body);
        break;
    case MLT_CTL_EXIT:
        take_exit(w, p, head);
        break;
    case MLT_CTL_ABORT:
    case MLT_CTL_CRASH:
        for (size_t n = strlen(body); n > 0 && body[n - 1] == '\n'; n--)
            body[n - 1] = '\0';
        (head->type == MLT_CTL_ABORT ? take_abort : take_crash)(w, p, head, body);
        break;
    case MLT_CTL_WAITS:
    case MLT_CTL_WAITS_END:
    case MLT_CTL_PROCS:
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
        if (report)
            mlt_report_queues(report, (const mlt_ctl_queue *)(void *)body,
                              head->length / sizeof(mlt_ctl_queue), head->detail);
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

static void close_ctl(proc *p)
{
    mlt_loop_remove(p->watch->conf.loop, &p->ctl);
    if (p->ctl.fd >= 0)
        close(p->ctl.fd);
    p->ctl.fd = -1;
}

// Reads one packet. False: there is none now.
static bool read_packet(proc *p)
{
    mlt_watch *w = p->watch;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec whole = {.iov_base = w->packet, .iov_len = sizeof w->packet - 1};
    struct msghdr message = {.msg_iov = &whole,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(p->ctl.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        close_ctl(p);
        return false;
    }
    pid_t sender = 0;
    struct cmsghdr *about = CMSG_FIRSTHDR(&message);
    if (about && about->cmsg_level == SOL_SOCKET && about->cmsg_type == SCM_CREDENTIALS) {
        struct ucred who;
        memcpy(&who, CMSG_DATA(about), sizeof who);
        sender = who.pid;
    }
    mlt_ctl head;
    if ((size_t)n < sizeof head)
        return true;
    memcpy(&head, w->packet, sizeof head);
    if (head.length > (size_t)n - sizeof head)
        return true; // cut: not from our library
    char *body = w->packet + sizeof head;
    body[head.length] = '\0';
    take_packet(w, p, &head, body, sender);
    return true;
}

static void ctl_ready(mlt_source *source, uint32_t events)
{
    proc *p = mlt_container_of(source, proc, ctl);
    for (int i = 0; i < 16 && p->ctl.fd >= 0; i++)
        if (!read_packet(p))
            return;
}

// Reads what the processes have said so far: which one attached decides which one gets a signal.
static void hear_all(mlt_watch *w)
{
    for (uint32_t p = 0; p < w->conf.plan->proc_count; p++)
        ctl_ready(&w->procs[p].ctl, 0);
}

// ---- Ends of processes

static void judge_end(mlt_watch *w, proc *p, int status)
{
    char who[64];
    name_rank(w, p, -1, who, sizeof who);
    if (w->ending || p->crashed)
        return;
    if (WIFSIGNALED(status)) {
        int signal = WTERMSIG(status);
        verdict(w, 128 + signal, "%s on host %s was killed by signal %d (%s)%s", who,
                mlt_hosts_own(), signal, strsignal(signal),
                WCOREDUMP(status) ? "; core dumped" : "");
        end_by(w);
        return;
    }
    int code = WEXITSTATUS(status);
    if (p->told)
        return;
    if (p->initialised && !p->finalised) {
        verdict(w, code ? code : MLT_EXIT_FAILED,
                "%s on host %s ended with exit status %d without calling MPI_Finalize", who,
                mlt_hosts_own(), code);
        end_by(w);
    } else if (code) {
        fail_alone(w, who, code, !p->finalised);
    } else if (p->attached && !p->done && w->conf.plan->procs[p - w->procs].ranks > 1) {
        verdict(w, MLT_EXIT_FAILED,
                "%s on host %s ended with exit status 0 before all its ranks had ended; where "
                "ranks share a process, none may end or replace it",
                who, mlt_hosts_own());
        end_by(w);
    }
}

static void take_end(mlt_watch *w, proc *p, int status, const struct rusage *usage)
{
    while (p->ctl.fd >= 0 && read_packet(p)) // what it said last
        ;
    p->pid = 0;
    w->living--;
    close_ctl(p);
    if (p->mpi_fd >= 0)
        close(p->mpi_fd);
    p->mpi_fd = -1;
    const mlt_plan_proc *plan = &w->conf.plan->procs[p - w->procs];
    for (uint32_t i = 0; i < plan->workers; i++) {
        mlt_job_worker *worker = mlt_job_worker_at(w->conf.job, plan->first_worker + i);
        // relaxed: its owner is gone, and mpirun is the only reader that needs it.
        atomic_store_explicit(&worker->asleep, MLT_WORKER_ENDED, memory_order_relaxed);
    }
    if (w->conf.report)
        mlt_report_ended(w->conf.report, (uint64_t)usage->ru_maxrss * 1024);
    judge_end(w, p, status);
}

static void reap(mlt_watch *w)
{
    int status;
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
        for (uint32_t p = 0; p < w->conf.plan->proc_count; p++)
            if (w->procs[p].pid == pid) {
                take_end(w, &w->procs[p], status, &usage);
                break;
            }
}

// ---- Signals and time

static void interrupt(mlt_watch *w, int signal, bool from_keyboard)
{
    hear_all(w);
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
    end_job(w, from_keyboard ? 0 : signal == SIGINT ? SIGINT : SIGTERM, polite_grace_ns);
}

static void stop(mlt_watch *w, bool from_keyboard)
{
    if (!from_keyboard) {
        // A program may handle SIGTSTP, and in a group without a terminal the kernel ignores it:
        // those that still run a moment later are stopped for good.
        signal_all(w, SIGTSTP);
        (void)usleep(STOP_GRACE_US);
        signal_all(w, SIGSTOP);
    }
    uint64_t before = mlt_os_now_ns();
    (void)kill(getpid(), SIGSTOP); // until SIGCONT
    uint64_t slept = mlt_os_now_ns() - before;
    uint64_t *times[] = {&w->kill_at,    &w->crash_kill_at, &w->straggler_at,  &w->give_up_at,
                         &w->timeout_at, &w->look_at,       &w->collect_until, &w->peek_at};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (*times[i])
            *times[i] += slept;
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
            report_now(w);
            break;
        case SIGTSTP:
            stop(w, from_keyboard);
            break;
        default: // USR1, USR2, CONT
            hear_all(w);
            signal_all(w, signal);
            break;
        }
    }
}

static bool due(uint64_t *at, uint64_t now)
{
    if (!*at || *at > now)
        return false;
    *at = 0;
    return true;
}

static void timer_ready(mlt_source *source, uint32_t events)
{
    mlt_watch *w = mlt_container_of(source, mlt_watch, timer);
    uint64_t count, now = mlt_os_now_ns();
    (void)!read(source->fd, &count, sizeof count);
    if (due(&w->kill_at, now))
        kill_all(w, false);
    if (due(&w->crash_kill_at, now))
        kill_all(w, true);
    if (due(&w->straggler_at, now))
        end_by(w);
    if (due(&w->timeout_at, now))
        time_over(w);
    if (due(&w->collect_until, now))
        finish_collecting(w);
    if (due(&w->look_at, now))
        take_look(w, now);
    if (due(&w->peek_at, now))
        peek(w, now);
    set_timer(w);
}

// The guard, which the caller knows as mpirun, was killed. Nobody is left to tell.
static void guard_gone(mlt_source *source, uint32_t events)
{
    mlt_watch *w = mlt_container_of(source, mlt_watch, guard);
    mlt_loop_remove(w->conf.loop, source);
    w->interrupted = SIGKILL;
    end_job(w, SIGKILL, 0);
    kill_all(w, true);
}

// ---- The whole

mlt_watch *mlt_watch_new(const mlt_watch_conf *conf)
{
    mlt_watch *w = mlt_take(1, sizeof *w);
    w->conf = *conf;
    w->procs = mlt_take(conf->plan->proc_count, sizeof *w->procs);
    for (uint32_t p = 0; p < conf->plan->proc_count; p++)
        w->procs[p] = (proc){.ctl = {.fd = -1, .ready = ctl_ready}, .watch = w, .mpi_fd = -1};
    w->epochs = mlt_take(conf->plan->workers, sizeof *w->epochs);
    w->stands = mlt_take(conf->plan->workers, sizeof *w->stands);
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
    if (conf->plan->ranks > 1 && !conf->options->quiet)
        w->peek_at = mlt_os_now_ns() + peek_ns;
    set_timer(w);
    return w;
}

void mlt_watch_started(mlt_watch *w, uint32_t index, pid_t pid, int ctl_fd)
{
    proc *p = &w->procs[index];
    p->pid = pid;
    p->ctl.fd = ctl_fd;
    w->living++;
    (void)mlt_loop_add(w->conf.loop, &p->ctl, EPOLLIN);
}

void mlt_watch_give_up(mlt_watch *w, int code)
{
    if (!w->code)
        w->code = code;
    end_job(w, SIGTERM, grace_ns);
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

int mlt_watch_run(mlt_watch *w)
{
    reap(w);
    while (w->living > 0) {
        if (w->give_up_at && mlt_os_now_ns() > w->give_up_at) {
            mlt_say("%u processes do not end though they were killed; leaving them", w->living);
            break;
        }
        wait_for_room(w);
        mlt_loop_turn(w->conf.loop);
    }
    mlt_loop_remove(w->conf.loop, &w->errors);
    mlt_sweep();
    if (w->purpose != FOR_NOBODY) // the last rank ended meanwhile
        finish_collecting(w);
    say_verdict(w);
    if (w->interrupted) // who told mpirun to end shall not have to tell it again
        mlt_say_finish(last_words_ms);
    return w->code;
}

bool mlt_watch_interrupted(const mlt_watch *w)
{
    return w->interrupted != 0;
}

void mlt_watch_free(mlt_watch *w)
{
    for (uint32_t p = 0; p < w->conf.plan->proc_count; p++)
        close_ctl(&w->procs[p]);
    mlt_loop_remove(w->conf.loop, &w->signals);
    mlt_loop_remove(w->conf.loop, &w->timer);
    mlt_loop_remove(w->conf.loop, &w->guard);
    close(w->timer.fd);
    mlt_hang_free(w->hang);
    free(w->answered);
    free(w->told);
    free(w->epochs);
    free(w->stands);
    free(w->sentence);
    free(w->procs);
    free(w);
}
