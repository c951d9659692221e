// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/adoption.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "os/fd.h"
#include "os/os.h"

extern char **environ;

enum { BACKLOG = 4096, FIRST_FD = 20, MEET_MS = 10000, PAUSE_US = 1000 };

typedef union fd_room {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(MLT_ADOPTION_FDS * sizeof(int))];
} fd_room;

// ---- Packets

mlt_status mlt_adoption_send(int fd, const mlt_adoption *head, const void *body, size_t length,
                             const int *fds, int fd_count)
{
    mlt_adoption own = *head;
    own.version = MLT_ADOPTION_VERSION;
    struct iovec parts[2] = {{.iov_base = &own, .iov_len = sizeof own},
                             {.iov_base = (void *)(uintptr_t)body, .iov_len = length}};
    struct msghdr packet = {.msg_iov = parts, .msg_iovlen = length ? 2 : 1};
    fd_room room = {.bytes = {0}};
    if (fd_count > 0) {
        packet.msg_control = room.bytes;
        packet.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof *fds);
        struct cmsghdr *about = CMSG_FIRSTHDR(&packet);
        about->cmsg_level = SOL_SOCKET;
        about->cmsg_type = SCM_RIGHTS;
        about->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof *fds);
        memcpy(CMSG_DATA(about), fds, (size_t)fd_count * sizeof *fds);
    }
    ssize_t n;
    do
        n = sendmsg(fd, &packet, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? MLT_OK : errno == EAGAIN ? MLT_PENDING : MLT_ERR_CLOSED;
}

static void take_fds(mlt_adoption_packet *packet, struct msghdr *message)
{
    packet->fd_count = 0;
    for (struct cmsghdr *about = CMSG_FIRSTHDR(message); about;
         about = CMSG_NXTHDR(message, about)) {
        if (about->cmsg_level != SOL_SOCKET || about->cmsg_type != SCM_RIGHTS)
            continue;
        size_t bytes = about->cmsg_len - CMSG_LEN(0);
        memcpy(packet->fds, CMSG_DATA(about), bytes); // no more than there was room for
        packet->fd_count = (int)(bytes / sizeof(int));
    }
}

static void close_fds(mlt_adoption_packet *packet)
{
    for (int i = 0; i < packet->fd_count; i++)
        close(packet->fds[i]);
    packet->fd_count = 0;
}

mlt_status mlt_adoption_receive(int fd, mlt_adoption_packet *packet)
{
    struct iovec parts[2] = {
        {.iov_base = &packet->head, .iov_len = sizeof packet->head},
        {.iov_base = packet->body.bytes, .iov_len = MLT_ADOPTION_BODY},
    };
    fd_room room;
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    ssize_t n;
    do
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 && errno == EAGAIN ? MLT_PENDING : MLT_ERR_CLOSED;
    take_fds(packet, &message);
    packet->length = (size_t)n < sizeof packet->head ? 0 : (size_t)n - sizeof packet->head;
    packet->body.bytes[packet->length] = '\0';
    if ((size_t)n >= sizeof packet->head && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
        packet->head.version == MLT_ADOPTION_VERSION)
        return MLT_OK;
    close_fds(packet);
    return MLT_ERR_INVALID;
}

bool mlt_adoption_is_ours(int fd, int *pid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return false;
    *pid = peer.pid;
    return peer.uid == geteuid();
}

// ---- Finding the others of this host

// Two jobs of a user on a host have different names, whatever their launchers are.
static socklen_t address_of(struct sockaddr_un *to, const mlt_launcher *l)
{
    uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)};
    for (const char *c = l->job; *c; c++)
        for (int i = 0; i < 2; i++)
            hash[i] = (hash[i] ^ (unsigned char)*c) * UINT64_C(0x100000001b3) + (uint64_t)i;
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "millet-%u-%016llx%016llx-%u",
                     (unsigned)geteuid(), (unsigned long long)hash[0], (unsigned long long)hash[1],
                     l->size);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

