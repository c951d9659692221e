// SPDX-License-Identifier: BSD-3-Clause
#include "launch/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/board.h"
#include "boot/recorder.h"
#include "launch/children/asks.h"
#include "launch/hosts/ports.h"
#include "launch/live/look.h"
#include "launch/loop.h"
#include "launch/plan/bind.h"
#include "launch/plan/env.h"
#include "launch/program/libraries.h"
#include "launch/say.h"
#include "launch/spawn.h"
#include "launch/watch/calls.h"
#include "launch/watch/change.h"
#include "launch/watch/hang.h"
#include "launch/watch/lines.h"
#include "os/fd.h"
#include "os/memory.h"
#include "os/numa.h"
#include "os/os.h"
#include "os/uring.h"

#define AGENT_MS UINT64_C(1000000)

// Inherited descriptors have numbers that scripts do not use themselves.
enum { FIRST_FD = 20, WHERE_BYTES = 512 };

static const uint64_t agent_collect_ns = 2000 * AGENT_MS; // since the last record
static const uint64_t change_ns = 5 * AGENT_MS;
static const uint64_t peek_ns = 250 * AGENT_MS; // then after 0.5, 1 and 2 s more
static const uint64_t link_again_ns = 10 * AGENT_MS;
enum { MOST_PEEKS = 4, STOP_GRACE_US = 20000, START_AT_ONCE = 128 };

// A connection that its process has had no room for.
typedef struct late_link {
    uint32_t proc;
    int fd;
    mlt_ctl_link link;
} late_link;

typedef struct agent_child {
    mlt_loop_source ctl; // fd -1: closed
    mlt_agent *agent;
    uint32_t proc;
    pid_t pid;     // 0: not started, or gone
    pid_t mpi_pid; // of the process that attached; 0: none, or the system does not say
    int mpi_fd;    // pidfd of that process, if it is not `pid` but was started by it; else -1
    bool attached;
    bool adopted; // somebody else has started it, and it has not ended
    bool crashed; // by a signal, said by itself
    bool final;   // its ranks have called MPI_Finalize
} agent_child;

struct mlt_agent {
    mlt_agent_conf conf;
    mlt_bind bind;
    mlt_job *job;
    int job_fd, ctl_as;
    agent_child *children; // in the order of their processes
    uint32_t count;
    mlt_loop_source timer;
    bool ending; // it was told to end what runs
    bool looked; // for lines of the source of a crash

    uint32_t next; // child that is to be started
    uint64_t start_at;
    uint64_t change_at; // looks whether all workers know of the change
    uint32_t change;
    mlt_env env; // of env_app, if has_env
    uint32_t env_app;
    bool mixed; // hosts have different formats of long double
    bool has_env;

    uint32_t workers; // of this host
    uint64_t kills;   // of processes, when memory was used up (os/memory.h)
    uint32_t *epochs; // [workers] at the last look
    bool *stands;     // [workers] it has slept in that epoch for two looks

    bool collecting;
    uint64_t collect_until, peek_at, link_at;
    bool *answered,
        *told;       // [workers] its wait records are complete; its processes' lines have come
    uint64_t *marks; // [workers] of their recorders, when they were asked
    uint32_t open_answers;
    int peeks;

    late_link *late;
    uint32_t late_count, late_room;
    mlt_asks *asks;

    mlt_ports *ports; // NULL: no process has asked for any
    char *why;        // of its death; NULL: it lives, or ends in order

    _Alignas(16) char packet[sizeof(mlt_ctl) + MLT_CTL_MAX_BODY + 1];
    bool finalised; // a process of this host has left MPI_Finalize
};

static void agent_tell(mlt_agent *a, mlt_frame_type type, uint32_t about, int64_t value, void *body,
                       size_t length)
{
    mlt_frame frame = {.type = type,
                       .length = (uint32_t)length,
                       .from = a->conf.host,
                       .to = MLT_FRAME_HEAD,
                       .about = about,
                       .value = value};
    a->conf.tell(a->conf.user, &frame, body);
}

// NULL: it is no process of this host.
static agent_child *child_of(mlt_agent *a, uint32_t proc)
{
    uint32_t low = 0, high = a->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->children[middle].proc < proc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->count && a->children[low].proc == proc ? &a->children[low] : NULL;
}

static const mlt_placement_proc *plan_of(const mlt_agent *a, uint32_t proc)
{
    return &a->conf.plan->procs[proc];
}

static const mlt_app *app_of(const mlt_agent *a, uint32_t proc)
{
    return &a->conf.options->apps[plan_of(a, proc)->app];
}

static const char *agent_dir_of(const mlt_agent *a, uint32_t proc)
{
    const mlt_app *app = app_of(a, proc);
    return app->dir ? app->dir : a->conf.options->dir;
}

static void agent_set_timer(mlt_agent *a)
{
    const uint64_t times[] = {a->collect_until, a->peek_at, a->link_at, a->start_at, a->change_at};
    mlt_loop_alarm_first(&a->timer, times, sizeof times / sizeof *times);
}

// ---- Signals

static void signal_child(const agent_child *c, int signal)
{
    if (!c->pid)
        return;
    // A script's signal is meant for the MPI program that it started, unless all shall end.
    bool behind = c->mpi_fd >= 0 && syscall(SYS_pidfd_send_signal, c->mpi_fd, signal, NULL, 0) == 0;
    if (!behind || signal == SIGKILL || signal == SIGTSTP || signal == SIGSTOP || signal == SIGCONT)
        (void)kill(c->pid, signal);
}

static void signal_all(mlt_agent *a, int signal)
{
    for (uint32_t i = 0; i < a->count; i++)
        signal_child(&a->children[i], signal);
}

static void kill_all(mlt_agent *a, bool crashed_too)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (crashed_too || !a->children[i].crashed)
            signal_child(&a->children[i], SIGKILL);
}

