// SPDX-License-Identifier: BSD-3-Clause
// What processes say on their control channels, and the connections that they get.
#include "launch/agent/agent_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/text.h"
#include "launch/hosts/ports.h"
#include "launch/watch/calls.h"
#include "launch/watch/lines.h"
#include "os/fd.h"
#include "os/os.h"

static const uint64_t link_again_ns = 10 * MLT_AGENT_MS;

// ---- Connections

static bool try_link(mlt_agent *a, uint32_t proc, const mlt_ctl_link *link, int fd)
{
    const mlt_agent_child *c = mlt_agent_child_of(a, proc);
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
    *MLT_ARRAY_ADD(a->late, a->late_count, a->late_room) =
        (mlt_agent_late){.proc = proc, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .link = *link};
    a->link_at = mlt_os_now_ns() + link_again_ns;
    mlt_agent_set_timer(a);
}

void mlt_agent_give_late(mlt_agent *a, uint64_t now)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->late_count; i++) {
        mlt_agent_late *late = &a->late[i];
        if (late->fd < 0 || try_link(a, late->proc, &late->link, late->fd))
            mlt_os_close(late->fd);
        else
            a->late[kept++] = *late;
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
        mlt_agent_tell(a, MLT_FRAME_UNLINKED, a->count ? a->children[0].proc : 0, -1, body,
                       strlen(body));
    free(body);
}

static void take_rpc(mlt_agent *a, const mlt_agent_child *c, int fd)
{
    mlt_ports_conf conf = {.options = a->conf.options,
                           .key = a->conf.key,
                           .name = a->conf.plan->hosts[a->conf.host].host.name,
                           .link = link_abroad,
                           .lost = job_lost,
                           .user = a};
    if (!a->ports)
        a->ports = mlt_ports_new(&conf);
    mlt_ports_rpc(a->ports, c->proc, fd);
}

static void take_want(mlt_agent *a, const mlt_agent_child *c, const mlt_ctl *head)
{
    uint64_t bond = 0;
    if (head->length == sizeof bond)
        memcpy(&bond, a->packet + sizeof *head, sizeof bond);
    if (bond && a->ports)
        mlt_ports_want(a->ports, c->proc, bond, head->value);
    else if (!bond && a->connections && head->value >= 0 && head->value < a->conf.plan->proc_count)
        mlt_connections_want(a->connections, c->proc, (uint32_t)head->value);
}

// ---- Packets

static void agent_take_hello(mlt_agent_child *c, pid_t sender)
{
    c->attached = true;
    c->mpi_pid = sender;
    if (sender > 0 && sender != c->pid && c->mpi_fd < 0)
        c->mpi_fd = (int)syscall(SYS_pidfd_open, sender, 0);
}

static void agent_pass_on(mlt_agent *a, const mlt_agent_child *c, const mlt_ctl *head)
{
    mlt_agent_tell(a, MLT_FRAME_CTL, c->proc, 0, a->packet, sizeof *head + head->length);
}

// With the id that the system tells, not the one that the process says.
static void pass_with_id(mlt_agent *a, const mlt_agent_child *c, const mlt_ctl *head, pid_t sender)
{
    mlt_ctl own = *head;
    own.value = sender;
    memcpy(a->packet, &own, sizeof own);
    agent_pass_on(a, c, head);
}

// The last words of a process. The first one's, which are all that is shown, with lines of its
// source if they can be found: that takes up to two seconds, in which this agent does nothing else.
static void pass_crash(mlt_agent *a, mlt_agent_child *c, const mlt_ctl *head, const char *text)
{
    c->crashed = true;
    bool looks = *text && !a->ending && !a->looked;
    if (!looks) {
        agent_pass_on(a, c, head);
        return;
    }
    a->looked = true;
    char *found = mlt_lines_add(text, mlt_agent_dir_of(a, c->proc));
    mlt_text more = {0};
    mlt_ctl longer = *head;
    mlt_text_put(&more, &longer, sizeof longer);
    mlt_text_add(&more, "%s\n", found ? found : text);
    mlt_calls_of_proc(&more, a->job, a->conf.plan, c->proc, head->rank);
    free(found);
    longer.length = (uint32_t)(more.length - sizeof longer);
    memcpy(more.text, &longer, sizeof longer);
    if (more.length < MLT_FRAME_MOST)
        mlt_agent_tell(a, MLT_FRAME_CTL, c->proc, 0, more.text, more.length);
    else
        agent_pass_on(a, c, head);
    mlt_text_free(&more);
}

// The packet is in a->packet, with a NUL behind its body.
static void take_packet(mlt_agent *a, mlt_agent_child *c, const mlt_ctl *head, pid_t sender)
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
        if (mlt_agent_take_waits(a, c, head))
            agent_pass_on(a, c, head);
        if (a->collecting && a->open_answers == 0)
            mlt_agent_finish_collecting(a);
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

bool mlt_agent_read_packet(mlt_agent_child *c)
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
        mlt_loop_close(&c->ctl);
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
    mlt_os_close(fd);
    if (!whole_packet)
        return true; // cut: not from our library
    a->packet[sizeof head + head.length] = '\0';
    take_packet(a, c, &head, sender);
    return true;
}

void mlt_agent_ctl_ready(mlt_loop_source *source, uint32_t events)
{
    mlt_agent_child *c = mlt_container_of(source, mlt_agent_child, ctl);
    for (int i = 0; i < 16 && c->ctl.fd >= 0; i++)
        if (!mlt_agent_read_packet(c))
            return;
}

void mlt_agent_hear(mlt_agent *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        mlt_agent_ctl_ready(&a->children[i].ctl, 0);
}