// mpirun of the tree that this library is of.
static bool find_agent(char path[PATH_MAX])
{
    static const char *const from_library[] = {"../bin/mpirun", "../../bin/mpirun",
                                               "../../../bin/mpirun"};
    Dl_info about;
    char own[PATH_MAX], tried[PATH_MAX + 32];
    if (!dladdr((void *)(uintptr_t)mlt_adoption_join, &about) || !realpath(about.dli_fname, own))
        return false;
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof from_library / sizeof *from_library; i++) {
        snprintf(tried, sizeof tried, "%s/%s", own, from_library[i]);
        if (access(tried, X_OK) == 0 && realpath(tried, path))
            return true;
    }
    return false;
}

// The agent leaves this process at once: the program shall not find a child that it did not start.
static mlt_status start_agent(const mlt_launcher *l, int listener, char *why, size_t why_size)
{
    char path[PATH_MAX], number[16];
    char *argv[] = {"mpirun", "--adopt", number, program_invocation_short_name, NULL};
    snprintf(number, sizeof number, "%u", l->number);
    bool found = find_agent(path);
    if (!found && mlt_launcher_is_single(l))
        return mlt_fail(MLT_ERR_NOT_FOUND, why, why_size,
                        "there is no mpirun beside this program's library (../bin/mpirun)");
    if (!found)
        return mlt_fail(MLT_ERR_NOT_FOUND, why, why_size,
                        "under %s each host needs an agent of Millet's, which is its mpirun; there "
                        "is none beside this program's library (../bin/mpirun)",
                        l->name);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    int high = fcntl(listener, F_DUPFD_CLOEXEC, MLT_ADOPTION_LISTEN + 1), status = 0;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, high, MLT_ADOPTION_LISTEN);
    int error = high < 0 ? errno : posix_spawn(&pid, path, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    mlt_os_close(high);
    if (!error)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    if (!error && status == 0)
        return MLT_OK;
    return mlt_fail(MLT_ERR_SYSTEM, why, why_size,
                    "the agent of this host, %s, cannot be started: %s", path,
                    error ? strerror(error) : "it has ended at once");
}

static mlt_status refuse(const mlt_launcher *l, const char *what, char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_SYSTEM, why, why_size,
                    "the processes that %s has started on this host do not find each other: %s",
                    l->name, what);
}

// A socket that is connected to the host's agent, which this process starts if nobody has.
static mlt_status meet(const mlt_launcher *l, int *out, char *why, size_t why_size)
{
    struct sockaddr_un name;
    socklen_t size = address_of(&name, l);
    uint64_t until = mlt_os_now_ns() + MEET_MS * UINT64_C(1000000);
    while (mlt_os_now_ns() < until) {
        int pid, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return refuse(l, strerror(errno), why, why_size);
        if (connect(fd, (struct sockaddr *)&name, size) == 0) {
            *out = fd;
            return mlt_adoption_is_ours(fd, &pid)
                       ? MLT_OK
                       : refuse(l, "another user listens where their agent should", why, why_size);
        }
        if (errno != ECONNREFUSED)
            return refuse(l, strerror(errno), why, why_size);
        // Nobody is there, or one that is about to listen.
        bool leads = bind(fd, (struct sockaddr *)&name, size) == 0 && listen(fd, BACKLOG) == 0;
        mlt_status status = leads ? start_agent(l, fd, why, why_size) : MLT_OK;
        close(fd);
        if (status)
            return status;
        if (!leads)
            (void)usleep(PAUSE_US);
    }
    return refuse(l, "their agent does not answer", why, why_size);
}

// ---- Joining

static mlt_status gone(const mlt_launcher *l, char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_CLOSED, why, why_size,
                    "the agent of this host has ended; it was started because %s has none",
                    l->name);
}