static void stop_all(mlt_agent *a)
{
    // A program may handle SIGTSTP, and in a group without a terminal the kernel ignores it: those
    // that still run a moment later are stopped for good.
    signal_all(a, SIGTSTP);
    (void)usleep(STOP_GRACE_US);
    signal_all(a, SIGSTOP);
}

// ---- Looks at workers

// True if the worker sleeps, and only a message can wake it.
static bool sleeps(mlt_agent *a, uint32_t local, uint32_t *epoch)
{
    mlt_job_worker *own = mlt_job_local_at(a->job, local);
    // acquire: as in mlt_job_look_at.
    *epoch = atomic_load_explicit(&own->epoch, memory_order_acquire);
    uint32_t state = atomic_load_explicit(&own->asleep, memory_order_acquire) & MLT_NAP_STATE;
    return (state == MLT_WORKER_ASLEEP || state == MLT_WORKER_LISTENS) &&
           !atomic_load_explicit(&own->open, memory_order_acquire);
}

static void agent_look(mlt_agent *a, int64_t number)
{
    for (uint32_t i = 0; i < a->workers; i++) {
        uint32_t epoch;
        bool asleep = sleeps(a, i, &epoch);
        a->stands[i] = asleep && epoch == a->epochs[i];
        a->epochs[i] = asleep ? epoch : epoch - 1; // of one that is awake nothing is known
    }
    mlt_job_look found = mlt_job_look_at(a->job);
    agent_tell(a, MLT_FRAME_LOOKED, a->conf.host, number, &found, sizeof found);
}

static void tell_clock(mlt_agent *a, int64_t number)
{
    uint64_t now = mlt_os_now_ns();
    agent_tell(a, MLT_FRAME_CLOCKED, a->conf.host, number, &now, sizeof now);
}

// For people outside (launch/live/live.h).
static void look_live(mlt_agent *a, int64_t number)
{
    mlt_live_child *children = mlt_take(a->count + 1, sizeof *children);
    mlt_live_snap snap = {0};
    mlt_text part = {0};
    for (uint32_t i = 0; i < a->count; i++) {
        const agent_child *c = &a->children[i];
        children[i] = (mlt_live_child){c->proc, c->mpi_pid && c->pid ? c->mpi_pid : c->pid};
    }
    mlt_live_look(&snap, a->job, a->conf.plan, children, a->count);
    mlt_live_snap_pack(&snap, a->conf.host, &part);
    mlt_text_put(&part, "", 1); // the NUL behind
    agent_tell(a, MLT_FRAME_LIVED, a->conf.host, number, part.text, part.length - 1);
    mlt_text_free(&part);
    mlt_live_snap_fini(&snap);
    free(children);
}

// Why a worker of a process did not answer.
static mlt_hang_state unanswered(mlt_agent *a, const agent_child *c, uint32_t local, uint32_t ranks)
{
    const mlt_job_worker *worker = mlt_job_local_at(a->job, local);
    uint32_t thread = atomic_load_explicit(&worker->thread, memory_order_relaxed);
    char state = mlt_os_state_of(c->mpi_pid ? c->mpi_pid : c->pid, thread, NULL);
    bool calls = mlt_recorder_mark(mlt_recorder_at(a->job, local)) != a->marks[local];
    if (calls && state != 'T' && state != 't')
        return ranks > 1 ? MLT_HANG_CROWDED : MLT_HANG_CALLING;
    switch (state) {
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

static mlt_frame_state state_of(mlt_agent *a, const agent_child *c, uint32_t local, uint32_t worker)
{
    // acquire: what the worker did before it ended or went to sleep is done.
    uint32_t asleep =
        atomic_load_explicit(&mlt_job_local_at(a->job, local)->asleep, memory_order_acquire) &
        MLT_NAP_STATE;
    uint32_t first, ranks = mlt_placement_ranks_of(a->conf.plan, worker, &first);
    mlt_hang_state state = asleep == MLT_WORKER_ENDED    ? MLT_HANG_ENDED
                           : asleep == MLT_WORKER_UNBORN ? MLT_HANG_UNBORN
                           : a->answered[local]          ? MLT_HANG_RUNNING
                                                         : unanswered(a, c, local, ranks);
    return (mlt_frame_state){.state = (uint8_t)state, .stands = a->stands[local]};
}

static void finish_collecting(mlt_agent *a)
{
    mlt_frame_state *states = mlt_take(a->workers + 1, sizeof *states); // and the NUL behind
    uint32_t local = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const mlt_placement_proc *proc = plan_of(a, a->children[i].proc);
        for (uint32_t k = 0; k < proc->workers; k++, local++)
            states[local] = state_of(a, &a->children[i], local, proc->first_worker + k);
    }
    free(a->answered);
    free(a->told);
    free(a->marks);
    a->answered = a->told = NULL;
    a->marks = NULL;
    a->collecting = false;
    a->collect_until = 0;
    agent_set_timer(a);
    mlt_text calls = {0};
    mlt_calls_of_host(&calls, a->job, a->conf.plan, a->conf.host);
    if (calls.length > 0 && calls.length < MLT_FRAME_MOST)
        agent_tell(a, MLT_FRAME_CALLS, a->conf.host, 0, calls.text, calls.length);
    mlt_text_free(&calls);
    agent_tell(a, MLT_FRAME_STATES, a->conf.host, 0, states, a->workers * sizeof *states);
    free(states);
}

static void agent_collect(mlt_agent *a)
{
    if (a->collecting)
        return;
    a->collecting = true;
    a->answered = mlt_take(a->workers, sizeof *a->answered);
    a->told = mlt_take(a->workers, sizeof *a->told);
    a->marks = mlt_take(a->workers, sizeof *a->marks);
    a->open_answers = 0;
    for (uint32_t i = 0; i < a->workers; i++) {
        a->marks[i] = mlt_recorder_mark(mlt_recorder_at(a->job, i));
        uint32_t asleep = mlt_job_sleep_of(mlt_job_local_at(a->job, i)), epoch;
        a->stands[i] &= sleeps(a, i, &epoch) && epoch == a->epochs[i];
        a->open_answers += asleep != MLT_WORKER_ENDED && asleep != MLT_WORKER_UNBORN;
    }
    a->collect_until = mlt_os_now_ns() + agent_collect_ns;
    agent_set_timer(a);
    mlt_job_ask(a->job);
    if (a->open_answers == 0)
        finish_collecting(a);
}

// A rank that has not joined may have loaded another MPI since: a module of an interpreter, or a
// program that a script started. Each such rank is alone, and takes itself for the whole job.
static void peek(mlt_agent *a, uint64_t now)
{
    const mlt_placement *plan = a->conf.plan;
    a->peek_at = ++a->peeks < MOST_PEEKS ? now + (peek_ns << a->peeks) : 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const agent_child *own = &a->children[i];
        char *path = own->pid && !own->attached ? mlt_libraries_loaded(own->pid) : NULL;
        if (!path)
            continue;
        char name[64];
        mlt_placement_name(plan, own->proc, name, sizeof name);
        mlt_say(
            "note: %s runs another MPI (%s, of %s): each of the %u ranks is alone; use a program "
            "or module that is made for the standard ABI or for Millet, or the mpirun of that "
            "MPI",
            name, path, mlt_libraries_vendor(strrchr(path, '/') + 1), plan->ranks);
        free(path);
        a->peek_at = 0;
        return;
    }
}