// Waits for a packet of that type, or the agent's regret.
static mlt_status expect(const mlt_launcher *l, int fd, mlt_adoption_type type,
                         mlt_adoption_packet *packet, char *why, size_t why_size)
{
    mlt_status status = mlt_adoption_receive(fd, packet);
    if (status == MLT_ERR_CLOSED)
        return gone(l, why, why_size);
    if (status == MLT_OK && packet->head.type == (uint32_t)type)
        return MLT_OK;
    if (status == MLT_OK)
        close_fds(packet);
    bool sorry = status == MLT_OK && packet->head.type == MLT_ADOPTION_SORRY;
    return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s",
                    sorry ? packet->body.bytes
                          : "the agent of this host is of another version of Millet");
}

static mlt_status make_secrets(mlt_adoption_key *key, char *why, size_t why_size)
{
    if (getrandom(key->key, sizeof key->key, 0) == sizeof key->key &&
        getrandom(&key->identity, sizeof key->identity, 0) == sizeof key->identity) {
        key->identity |= 1; // 0 is none
        return MLT_OK;
    }
    return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "the system has no random bytes: %s",
                    strerror(errno));
}

static mlt_status adoption_say(const mlt_launcher *l, int fd, mlt_adoption_type type,
                               uint32_t number, const void *body, size_t length, char *why,
                               size_t why_size)
{
    mlt_adoption head = {.type = type, .number = number, .size = l->size};
    return mlt_adoption_send(fd, &head, body, length, NULL, 0) ? gone(l, why, why_size) : MLT_OK;
}

// Says who this is and hears who leads; process 0 also hears where the agent listens.
static mlt_status greet(const mlt_launcher *l, int fd, mlt_kvs *own, mlt_adoption_packet *packet,
                        char *why, size_t why_size)
{
    mlt_adoption_hello hello = {.workers = own->workers, .ranks = own->ranks};
    own->first = l->number == 0;
    mlt_status status = own->first ? make_secrets(&hello.key, why, why_size) : MLT_OK;
    hello.key.where_size = MLT_KVS_WHERE;
    if (!status)
        status =
            adoption_say(l, fd, MLT_ADOPTION_HELLO, l->number, &hello, sizeof hello, why, why_size);
    if (!status)
        status = expect(l, fd, MLT_ADOPTION_WELCOME, packet, why, why_size);
    if (status)
        return status;
    own->leader = packet->head.number;
    own->identity = hello.key.identity;
    memcpy(own->key, hello.key.key, sizeof own->key);
    own->where_size = packet->length < sizeof own->where ? (uint32_t)packet->length : 0;
    memcpy(own->where, packet->body.bytes, own->where_size);
    explicit_bzero(&hello, sizeof hello);
    return MLT_OK;
}

static mlt_status adoption_get(mlt_launcher *l, uint32_t of, mlt_kvs *note, char *why,
                               size_t why_size)
{
    char text[MLT_LAUNCHER_VALUE];
    mlt_status status = l->protocol->get(l, of, text, why, why_size);
    if (!status && !mlt_kvs_read(note, text))
        status = mlt_fail(
            MLT_ERR_INVALID, why, why_size,
            "process %u has left a card that this one does not understand: do both run with "
            "the same Millet?",
            of);
    explicit_bzero(text, sizeof text);
    return status;
}

// Process 0: tells its agent of all processes.
static mlt_status tell_all(mlt_launcher *l, int fd, mlt_adoption_packet *packet, char *why,
                           size_t why_size)
{
    enum { AT_ONCE = sizeof packet->body.procs / sizeof *packet->body.procs };
    mlt_status status = MLT_OK;
    for (uint32_t first = 0; first < l->size && !status; first += AT_ONCE) {
        uint32_t count = l->size - first < AT_ONCE ? l->size - first : AT_ONCE;
        for (uint32_t i = 0; i < count && !status; i++) {
            mlt_kvs note;
            status = adoption_get(l, first + i, &note, why, why_size);
            packet->body.procs[i] =
                (mlt_adoption_proc){note.leader, note.workers, note.ranks, note.app};
            if (!status && note.leader == first + i)
                status = adoption_say(l, fd, MLT_ADOPTION_NAME, note.leader, note.host,
                                      strlen(note.host), why, why_size);
        }
        if (!status)
            status = adoption_say(l, fd, MLT_ADOPTION_CARDS, first, packet->body.procs,
                                  count * sizeof *packet->body.procs, why, why_size);
    }
    return status;
}