// ---- Connections

static bool try_link(mlt_agent *a, uint32_t proc, const mlt_ctl_link *link, int fd)
{
    const agent_child *c = child_of(a, proc);
    if (!c || c->ctl.fd < 0)
        return true; // it has ended
    if (mlt_ctl_give_link(c->ctl.fd, link, fd) == MLT_PENDING)
        return false;
    mlt_job_link_came(a->job, proc);
    return true;
}

void mlt_agent_give_link(mlt_agent *a, uint32_t proc, const mlt_ctl_link *link, int fd)
{
    if (try_link(a, proc, link, fd))
        return;
    MLT_ARRAY_WANT(a->late, a->late_count + 1, a->late_room);
    a->late[a->late_count++] =
        (late_link){.proc = proc, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .link = *link};
    a->link_at = mlt_os_now_ns() + link_again_ns;
    agent_set_timer(a);
}

static void give_late(mlt_agent *a, uint64_t now)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->late_count; i++) {
        late_link *late = &a->late[i];
        if (late->fd < 0 || try_link(a, late->proc, &late->link, late->fd)) {
            if (late->fd >= 0)
                close(late->fd);
        } else {
            a->late[kept++] = *late;
        }
    }
    a->late_count = kept;
    a->link_at = kept ? now + link_again_ns : 0;
}

// ---- Other jobs

static void link_abroad(void *user, uint32_t proc, const mlt_ctl_link *link, int fd)
{
    mlt_agent_give_link(user, proc, link, fd);
}

static void job_lost(void *user, const char *text)
{
    mlt_agent *a = user;
    char *body = mlt_text_of("%s", text);
    if (!a->ending)
        agent_tell(a, MLT_FRAME_UNLINKED, a->count ? a->children[0].proc : 0, -1, body,
                   strlen(body));
    free(body);
}

static void take_rpc(mlt_agent *a, const agent_child *c, int fd)
{
    mlt_ports_conf conf = {.options = a->conf.options,
                           .key = a->conf.key,
                           .name = a->conf.plan->hosts[a->conf.host].host.name,
                           .loop = a->conf.loop,
                           .link = link_abroad,
                           .lost = job_lost,
                           .user = a};
    if (!a->ports)
        a->ports = mlt_ports_new(&conf);
    mlt_ports_rpc(a->ports, c->proc, fd);
}

static void take_want(mlt_agent *a, const agent_child *c, const mlt_ctl *head)
{
    uint64_t bond = 0;
    if (head->length == sizeof bond)
        memcpy(&bond, a->packet + sizeof *head, sizeof bond);
    if (bond && a->ports)
        mlt_ports_want(a->ports, c->proc, bond, head->value);
    else if (!bond && a->conf.want && head->value >= 0 && head->value < a->conf.plan->proc_count)
        a->conf.want(a->conf.user, c->proc, (uint32_t)head->value);
}

void mlt_agent_dies(mlt_agent *a, const char *why)
{
    if (!a->why)
        a->why = mlt_text_of("%s", why);
}

// ---- What processes say

static void agent_take_hello(agent_child *c, pid_t sender)
{
    c->attached = true;
    c->mpi_pid = sender;
    if (sender > 0 && sender != c->pid && c->mpi_fd < 0)
        c->mpi_fd = (int)syscall(SYS_pidfd_open, sender, 0);
}

// Wait records and the like. False: nobody asked, or it came too late.
static bool take_waits(mlt_agent *a, const agent_child *c, const mlt_ctl *head)
{
    const mlt_placement_proc *proc = plan_of(a, c->proc);
    if (!a->collecting || head->detail < proc->first_worker ||
        head->detail - proc->first_worker >= proc->workers)
        return false;
    uint32_t local = mlt_job_place_at(a->job, head->detail)->local;
    if (a->answered[local])
        return false;
    a->collect_until =
        mlt_os_now_ns() + agent_collect_ns; // those of a million ranks may take longer
    agent_set_timer(a);
    if (head->type == MLT_CTL_PROCS) {
        bool first = !a->told[local];
        a->told[local] = true;
        return first;
    }
    if (head->type == MLT_CTL_WAITS_END) {
        a->answered[local] = true;
        if (a->open_answers > 0)
            a->open_answers--;
    }
    return true;
}

static void agent_pass_on(mlt_agent *a, const agent_child *c, const mlt_ctl *head)
{
    agent_tell(a, MLT_FRAME_CTL, c->proc, 0, a->packet, sizeof *head + head->length);
}

// With the id that the system tells, not the one that the process says.
static void pass_with_id(mlt_agent *a, const agent_child *c, const mlt_ctl *head, pid_t sender)
{
    mlt_ctl own = *head;
    own.value = sender;
    memcpy(a->packet, &own, sizeof own);
    agent_pass_on(a, c, head);
}

// The last words of a process. The first one's, which are all that is shown, with lines of its
// source if they can be found: that takes up to two seconds, in which this agent does nothing else.
static void pass_crash(mlt_agent *a, agent_child *c, const mlt_ctl *head, const char *text)
{
    c->crashed = true;
    bool looks = *text && !a->ending && !a->looked;
    if (!looks) {
        agent_pass_on(a, c, head);
        return;
    }
    a->looked = true;
    char *found = mlt_lines_add(text, agent_dir_of(a, c->proc));
    mlt_text more = {0};
    mlt_ctl longer = *head;
    mlt_text_put(&more, &longer, sizeof longer);
    mlt_text_add(&more, "%s\n", found ? found : text);
    mlt_calls_of_proc(&more, a->job, a->conf.plan, c->proc, head->rank);
    free(found);
    longer.length = (uint32_t)(more.length - sizeof longer);
    memcpy(more.text, &longer, sizeof longer);
    if (more.length < MLT_FRAME_MOST)
        agent_tell(a, MLT_FRAME_CTL, c->proc, 0, more.text, more.length);
    else
        agent_pass_on(a, c, head);
    mlt_text_free(&more);
}

// mlt_asks_conf.tell.
static void tell_spawn(void *user, uint32_t proc, int64_t number, char *request, size_t length)
{
    agent_tell(user, MLT_FRAME_SPAWN, proc, number, request, length);
}

void mlt_agent_answer(mlt_agent *a, int64_t ask, const char *answer, size_t length)
{
    mlt_asks_answer(a->asks, ask, answer, length);
}

// The packet is in a->packet, with a NUL behind its body.
static void take_packet(mlt_agent *a, agent_child *c, const mlt_ctl *head, pid_t sender)
{
    if (c->mpi_pid && sender != c->mpi_pid && head->type != MLT_CTL_ABORT)
        return; // a fork of the rank; it speaks for nobody, but may not use MPI either
    switch (head->type) {
    case MLT_CTL_WANT:
        take_want(a, c, head);
        return;
    case MLT_CTL_RPC:
        return; // without a descriptor
    case MLT_CTL_PARTED:
        if (a->ports)
            mlt_ports_parted(a->ports, c->proc, (uint64_t)head->value);
        return;
    case MLT_CTL_FINAL:
        c->final = a->finalised = true;
        break;
    case MLT_CTL_CRASH:
        pass_crash(a, c, head, a->packet + sizeof *head);
        return;
    case MLT_CTL_WAITS:
    case MLT_CTL_WAITS_END:
    case MLT_CTL_PROCS:
    case MLT_CTL_JOBS:
        if (take_waits(a, c, head))
            agent_pass_on(a, c, head);
        if (a->collecting && a->open_answers == 0)
            finish_collecting(a);
        return;
    case MLT_CTL_HELLO:
        agent_take_hello(c, sender);
        pass_with_id(a, c, head, sender);
        return;
    case MLT_CTL_HELD:
        pass_with_id(a, c, head, sender);
        return;
    default:
        break;
    }
    agent_pass_on(a, c, head);
}

static void close_ctl(agent_child *c)
{
    mlt_loop_remove(c->agent->conf.loop, &c->ctl);
    if (c->ctl.fd >= 0)
        close(c->ctl.fd);
    c->ctl.fd = -1;
}

// The process that sent a packet; 0: it is not known. *fd: the descriptor that came with it; -1: none.
static pid_t sender_of(struct msghdr *message, int *fd)
{
    struct ucred from = {.pid = 0};
    *fd = -1;
    for (struct cmsghdr *about = CMSG_FIRSTHDR(message); about; about = CMSG_NXTHDR(message, about))
        if (about->cmsg_level != SOL_SOCKET)
            continue;
        else if (about->cmsg_type == SCM_CREDENTIALS)
            memcpy(&from, CMSG_DATA(about), sizeof from);
        else if (about->cmsg_type == SCM_RIGHTS && about->cmsg_len >= CMSG_LEN(sizeof *fd))
            memcpy(fd, CMSG_DATA(about), sizeof *fd);
    return from.pid;
}

// Reads one packet. False: there is none now.
static bool read_packet(agent_child *c)
{
    mlt_agent *a = c->agent;
    _Alignas(
        struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
    struct iovec whole = {.iov_base = a->packet, .iov_len = sizeof a->packet - 1};
    struct msghdr message = {.msg_iov = &whole,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(c->ctl.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EINTR || errno == ECONNRESET))
        return true; // reset: it ended with unread packets of ours; what it said comes next
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        close_ctl(c);
        return false;
    }
    int fd;
    pid_t sender = sender_of(&message, &fd);
    mlt_ctl head = {.type = 0};
    if ((size_t)n >= sizeof head)
        memcpy(&head, a->packet, sizeof head);
    bool whole_packet = (size_t)n >= sizeof head && head.length <= (size_t)n - sizeof head;
    if (whole_packet && head.type == MLT_CTL_SPAWN && fd >= 0) {
        mlt_asks_take(a->asks, c->proc, fd);
        return true;
    }
    if (whole_packet && head.type == MLT_CTL_RPC && fd >= 0) {
        take_rpc(a, c, fd);
        return true;
    }
    if (fd >= 0)
        close(fd);
    if (!whole_packet)
        return true; // cut: not from our library
    a->packet[sizeof head + head.length] = '\0';
    take_packet(a, c, &head, sender);
    return true;
}