// The leader of another host than process 0's: tells its agent where to report.
static mlt_status tell_key(mlt_launcher *l, int fd, const mlt_kvs *own, char *why, size_t why_size)
{
    mlt_kvs first;
    mlt_status status = adoption_get(l, 0, &first, why, why_size);
    if (status || first.leader == own->leader)
        return status;
    mlt_adoption_key key = {.identity = first.identity, .where_size = first.where_size};
    memcpy(key.key, first.key, sizeof key.key);
    memcpy(key.where, first.where, first.where_size);
    status = adoption_say(l, fd, MLT_ADOPTION_KEY, l->number, &key, sizeof key, why, why_size);
    explicit_bzero(&key, sizeof key);
    explicit_bzero(&first, sizeof first);
    return status;
}

// The kernel kills this process when the agent ends, whatever ends it. Nobody ever writes there.
static void hold_on_to(int lifeline)
{
    (void)fcntl(lifeline, F_SETSIG, SIGKILL);
    (void)fcntl(lifeline, F_SETOWN, getpid());
    (void)fcntl(lifeline, F_SETFL, O_ASYNC | O_NONBLOCK);
}

static void adoption_put_number(const char *variable, long value)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", value);
    (void)setenv(variable, text, 1);
}

static mlt_status adoption_take_place(const mlt_adoption_packet *packet, char *why, size_t why_size)
{
    int high[MLT_ADOPTION_FDS];
    for (int i = 0; i < MLT_ADOPTION_FDS; i++) {
        high[i] = i < packet->fd_count ? fcntl(packet->fds[i], F_DUPFD_CLOEXEC, FIRST_FD) : -1;
        if (high[i] < 0)
            return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "no more descriptors: %s",
                            mlt_os_no_descriptor(errno));
        close(packet->fds[i]);
    }
    hold_on_to(high[2]);
    adoption_put_number("MILLET_JOB_FD", high[0]);
    adoption_put_number("MILLET_CTL_FD", high[1]);
    adoption_put_number("MILLET_PROC", packet->head.number);
    adoption_put_number("MILLET_LAUNCHER", packet->body.go.agent);
    if (packet->body.go.mixed)
        (void)setenv("MILLET_MIXED", "1", 1);
    return MLT_OK;
}

mlt_status mlt_adoption_join(mlt_launcher *l, uint32_t workers, uint32_t ranks, char *why,
                             size_t why_size)
{
    char card[MLT_LAUNCHER_VALUE];
    int fd = -1;
    mlt_kvs own = {.workers = workers, .ranks = ranks, .app = l->app};
    mlt_adoption_packet *packet = mlt_xcalloc(1, sizeof *packet);
    if (gethostname(own.host, sizeof own.host - 1) != 0 || !own.host[0])
        strcpy(own.host, "host");
    mlt_status status = meet(l, &fd, why, why_size);
    if (!status)
        status = greet(l, fd, &own, packet, why, why_size);
    if (!status) {
        mlt_kvs_write(card, &own);
        status = l->protocol->put(l, card, why, why_size);
    }
    if (!status)
        status = l->protocol->fence(l, why, why_size);
    if (!status && l->number == 0)
        status = tell_all(l, fd, packet, why, why_size);
    else if (!status && l->number == own.leader)
        status = tell_key(l, fd, &own, why, why_size);
    if (!status)
        status = expect(l, fd, MLT_ADOPTION_GO, packet, why, why_size);
    if (!status)
        status = adoption_take_place(packet, why, why_size);
    explicit_bzero(card, sizeof card);
    explicit_bzero(&own, sizeof own);
    free(packet);
    if (fd >= 0 &&
        status) // else it stays: where process ids tell nothing, the agent looks at its end
        close(fd);
    return status;
}