static void ctl_ready(mlt_loop_source *source, uint32_t events)
{
    agent_child *c = mlt_container_of(source, agent_child, ctl);
    for (int i = 0; i < 16 && c->ctl.fd >= 0; i++)
        if (!read_packet(c))
            return;
}

void mlt_agent_hear(mlt_agent *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        ctl_ready(&a->children[i].ctl, 0);
}

// ---- Ends of processes

// SIGKILL has no sender that could be asked, but the kernel counts those that it sent itself.
static void tell_kill(mlt_agent *a)
{
    uint64_t kills = mlt_os_memory_kills(MLT_OS_PROC, MLT_OS_GROUPS);
    if (kills > a->kills)
        mlt_say(
            "the kernel killed a process because memory was used up, this host's or that of its "
            "control group (container): fewer ranks need less");
    a->kills = kills;
}

static bool names_shm(const mlt_texts *env)
{
    static const char shm[] = "MILLET_FABRIC=ofi:shm";
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], shm, sizeof shm - 1) == 0)
            return true;
    return false;
}

// libfabric's provider shm has memory by a name, which a process that is killed cannot remove.
static void remove_fabric(const mlt_agent *a, const agent_child *c)
{
    const mlt_options *options = a->conf.options;
    char name[32];
    if (!names_shm(&options->env) && !names_shm(&options->apps[plan_of(a, c->proc)->app].env))
        return;
    snprintf(name, sizeof name, "/%d:0:0", (int)c->pid);
    (void)shm_unlink(name);
}

static void tell_end(mlt_agent *a, const agent_child *c, int status, uint64_t peak)
{
    mlt_text body = {0};
    mlt_text_put(&body, &peak, sizeof peak);
    if (status != MLT_FRAME_UNKNOWN && WIFSIGNALED(status) && !c->crashed && !a->ending)
        mlt_calls_of_proc(&body, a->job, a->conf.plan, c->proc, -1);
    agent_tell(a, MLT_FRAME_ENDED, c->proc, status, body.text, body.length);
    mlt_text_free(&body);
}

static void take_end(mlt_agent *a, agent_child *c, int status, const struct rusage *usage)
{
    if (WIFSIGNALED(status))
        remove_fabric(a, c);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !a->ending)
        tell_kill(a);
    while (c->ctl.fd >= 0 && read_packet(c)) // what it said last
        ;
    c->pid = 0;
    c->adopted = false;
    close_ctl(c);
    if (c->mpi_fd >= 0)
        close(c->mpi_fd);
    c->mpi_fd = -1;
    const mlt_placement_proc *proc = plan_of(a, c->proc);
    for (uint32_t i = 0; i < proc->workers; i++) {
        mlt_job_worker *worker = mlt_job_worker_at(a->job, proc->first_worker + i);
        // relaxed: its owner is gone, and this agent is the only reader that needs it.
        atomic_store_explicit(&worker->asleep, MLT_WORKER_ENDED, memory_order_relaxed);
    }
    if (a->conf.gone)
        a->conf.gone(a->conf.user, c->proc);
    if (a->ports)
        mlt_ports_gone(a->ports, c->proc, c->final && WIFEXITED(status));
    tell_end(a, c, status, (uint64_t)usage->ru_maxrss * 1024);
}

bool mlt_agent_reaped(mlt_agent *a, pid_t pid, int status, const struct rusage *usage)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->children[i].pid == pid) {
            take_end(a, &a->children[i], status, usage);
            return true;
        }
    return false;
}

void mlt_agent_lost(mlt_agent *a, uint32_t proc)
{
    static const struct rusage nothing;
    agent_child *c = child_of(a, proc);
    if (c && c->adopted)
        take_end(a, c, MLT_FRAME_UNKNOWN, &nothing);
}

bool mlt_agent_finalised(const mlt_agent *a)
{
    return a->finalised;
}

// ---- Start

// A process is started on its cores; worker threads must find theirs among them.
static void note_places(mlt_agent *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const mlt_placement_proc *proc = plan_of(a, a->children[i].proc);
        for (uint32_t k = 0; proc->workers > 1 && k < proc->workers; k++) {
            uint32_t local = mlt_job_place_at(a->job, proc->first_worker + k)->local;
            mlt_job_worker *w = mlt_job_local_at(a->job, local);
            w->pinned = mlt_bind_place(&a->bind, local, w->cpus, MLT_JOB_CPUS);
        }
    }
}

static void make_job(mlt_agent *a)
{
    const mlt_placement *whole = a->conf.plan;
    uint32_t count = whole->proc_count;
    uint32_t *numbers = mlt_take(5 * (size_t)count, sizeof *numbers);
    uint32_t *workers = numbers, *ranks = workers + count, *apps = ranks + count,
             *larger = apps + count, *hosts = larger + count;
    for (uint32_t p = 0; p < count; p++) {
        workers[p] = whole->procs[p].workers;
        ranks[p] = whole->procs[p].ranks / workers[p];
        larger[p] = whole->procs[p].ranks % workers[p];
        apps[p] = whole->procs[p].app;
        hosts[p] = whole->procs[p].host;
    }
    mlt_job_plan plan = {.procs = count,
                         .workers_of_proc = workers,
                         .ranks_a_worker = ranks,
                         .larger_of_proc = larger,
                         .app_of_proc = apps,
                         .host_of_proc = whole->host_count > 1 ? hosts : NULL,
                         .hosts = whole->host_count,
                         .host = a->conf.host,
                         .identity = a->conf.identity,
                         .cores = a->conf.cores,
                         .near = a->bind.count > 0 && mlt_os_nodes(MLT_OS_NODES) > 1,
                         .launched = true,
                         .profile = a->conf.options->report};
    char why[512];
    int fd;
    if (mlt_job_new(&plan, &a->job, &fd, why, sizeof why))
        mlt_quit(MLT_EXIT_SYSTEM, "%s", why);
    a->job_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    a->ctl_as = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD + 1);
    if (a->job_fd < 0 || a->ctl_as < 0)
        mlt_quit(MLT_EXIT_SYSTEM, "no more descriptors: %s", mlt_os_no_descriptor(errno));
    close(fd);
    free(numbers);
    note_places(a);
    if (mlt_job_own_head(a->job) != MLT_OK)
        mlt_quit(MLT_EXIT_SYSTEM, MLT_NO_ROOM "the job's head (%s)", strerror(errno));
}

// gdb --args program ...; the caller frees it.
static char **gdb_words(char **argv)
{
    static char gdb[] = "gdb", quiet[] = "-q", args[] = "--args";
    mlt_texts words = {NULL, 0};
    mlt_texts_add(&words, gdb);
    mlt_texts_add(&words, quiet);
    mlt_texts_add(&words, args);
    while (*argv)
        mlt_texts_add(&words, *argv++);
    return words.items;
}

static bool open_ctl(int pair[2], char *why, size_t why_size)
{
    static const int on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        snprintf(why, why_size, "no more descriptors: %s", mlt_os_no_descriptor(errno));
        return false;
    }
    // The system then tells the sender's process id, as this side would call it.
    (void)setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    return true;
}

// Adds the places of a process's workers; a long list is cut.
static void name_places(const mlt_agent *a, const mlt_placement_proc *proc, char *text, size_t size)
{
    uint32_t first = mlt_job_place_at(a->job, proc->first_worker)->local;
    for (uint32_t k = 0; k < proc->workers; k++) {
        char place[96];
        size_t n = strlen(text);
        cpu_set_t *cpus = mlt_bind_set(&a->bind, first + k, 1);
        if (!cpus)
            return;
        mlt_bind_text(&a->bind, cpus, place, sizeof place);
        CPU_FREE(cpus);
        bool fits = n + strlen(place) + sizeof " (workers: , ...)" < size;
        snprintf(text + n, size - n, "%s%s", k ? ", " : " (workers: ", fits ? place : "...");
        if (!fits)
            break;
    }
    size_t n = strlen(text);
    snprintf(text + n, size - n, ")");
}

static void tell_start(mlt_agent *a, uint32_t proc, pid_t pid, const cpu_set_t *cpus)
{
    char where[WHERE_BYTES] = "any processor";
    if (cpus) {
        size_t n = (size_t)snprintf(where, sizeof where, "processors ");
        mlt_bind_text(&a->bind, cpus, where + n, sizeof where - n);
        if (plan_of(a, proc)->workers > 1)
            name_places(a, plan_of(a, proc), where, sizeof where);
    }
    agent_tell(a, MLT_FRAME_STARTED, proc, pid, where, strlen(where));
}

// Starts one process. On failure the exit code, and a message in why.
static int agent_start(mlt_agent *a, agent_child *c, mlt_env *env, char *why, size_t why_size)
{
    const mlt_placement_proc *proc = plan_of(a, c->proc);
    const mlt_app *app = app_of(a, c->proc);
    bool under_gdb = a->conf.gdb &&
                     c->proc == mlt_placement_proc_of(a->conf.plan, (uint32_t)a->conf.options->gdb);
    int pair[2], code = MLT_EXIT_SYSTEM;
    if (!open_ctl(pair, why, why_size))
        return code;
    uint32_t local = mlt_job_place_at(a->job, proc->first_worker)->local;
    cpu_set_t *cpus = mlt_bind_set(&a->bind, local, proc->workers);
    bool traced = mlt_stdio_trace(a->conf.io, c->proc, env, why, why_size);
    mlt_env_proc own = {.proc = c->proc, .job_fd = a->job_fd, .ctl_fd = a->ctl_as};
    mlt_spawn spawn = {.path = under_gdb ? a->conf.gdb : a->conf.paths[proc->app],
                       .argv = under_gdb ? gdb_words(app->argv) : app->argv,
                       .env = mlt_env_for(env, a->conf.plan, &own),
                       .dir = agent_dir_of(a, c->proc),
                       .job_fd = a->job_fd,
                       .ctl_fd = pair[1],
                       .ctl_as = a->ctl_as,
                       .cpus = cpus,
                       .cpus_bytes = a->bind.set_bytes,
                       // --gdb: keep the keyboard's signals away from the others
                       .group = a->conf.gdb && !under_gdb ? 0 : a->conf.group};
    pid_t pid = -1;
    if (traced && mlt_stdio_prepare(a->conf.io, c->proc, &spawn, why, why_size))
        pid = mlt_spawn_start(&spawn, &code, why, why_size);
    mlt_stdio_started(a->conf.io, c->proc);
    close(pair[1]);
    if (pid > 0) {
        mlt_agent_started(a, c->proc, pid, pair[0]);
        tell_start(a, c->proc, pid, cpus);
    } else {
        close(pair[0]);
    }
    CPU_FREE(cpus);
    if (under_gdb)
        free(spawn.argv);
    return pid > 0 ? 0 : code;
}

// As start, for a process that somebody else has started.
static int agent_adopt(mlt_agent *a, agent_child *c, char *why, size_t why_size)
{
    int pair[2];
    pid_t pid = 0;
    if (!open_ctl(pair, why, why_size))
        return MLT_EXIT_SYSTEM;
    c->adopted = a->conf.adopt(a->conf.user, c->proc, a->job_fd, pair[1], a->mixed, &pid);
    close(pair[1]);
    if (!c->adopted) {
        close(pair[0]);
        snprintf(why, why_size, "process %u ended before the job began", c->proc);
        return MLT_EXIT_FAILED;
    }
    mlt_agent_started(a, c->proc, pid, pair[0]);
    tell_start(a, c->proc, pid, NULL);
    return 0;
}

// The environment of the app that `proc` belongs to; it stays while its processes follow.
static mlt_env *env_of(mlt_agent *a, uint32_t proc)
{
    static char variable[] = "MILLET_MIXED=1", held[] = "MILLET_HELD=1";
    uint32_t app = plan_of(a, proc)->app;
    if (a->has_env && a->env_app == app)
        return &a->env;
    if (a->has_env)
        mlt_env_fini(&a->env);
    a->has_env = true;
    a->env_app = app;
    mlt_env_init(&a->env, a->conf.options, &a->conf.options->apps[app]);
    mlt_stdio_env(a->conf.io, proc, &a->env);
    if (a->mixed)
        mlt_env_put(&a->env, variable);
    if (a->conf.options->held)
        mlt_env_put(&a->env, held);
    return &a->env;
}

// Starts some processes, and the others when the loop has done what else there is: a neighbour that
// hears nothing from here for long would take this host for lost.
static void start_some(mlt_agent *a)
{
    char why[512] = "";
    int code = a->ending ? MLT_EXIT_FAILED : 0; // told to end: the rest is never started
    for (uint32_t i = 0; i < START_AT_ONCE && a->next < a->count && !code; i++, a->next++) {
        agent_child *c = &a->children[a->next];
        code = a->conf.adopt ? agent_adopt(a, c, why, sizeof why)
                             : agent_start(a, c, env_of(a, c->proc), why, sizeof why);
    }
    if (!code && a->next < a->count) {
        a->start_at = mlt_os_now_ns();
        agent_set_timer(a);
        return;
    }
    if (a->has_env)
        mlt_env_fini(&a->env);
    a->has_env = false;
    if (code)
        agent_tell(a, MLT_FRAME_FAILED, a->conf.host, code, why, strlen(why));
}

void mlt_agent_started(mlt_agent *a, uint32_t proc, pid_t pid, int ctl_fd)
{
    agent_child *c = child_of(a, proc);
    c->pid = pid;
    c->ctl.fd = ctl_fd;
    (void)mlt_loop_add(a->conf.loop, &c->ctl, EPOLLIN);
}

// ---- Rule books for the running job (watch/change.h)

// Tells when all workers of this host have looked. One that computes looks later.
static void await_look(mlt_agent *a)
{
    if (mlt_board_looked(a->job, a->change))
        agent_tell(a, MLT_FRAME_KNOWS, a->conf.host, a->change, NULL, 0);
    else
        a->change_at = mlt_os_now_ns() + change_ns;
}

// A decision has two slots: the word that takes effect, and the answer for the rank that decided. Where
// there is no room for both, there is none on any host.
static void keep_decision(mlt_agent *a, const mlt_decision *d)
{
    mlt_job_board *board = mlt_job_board_at(a->job);
    if (!mlt_board_slot(board, MLT_BOARD_ANSWERS | d->key, true) ||
        !mlt_board_write(board, d->key, d->word))
        (void)!mlt_board_write(board, MLT_BOARD_FULL, 1);
}

static void take_change(mlt_agent *a, const mlt_frame *frame, const void *body)
{
    mlt_job_board *board = mlt_job_board_at(a->job);
    mlt_decision d = {0};
    if (frame->length == sizeof d)
        memcpy(&d, body, sizeof d);
    switch (frame->type) {
    case MLT_FRAME_CHANGE: // its slots are the first ones
        (void)!mlt_board_write(board, MLT_BOARD_FULL, mlt_board_word(board, MLT_BOARD_FULL));
        (void)!mlt_board_write(board, MLT_BOARD_KNOWN, mlt_board_word(board, MLT_BOARD_KNOWN));
        a->change = mlt_job_want_change(a->job, body);
        if (a->conf.plan->host_count > 1)
            await_look(a);
        agent_set_timer(a);
        break;
    case MLT_FRAME_KNOWN:
        (void)!mlt_board_write(board, MLT_BOARD_KNOWN, (uint64_t)frame->value);
        break;
    case MLT_FRAME_DECIDED:
        keep_decision(a, &d);
        agent_tell(a, MLT_FRAME_KEPT, a->conf.host, frame->value, NULL, 0);
        break;
    default: // SPREAD
        if (mlt_board_slot(board, MLT_BOARD_ANSWERS | d.key, false))
            (void)!mlt_board_write(board, MLT_BOARD_ANSWERS | d.key, d.word);
        break;
    }
}

// ---- The whole

static void agent_timer_ready(mlt_loop_source *source, uint32_t events)
{
    mlt_agent *a = mlt_container_of(source, mlt_agent, timer);
    uint64_t count, now = mlt_os_now_ns();
    (void)!read(source->fd, &count, sizeof count);
    if (mlt_loop_due(&a->collect_until, now))
        finish_collecting(a);
    if (mlt_loop_due(&a->peek_at, now) && !a->ending)
        peek(a, now);
    if (mlt_loop_due(&a->link_at, now))
        give_late(a, now);
    if (mlt_loop_due(&a->start_at, now))
        start_some(a);
    if (mlt_loop_due(&a->change_at, now))
        await_look(a);
    agent_set_timer(a);
}

void mlt_agent_take(mlt_agent *a, const mlt_frame *frame, const void *body)
{
    int signal = frame->value > 0 && frame->value < NSIG ? (int)frame->value : 0;
    switch (frame->type) {
    case MLT_FRAME_START:
        a->mixed = frame->value == 1;
        if (!a->ending)
            start_some(a);
        break;
    case MLT_FRAME_SIGNAL:
        if (frame->about)
            mlt_agent_hear(a);
        a->ending |= signal == SIGTERM || signal == SIGINT || signal == SIGKILL;
        if (signal)
            signal_all(a, signal);
        break;
    case MLT_FRAME_KILL:
        a->ending = true;
        kill_all(a, frame->value != 0);
        break;
    case MLT_FRAME_STOP:
        stop_all(a);
        break;
    case MLT_FRAME_LOOK:
        agent_look(a, frame->value);
        break;
    case MLT_FRAME_CLOCK:
        tell_clock(a, frame->value);
        break;
    case MLT_FRAME_ASK:
        agent_collect(a);
        break;
    case MLT_FRAME_LIVE:
        look_live(a, frame->value);
        break;
    case MLT_FRAME_GATE:
        mlt_job_open_gate(a->job);
        break;
    case MLT_FRAME_TRACE:
        mlt_job_want_trace(a->job, frame->value != 0);
        break;
    case MLT_FRAME_CHANGE:
    case MLT_FRAME_KNOWN:
    case MLT_FRAME_DECIDED:
    case MLT_FRAME_SPREAD:
        take_change(a, frame, body);
        break;
    default:
        break;
    }
}

static void list_children(mlt_agent *a)
{
    const mlt_placement *plan = a->conf.plan;
    a->children = mlt_take(plan->proc_count, sizeof *a->children);
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        if (plan->procs[p].host != a->conf.host)
            continue;
        a->children[a->count++] = (agent_child){
            .ctl = {.fd = -1, .ready = ctl_ready}, .agent = a, .proc = p, .mpi_fd = -1};
        a->workers += plan->procs[p].workers;
    }
}

// Each rank that is a fiber writes to one page of its stack at least.
static void check_memory(const mlt_agent *a)
{
    uint64_t fibers = 0, left = a->job->memory;
    for (uint32_t i = 0; i < a->count; i++) {
        const mlt_placement_proc *proc = plan_of(a, a->children[i].proc);
        fibers += proc->ranks > proc->workers ? proc->ranks : 0;
    }
    uint64_t least = fibers * mlt_os_page_size();
    if (left && least > left)
        mlt_quit(MLT_EXIT_SYSTEM,
                 "the stacks of %llu ranks take at least %llu MiB of memory, but only %llu MiB are "
                 "left on this host, or to its control group (container): fewer ranks need less",
                 (unsigned long long)fibers, (unsigned long long)(least >> 20) + 1,
                 (unsigned long long)(left >> 20));
}

// For -v: what this host, or the container, refuses, and what is done instead.
static void tell_without(const mlt_agent *a)
{
    if (a->count > 1 && !a->job->readable)
        mlt_say("without process_vm_readv, which this host refuses: large messages between "
                "processes are copied twice");
    if (a->job_fd >= 0 && !mlt_os_is_memfd(a->job_fd))
        mlt_say("without memfd_create, which this host refuses: memory that processes share is in "
                "files without names, in /dev/shm, TMPDIR or /tmp");
    if (mlt_os_uring_refused())
        mlt_say("without io_uring, which this host refuses: threads wait for short reads of files");
    if (access("/proc/self/stat", R_OK) != 0)
        mlt_say("without /proc, which is not mounted: memory that is left, states of stopped ranks "
                "and what crashed ranks leave behind are not known");
}

// Decides which processors workers get.
static void pin(mlt_agent *a)
{
    const mlt_options *o = a->conf.options;
    char why[512];
    if (o->cpu_set && !mlt_bind_restrict(o->cpu_set, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "--cpu-set %s", why);
    if (o->cpu_set)
        a->conf.cores = (uint32_t)mlt_os_cores();
    mlt_bind_plan(&a->bind, o->bind_to, o->map_by, a->workers);
    if (a->bind.lacks)
        mlt_quit(
            MLT_EXIT_USAGE,
            "PE=%u gives each worker %u cores, but there are not so many here that it may have",
            a->bind.lacks, a->bind.lacks);
}

mlt_agent *mlt_agent_new(const mlt_agent_conf *conf)
{
    mlt_agent *a = mlt_take(1, sizeof *a);
    a->conf = *conf;
    a->job = conf->job;
    a->job_fd = a->ctl_as = -1;
    list_children(a);
    a->epochs = mlt_take(a->workers, sizeof *a->epochs);
    a->stands = mlt_take(a->workers, sizeof *a->stands);
    pin(a);
    if (!a->job)
        make_job(a);
    a->asks = mlt_asks_new(&(mlt_asks_conf){.loop = conf->loop, .tell = tell_spawn, .user = a});
    check_memory(a);
    if (conf->options->verbose)
        tell_without(a);
    a->kills = mlt_os_memory_kills(MLT_OS_PROC, MLT_OS_GROUPS);
    a->timer = (mlt_loop_source){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                                 .ready = agent_timer_ready};
    if (a->timer.fd < 0 || !mlt_loop_add(conf->loop, &a->timer, EPOLLIN))
        mlt_quit(MLT_EXIT_SYSTEM, "cannot wait for events: %s", mlt_os_no_descriptor(errno));
    if (conf->plan->ranks > 1 && !conf->options->quiet)
        a->peek_at = mlt_os_now_ns() + peek_ns;
    agent_set_timer(a);
    return a;
}

mlt_job *mlt_agent_job(const mlt_agent *a)
{
    return a->job;
}

void mlt_agent_free(mlt_agent *a)
{
    if (!a)
        return;
    for (uint32_t i = 0; i < a->count; i++)
        close_ctl(&a->children[i]);
    for (uint32_t i = 0; i < a->late_count; i++)
        if (a->late[i].fd >= 0)
            close(a->late[i].fd);
    mlt_bind_fini(&a->bind);
    mlt_asks_free(a->asks);
    mlt_ports_free(a->ports, a->why);
    free(a->why);
    mlt_loop_remove(a->conf.loop, &a->timer);
    close(a->timer.fd);
    if (!a->conf.job)
        mlt_job_close(a->job);
    if (a->has_env)
        mlt_env_fini(&a->env);
    free(a->late);
    free(a->answered);
    free(a->told);
    free(a->marks);
    free(a->epochs);
    free(a->stands);
    free(a->children);
    free(a);
}
